"""Does a run beside others' idle ends measure what it measures alone? Some minutes, alone.

Run with ``make prove-beside ARGS="--blocks 8"``. Blocks of runs alone and blocks of runs beside
each other follow one another, all of the defaults. It may be stopped, and goes on. ``--page``
measures nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from optimizer.trials.history import History
from sampler.common.errors import InputError
from sampler.runner.settings import Settings, load_settings
from studies.arguments import make_command, names
from studies.json_lines import append_line, read_lines
from studies.methods.cases import WORKLOADS, Case
from studies.real_search.beside import whole_host
from studies.real_search.how_made import how_made
from studies.real_search.kept import row_of
from studies.real_search.measure import measured
from studies.real_search.place import Place
from studies.real_search.study import Study, study_of
from studies.real_search.summary import Interval, change_of
from studies.search.asking import baseline_trial

OUT = Path("docs/results/methods_beside")
ALONE, BESIDE = "alone", "beside"
_RUNS = 4  # of each load in a block
_LANES = 6
_METRICS = ("waf", "sa", "time", "rate", "write_p99")
_Row = Mapping[str, Any]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures what is missing, and writes the page from all that is there."""
    given = _parser().parse_args(arguments)
    command = make_command("prove-beside", arguments)
    raw = given.out.with_suffix(".jsonl")
    try:
        for block in () if given.page else missing_blocks(read_lines(raw), given.blocks):
            for row in _block(block, given.workloads, load_settings()):
                append_line(raw, row)
        page = page_of(_whole_blocks(read_lines(raw)), command, raw.name)
        given.out.with_suffix(".md").write_text(page, encoding="utf-8")
        print(page)
    except InputError as error:
        sys.exit(str(error))


def _block(block: int, workloads: Sequence[str], settings: Settings) -> list[_Row]:
    """Both ways of measuring, whose order changes from block to block; kept when it is whole."""
    ways = [ALONE, BESIDE] if block % 2 == 0 else [BESIDE, ALONE]
    found: list[_Row] = []
    for way in ways:
        place = Place() if way == BESIDE else None
        studies = [
            study_of(Case(name, 1).specification, settings, evaluations=0, place=place)
            for name in workloads
        ]
        turns = studies * _RUNS
        if place is None:
            rows = [_run(study) for study in turns]
        else:
            with (
                whole_host(settings),
                ThreadPoolExecutor(_LANES) as pool,
                place.closing_on_failure(),
            ):
                rows = list(pool.map(_run, turns))
        found += [{"block": block, "way": way, **row} for row in rows]
    print(f"block {block + 1}: {len(found)} runs", flush=True)
    return found


def _run(study: Study) -> _Row:
    problem = study.problem
    row = row_of(problem, measured(study.bench, problem, baseline_trial(problem, History())))
    machine = {name: study.environment[name] for name in ("cpu", "cores", "system", "rocksdb")}
    return {"workload": problem.workload.name, "machine": machine, **row}


def missing_blocks(rows: Sequence[_Row], asked: int) -> range:
    """Numbers for the blocks that are missing: one that was torn off is never filled up."""
    first = 1 + max((row["block"] for row in rows), default=-1)
    return range(first, first + asked - len({row["block"] for row in _whole_blocks(rows)}))


def _whole_blocks(rows: Sequence[_Row]) -> list[_Row]:
    """Rows of those blocks that were kept to their end: of each load as many either way."""
    counts = Counter((row["block"], row["workload"], row["way"]) for row in rows)
    workloads = {row["workload"] for row in rows}
    torn = {
        block
        for block in {row["block"] for row in rows}
        for workload in workloads
        if any(counts[block, workload, way] != _RUNS for way in (ALONE, BESIDE))
    }
    return [row for row in rows if row["block"] not in torn]


def page_of(rows: Sequence[_Row], command: str, raw: str) -> str:
    """The page.

    Args:
        rows: Runs of whole blocks.
        command: What repeats it.
        raw: The name of the file that has them.
    """
    if not rows:
        raise InputError("--out", "nothing was measured yet: call it without --page")
    lines = [
        "# A run beside the idle ends of others",
        f"{how_made(command, rows, rows[0]['machine'])}: "
        f"{len(rows)} runs of the defaults in {len({row['block'] for row in rows})} blocks; all "
        f"are in [{raw}]({raw}).",
        "Most of a run of these loads is no work: it waits for RocksDB to write its LOG "
        "([measuring.md](../measuring.md#the-end-of-a-trial)). `--beside` of `make prove-methods` "
        "lets the next run work in that time: two are not to work at once, and a run that is seen "
        f"to have had more to do is made again. Here {_LANES} runs are under way at a time, one "
        "of them working, against one alone. A change is that of the mean of a block beside "
        "against the mean of the same block alone, geometric mean over blocks with its 95% "
        "interval by Student's t. Scatter: coefficient of variation of all runs of a way.",
    ]
    for workload in dict.fromkeys(row["workload"] for row in rows):
        own = [row for row in rows if row["workload"] == workload]
        lines += [f"## {workload}", _table(own)]
    return "\n\n".join([*lines, ""])


def _table(rows: Sequence[_Row]) -> str:
    head = "| metric | change | 95% interval | scatter alone | scatter beside |"
    lines = [head, "|---|--:|--:|--:|--:|"]
    for metric in _METRICS:
        change = change_of([beside / alone for alone, beside in _by_block(rows, metric)])
        alone, beside = (_scatter(rows, way, metric) for way in (ALONE, BESIDE))
        lines.append(
            f"| {metric} | {change.mean:+.1f}% | {_interval(change)} | {alone:.1f}% | "
            f"{beside:.1f}% |"
        )
    return "\n".join(lines)


def _by_block(rows: Sequence[_Row], metric: str) -> list[tuple[float, float]]:
    def mean(block: int, way: str) -> float:
        values = [r["metrics"][metric] for r in rows if r["block"] == block and r["way"] == way]
        return float(np.mean(values))

    return [(mean(b, ALONE), mean(b, BESIDE)) for b in sorted({row["block"] for row in rows})]


def _scatter(rows: Sequence[_Row], way: str, metric: str) -> float:
    values = np.array([row["metrics"][metric] for row in rows if row["way"] == way])
    return float(100 * values.std(ddof=1) / values.mean())


def _interval(change: Interval) -> str:
    if change.low is None or change.high is None:
        return "-"
    return f"{change.low:+.1f}% to {change.high:+.1f}%"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Runs beside each other against runs alone.")
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--workloads", type=names, default=WORKLOADS[:2])
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page")
    parser.add_argument("--out", type=Path, default=OUT, help="the page's path, without ending")
    return parser


if __name__ == "__main__":
    main()
