"""RocksJava against C++ as RocksDB's page of 2014 compared them, and the page of what came out.

Run with ``make prove-rocksjava``, alone on the machine: some ten minutes with nine rounds. It can
be stopped at any time and goes on when it is called again. ``--page`` writes the page from what is
kept, and measures nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cli.main import main as rocktune
from jobs.experiments.comparison.tables import comparison_sentences, tables
from jobs.experiments.experiment import RUNS, MeasuredRun, whole_sets
from jobs.experiments.paired import CaseChange
from jobs.results.output_folder import RESULT
from optimizer.budget.power import p_figure
from sampler.common.byte_size import format_bytes
from sampler.common.errors import InputError
from sampler.workload.metric_table import shown_in
from studies.json_lines import read_lines

DOCS = Path("docs")
WORK = Path("rocktune-rocksjava")
# By workload: what it is there, RocksJava and C++ in thousands a second, and the page's own
# difference in percent.
PAGE = {
    "rocksjava-fillseq": ("1 sequential writer", 369, 371, "< 1%"),
    "rocksjava-readrandom": ("32 random readers", 270, 303, "-10.8%"),
    "rocksjava-readwhilewriting": ("32 random readers, 1 writer", 206, 336, "-38.5%"),
    "rocksjava-readseq": ("32 sequential readers", 2120, 6840, "-69.0%"),
}
_SHOWN = ("write_p99", "read_p99", "cpu_seconds", "waf", "whole_waf", "sa", "time")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what is missing, and writes the page from all that is there."""
    given = _parser().parse_args(arguments)
    kept = given.docs / "results" / "rocksjava.jsonl"
    try:
        if not given.page:
            status = _measure(given.rounds, given.db_bench, given.work)
            if status:
                return status
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(kept_text(given.work), encoding="utf-8")
        if not kept.exists():
            raise InputError(str(kept), "is not there yet: make prove-rocksjava measures")
        page = given.docs / "results" / "rocksjava.md"
        page.write_text(page_text(read_lines(kept)), encoding="utf-8")
        print(f"{page} is written from {kept}")
    except InputError as error:
        sys.exit(str(error))
    return 0


def _measure(rounds: int, db_bench: str | None, work: Path) -> int:
    asked = ["compare", "rocksjava", "java:rocksjava", "--rounds", str(rounds), "--resume"]
    asked += [part for name in PAGE for part in ("--workload", name)]
    build = ["--db-bench-a", db_bench] if db_bench else []
    return rocktune([*asked, *build, "--out", str(work)])


def kept_text(work: Path) -> str:
    """What is worth keeping of a comparison, as lines: what was compared, then its runs.

    Where programs lie on the machine is left out.
    """
    result = json.loads((work / RESULT).read_text(encoding="utf-8"))
    builds = {name: each["build"] for name, each in result["subjects"].items()}
    facts = ("version", "source", "compiled", "assertions", "optimised", "jemalloc", "codecs")
    machine = {k: v for k, v in result["machine"].items() if k != "host"}
    head = {
        "machine": machine,
        "date": datetime.now(UTC).date().isoformat(),
        "rounds": result["rounds"],
        "seed": result["seed"],
        "values": result["subjects"]["A"]["values"],
        "builds": {name: {f: build.get(f) for f in facts} for name, build in builds.items()},
        "workloads": result["workloads"],
        "cautions": result["cautions"],
    }
    runs = read_lines(work / RUNS)[1:]
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in [head, *runs])


def page_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """The page, with every figure out of the runs.

    Args:
        rows: What was compared, then its runs.
    """
    head, runs = rows[0], [MeasuredRun(**row) for row in rows[1:]]
    loads = [name for name in PAGE if any(run.case == name for run in runs)]
    found = tables(whole_sets(runs, ("A", "B")), loads, "A", ["B"], shown_in("compare"))
    machine = head["machine"]
    parts = [
        "# RocksJava against C++, measured here",
        "Written by `make prove-rocksjava` from [rocksjava.jsonl](rocksjava.jsonl), where every "
        f"run is: {head['rounds']} rounds, seed {head['seed']}, {head['date']}, "
        f"{machine['cpu']}, {machine['cores']} cores, "
        f"{format_bytes(machine['memory_bytes'])} of memory, {machine['system']}. What the page "
        "of 2014 did, and what is different here: [RocksJava](../how-to/rocksjava.md).",
        _compared(found),
        "Medians; differences are geometric means over runs next to each other, with 95% "
        "intervals. p is corrected over this page (Holm).",
        _others(found),
        "What it says:\n\n" + "\n".join(f"- {line}" for line in comparison_sentences(found)),
        "What to know:\n\n" + "\n".join(f"- {line}" for line in [*_builds(head),
                                                                 *head["cautions"]]),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _compared(found: Sequence[CaseChange]) -> str:
    lines = [
        "| benchmark | RocksJava 2014 | C++ 2014 | difference | RocksJava here | C++ here | "
        "difference (95% interval) | p |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for table in found:
        what, java, native, said = PAGE[table.case]
        row = table.metrics.get("rate")
        here = "| | | not measured | |"
        if row:
            p = p_figure(row.p_holm)
            here = f"| {row.new:,.0f} | {row.old:,.0f} | {row.in_words} | {p} |"
        lines.append(f"| {what} | {java * 1000:,} | {native * 1000:,} | {said} {here}")
    return "Operations per second:\n\n" + "\n".join(lines)


def _others(found: Sequence[CaseChange]) -> str:
    lines = ["| workload | metric | C++ | RocksJava | difference (95% interval) | p |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for table in found:
        lines += [
            f"| {table.case} | {name} | {row.old:.4g} | {row.new:.4g} | "
            f"{row.in_words} | {row.p_holm:.2g} |"
            for name in _SHOWN
            if (row := table.metrics.get(name))
        ]
    said = (
        "`waf` is that of the measured process alone, `whole_waf` has the sequential load in it "
        "that prepared the database."
    )
    return "Beside the rate:\n\n" + "\n".join(lines) + f"\n\n{said}"


def _builds(head: Mapping[str, Any]) -> list[str]:
    names = {"A": "C++", "B": "RocksJava"}
    return [
        f"{names[name]}: RocksDB {build['version']}, compiled {build['compiled']}, "
        f"assertions {'on' if build['assertions'] else 'off'}"
        for name, build in head["builds"].items()
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="RocksJava against C++.")
    parser.add_argument("--rounds", type=int, default=9, help="runs of each workload on each side")
    parser.add_argument("--db-bench", help="the C++ side: a build's name or a path")
    parser.add_argument("--work", type=Path, default=WORK, help="receives the runs as they end")
    parser.add_argument("--docs", type=Path, default=DOCS, help="receives the page")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
