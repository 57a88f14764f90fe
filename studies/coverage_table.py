"""Runs 2,000 whole jobs of which the truth is known, and counts: `make prove-coverage`.

How often do the 95% intervals hold the true change, and how often does a job report a gain where
there is none? What was simulated is kept in docs/results/coverage.jsonl, a line for each job, and
a second run goes on with the rest; ``--again`` begins anew. The lines are the same on any machine.
"""

import argparse
import json
import multiprocessing
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from scipy import stats

from models.importance import rank_parameters
from optimizer.evaluation import evaluation as knowledge
from studies.study import made_by
from tests.support import ROOT
from tests.support.optimizer.known_truth import BLOCKS, KINDS, METRICS, Block, holds, line_of

RESULTS = ROOT / "docs" / "results" / "coverage.jsonl"
JOBS = 500
LEAST_HELD, MOST_HELD = 0.93, 0.97
MOST_GAINS, MOST_GAINS_UPPER = 0.05, 0.07
Line = dict[str, Any]


def read(path: Path) -> list[Line]:
    """The whole lines; one that a kill has cut off is taken out of the file."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    return [json.loads(line) for line in whole.splitlines()]


def simulate(path: Path, jobs: int, *, processes: int) -> int:
    """Runs the jobs that the file lacks, in their order; how many they were."""
    path.parent.mkdir(parents=True, exist_ok=True)
    known = {(line["block"], line["job"]) for line in read(path)}
    left = [
        (block, number)
        for block in BLOCKS
        for number in range(jobs)
        if (block.name, number) not in known
    ]
    if not left:
        return 0
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes, initializer=_small_forests) as pool, path.open("a") as file:
        for line in pool.imap(_line, left):
            file.write(json.dumps(line) + "\n")
            file.flush()
    return len(left)


def _line(job: tuple[Block, int]) -> Line:
    return line_of(*job)


def _small_forests() -> None:
    """What is searched matters here, not how well it was chosen."""
    knowledge.rank_parameters = partial(rank_parameters, trees=10)  # type: ignore[attr-defined]


def share(count: int, of: int) -> str:
    """A share with its exact 95% interval (Clopper, Pearson)."""
    if not of:
        return "none"
    interval = stats.binomtest(count, of).proportion_ci(0.95)
    return f"{100 * count / of:.1f}% ({100 * interval.low:.1f} to {100 * interval.high:.1f})"


def held(lines: Sequence[Line], metric: str) -> tuple[int, int]:
    """How many intervals of a metric hold the truth, and how many there are."""
    found = [holds(line["changes"][metric]) for line in lines if line["changes"]]
    return sum(found), len(found)


def wrong(lines: Sequence[Line]) -> list[str]:
    """What is not as it should be."""
    said: list[str] = []
    for block in BLOCKS:
        mine = [line for line in lines if line["block"] == block.name]
        counts = [held(mine, metric) for metric in METRICS]
        all_held, cases = (sum(column) for column in zip(*counts, strict=True))
        if not cases:
            said.append(f"{block.name}: nothing was simulated")
            continue
        if not LEAST_HELD <= all_held / cases <= MOST_HELD:
            said.append(f"{block.name}: {100 * all_held / cases:.1f}% of the intervals hold")
        gains = sum(line["gain"] for line in mine)
        upper = stats.binomtest(gains, len(mine)).proportion_ci(0.95).high
        if not block.effects and (gains / len(mine) > MOST_GAINS or upper >= MOST_GAINS_UPPER):
            said.append(f"{block.name}: {share(gains, len(mine))} report a gain")
    return said


def table(lines: Sequence[Line]) -> str:
    """The page that is kept beside the lines."""
    kinds = "; ".join(
        f"{trials} trials, {strategy}, objective {objective}"
        + (f", `--detect {100 * detect:g}%`" if detect else "")
        for trials, strategy, objective, detect in KINDS
    )
    rows = [
        "# Do the intervals hold the truth?",
        "",
        f"{made_by('make prove-coverage')}. "
        "No RocksDB is involved: the benchmark is simulated "
        "(`tests/support/optimizer/known_truth.py`), everything else is the whole tuning loop.",
        "",
        f"Jobs take in turn: {kinds}. The noise is that of real runs of the defaults (waf 3.5%, "
        "sa 1.9%, time 18%; or up to four times quieter), with neighbours alike, drift, 2% "
        "of runs that crash, and, where configurations differ, some that never start or are cut "
        "off. Heavy tails: Student's t of 3 degrees of freedom, and 5% of runs stall to 1.6 "
        "times their time. Each line of `coverage.jsonl` is one job: for each metric the true "
        "change of the winner, and the interval's low and high, in percent.",
        "",
        "| block | jobs | no verdict | report a gain | all intervals that hold "
        + "".join(f"| {metric} " for metric in METRICS)
        + "|",
        "|---|--:|--:|--:|--:" + "|--:" * len(METRICS) + "|",
    ]
    for block in BLOCKS:
        mine = [line for line in lines if line["block"] == block.name]
        counts = [held(mine, metric) for metric in METRICS]
        all_held, cases = (sum(column) for column in zip(*counts, strict=True))
        gains = share(sum(line["gain"] for line in mine), len(mine))
        pooled = f"{100 * all_held / cases:.1f}% of {cases:,}" if cases else "none"
        silent = sum(not line["changes"] for line in mine)
        each = "".join(f"| {share(*count)} " for count in counts)
        rows.append(f"| {block.name} | {len(mine)} | {silent} | {gains} | {pooled} {each}|")
    rows += [
        "",
        "In brackets 95% intervals (Clopper, Pearson); the metrics of one job are not "
        "independent, so that the column of all has none. A null job should report a gain in at "
        f"most {100 * MOST_GAINS:.0f}% (upper bound under {100 * MOST_GAINS_UPPER:.0f}%); 2.5% "
        f"are declared. Intervals should hold in {100 * LEAST_HELD:.0f}% to "
        f"{100 * MOST_HELD:.0f}%.",
        "",
        "By kind of job, all blocks together:",
        "",
        "| trials | strategy | objective | detect | pairs, median | null jobs that report a gain "
        "| all intervals that hold |",
        "|--:|---|---|---|--:|--:|--:|",
    ]
    null = {block.name for block in BLOCKS if not block.effects}
    for place, (trials, strategy, objective, detect) in enumerate(KINDS):
        mine = [line for line in lines if line["job"] % len(KINDS) == place]
        nulls = [line for line in mine if line["block"] in null]
        counts = [held(mine, metric) for metric in METRICS]
        all_held, cases = (sum(column) for column in zip(*counts, strict=True))
        pairs = sorted(line["pairs"] for line in mine)
        rows.append(
            f"| {trials} | {strategy} | {objective} | {f'{100 * detect:g}%' if detect else ''} "
            f"| {pairs[len(pairs) // 2] if pairs else ''} "
            f"| {share(sum(line['gain'] for line in nulls), len(nulls))} "
            f"| {f'{100 * all_held / cases:.1f}% of {cases:,}' if cases else 'none'} |"
        )
    return "\n".join(rows) + "\n"


def main() -> int:
    """Runs what is missing and writes the page; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--again", action="store_true", help="forget what was simulated before")
    parser.add_argument("--jobs", type=int, default=JOBS, help="of each of the four blocks")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--results", type=Path, default=RESULTS)
    asked = parser.parse_args()
    if asked.again:
        asked.results.unlink(missing_ok=True)
    simulated = simulate(asked.results, asked.jobs, processes=asked.processes)
    lines = read(asked.results)
    text = table(lines)
    page = asked.results.with_suffix(".md")
    if simulated or not page.exists():
        page.write_text(text, encoding="utf-8")
    print(text)
    failures = wrong(lines)
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
