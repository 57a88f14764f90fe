"""Runs of reading workloads on databases prepared for them and on copies, in turn.

Run with ``make prove-reading``, alone on the machine. It can be stopped at any time and goes on
when it is called again; what is kept in docs/results/reading.jsonl is not measured again.
``--page`` writes the page from what is kept, and measures nothing.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jobs.execution.assembly import assemble
from jobs.specification.named_files import specify
from sampler.common.errors import InputError
from sampler.machine.machine import fingerprint
from sampler.runner.outcome import Outcome
from sampler.runner.runner import LocalRunner
from sampler.runner.settings import load_settings
from studies.arguments import names
from studies.json_lines import append_line, read_lines
from studies.reading_copies.page import page
from studies.reading_copies.rows import CONFIGURATIONS, KINDS, Row

WORKLOADS = ("read-quick", "readwhilewriting-quick")
_MACHINE = ("cpu", "cores", "memory_bytes", "file_system", "system")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures what is missing, and writes the page from all that is there."""
    given = _parser().parse_args(arguments)
    kept = given.docs / "results" / "reading.jsonl"
    asked = [f"--rounds {given.rounds}", f"--workloads {','.join(given.workloads)}"]
    command = f'make prove-reading ARGS="{" ".join(asked)}"'
    try:
        rows = [Row(**row) for row in read_lines(kept)]
        if not given.page:
            for workload in given.workloads:
                rows += _measure(workload, given.rounds, rows, kept)
        if not rows:
            raise InputError(str(kept), "holds no run yet: make prove-reading measures them")
    except InputError as error:
        sys.exit(str(error))
    out = given.docs / "results" / "reading.md"
    out.write_text(page(rows, command), encoding="utf-8")
    print(f"{out} tells of {len(rows)} runs")
    return 0


def _measure(workload: str, rounds: int, known: Sequence[Row], kept: Path) -> list[Row]:
    """The runs of a workload that are missing, each kept as it ends."""
    settings = load_settings()
    specification = specify(workload=workload, space="reading", objective="reading")
    assembly = assemble(specification, settings)
    runner = LocalRunner(assembly.benchmark, settings, waiting=lambda who: print(f"waits: {who}"))
    machine = fingerprint(settings.bench_dir)
    facts: dict[str, Any] = {name: machine[name] for name in _MACHINE}
    facts["rocksdb"] = assembly.installed.version if assembly.installed else None
    there = {row.key for row in known}
    made = []
    for number in range(1, rounds + 1):
        each = [(name, kind) for name in CONFIGURATIONS for kind in KINDS]
        for name, kind in random.Random(f"{workload}/{number}").sample(each, len(each)):
            if (workload, name, kind, number) in there:
                continue
            outcome = _run(runner, name, kind)
            row = Row(
                workload, name, kind, number, outcome.state.value, outcome.bench_seconds,
                dict(outcome.metrics), f"{datetime.now(UTC):%Y-%m-%d}", facts,
            )  # fmt: skip
            append_line(kept, dataclasses.asdict(row))
            made.append(row)
            print(
                f"{workload} {name} {kind} {number}: {row.state}, {row.seconds:.1f} s", flush=True
            )
    return made


def _run(runner: LocalRunner, name: str, kind: str) -> Outcome:
    """One run; where the first that may take a copy finds none, the next does."""
    wanted = kind == "copied"
    outcome = runner.run(CONFIGURATIONS[name], share=wanted)
    copied = outcome.bench_seconds == outcome.metrics.get("wall_seconds")
    return outcome if copied == wanted else runner.run(CONFIGURATIONS[name], share=wanted)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Reads of prepared databases and of copies.")
    parser.add_argument("--rounds", type=int, default=10, help="runs of each kind")
    parser.add_argument("--workloads", type=names, default=WORKLOADS,
                        help="names or TOML files, with commas between")  # fmt: skip
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="receives page and runs")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
