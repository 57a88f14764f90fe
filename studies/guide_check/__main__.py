"""Measures half, calculated and double of the guide's settings, and writes docs/results/guide.md.

Run with ``make prove-guide``, alone on the machine. It may be stopped at any time; called again it
goes on. ``ARGS=--page`` measures nothing and writes the page from what is kept.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from jobs.execution.assembly import assemble
from jobs.specification.named_files import specify
from sampler.common.errors import InputError
from sampler.machine.machine import cpu_threads, fingerprint
from sampler.runner.runner import LocalRunner
from sampler.runner.settings import Settings, load_settings
from sampler.workload.workload_file import load_workload
from studies.arguments import names
from studies.guide_check.page import write_page
from studies.guide_check.variants import Variant, variants
from studies.json_lines import append_line, read_lines

RAW = Path("docs/results/guide.jsonl")
WORKLOADS = ("kioxia-t2", "kioxia-t5")
_HOST = ("cpu", "cores", "memory_bytes", "file_system", "system")


@dataclass(frozen=True)
class Run:
    """One run: a variant under a workload, in a round."""

    workload: str
    variant: Variant
    round: int

    @property
    def key(self) -> tuple[str, str, int]:
        """What it is known by in the file."""
        return self.workload, self.variant.name, self.round


def order_of(workloads: Sequence[str], rounds: int, *, threads: int, seed: int = 1) -> list[Run]:
    """Round after round, in each all variants of all workloads in an order drawn anew."""
    runs: list[Run] = []
    for number in range(1, rounds + 1):
        within = [
            Run(name, variant, number)
            for name in workloads
            for variant in variants(load_workload(name), cpu_threads=threads)
        ]
        Random(f"{seed}/{number}").shuffle(within)
        runs += within
    return runs


def main(arguments: Sequence[str] | None = None) -> None:
    """Makes the runs that are missing, and writes the page from all that is there."""
    given = _parser().parse_args(arguments)
    try:
        if not given.page:
            given.raw.parent.mkdir(parents=True, exist_ok=True)
            runs = order_of(given.workloads, given.rounds, threads=cpu_threads())
            run_missing(runs, given.raw, load_settings())
        rows = read_lines(given.raw)
        if not rows:
            sys.exit(f"{given.raw} holds nothing yet: make prove-guide measures")
        page = given.raw.with_suffix(".md")
        write_page(page, "make prove-guide", rows)
        print(f"{page} tells of {len(rows)} runs")
    except InputError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("stopped; called again it goes on")


def run_missing(runs: Sequence[Run], raw: Path, settings: Settings) -> None:
    """Makes every run that is not in the file of raw results, in order.

    Raises:
        InputError: The file is of other configurations, or the machine cannot run one.
    """
    there = {(row["workload"], row["variant"], row["round"]): row for row in read_lines(raw)}
    for run in runs:
        row = there.get(run.key)
        if row is not None and row["configuration"] != dict(run.variant.configuration):
            raise InputError("--raw", f"{raw} is of other configurations: move it away")
    runners: dict[str, tuple[LocalRunner, str]] = {}
    for place, run in enumerate(runs, start=1):
        if run.key in there:
            continue
        if run.workload not in runners:
            assembly = assemble(specify(workload=run.workload, space="all"), settings)
            version = assembly.installed.version if assembly.installed else ""
            runners[run.workload] = LocalRunner(assembly.benchmark, settings), version
        runner, version = runners[run.workload]
        outcome = runner.run(run.variant.configuration)
        machine = fingerprint(settings.bench_dir)
        row = {
            "workload": run.workload,
            "variant": run.variant.name,
            "setting": run.variant.setting,
            "round": run.round,
            "configuration": dict(run.variant.configuration),
            "state": outcome.state.value,
            "metrics": dict(outcome.metrics),
            "failure": outcome.failure,
            "seconds": round(outcome.bench_seconds, 3),
            "ended": datetime.now(UTC).isoformat(timespec="seconds"),
            "host": {name: machine[name] for name in _HOST} | {"rocksdb": version},
        }
        append_line(raw, row)
        print(f"{place}/{len(runs)} {_words(row)}", flush=True)


def _words(row: dict[str, Any]) -> str:
    metrics = row["metrics"]
    shown = " ".join(f"{n}={metrics[n]:.4g}" for n in ("time", "rate", "waf") if n in metrics)
    head = f"{row['workload']} {row['variant']} round {row['round']}: {row['state']}"
    return f"{head} {shown} {row['failure'] or ''}".rstrip()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Half, calculated and double of the guide.")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured")
    parser.add_argument("--workloads", type=names, default=WORKLOADS,
                        help="with commas between")  # fmt: skip
    parser.add_argument("--page", action="store_true", help="write the page; measure nothing")
    parser.add_argument("--raw", type=Path, default=RAW, help="where raw results are kept")
    return parser


if __name__ == "__main__":
    main()
