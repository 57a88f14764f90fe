"""Measures starting points against the defaults, and writes docs/results/starting_points.md.

Run with ``make prove-starts``, alone on the machine. It may be stopped at any time; called again
it goes on, and measures again what the catalogue has changed. ``ARGS=--page`` measures nothing
and writes the page from what is kept.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from jobs.execution.assembly import Assembly, assemble
from jobs.specification.named_files import specify
from jobs.specification.start_from import room_of, usual_starts
from optimizer.confirmation.paired_change import medians
from sampler.common.byte_size import format_bytes
from sampler.common.errors import InputError
from sampler.machine.machine import cpu_threads, fingerprint
from sampler.parameters.parameter import Value
from sampler.runner.runner import LocalRunner
from sampler.runner.settings import Settings, load_settings
from sampler.space.starting_points import values_of
from studies.arguments import days_words, names
from studies.guide_check.page import changed
from studies.json_lines import append_line, read_lines

RAW = Path("docs/results/starting_points.jsonl")
SCANS = "studies/scan-quick.toml"
WORKLOADS = ("load-quick", "overwrite-quick", "mixed-quick", "read-quick", SCANS)
DEFAULT = "default"
METRICS = ("rate", "waf", "whole_waf", "sa", "time", "read_p99", "seek_p99", "peak_rss")
_HOST = ("cpu", "cores", "memory_bytes", "file_system", "system")
Row = Mapping[str, Any]
_HEAD = """# Starting points beside the defaults

What a job begins with ([starting points](../explanation/searching.md#starting-points)), measured
against RocksDB's own defaults: every option of a point, also those that the space `default` does
not search. Made by `studies/starting_points.py` from
[starting_points.jsonl](starting_points.jsonl)."""
_READING = """Runs are interleaved, in an order drawn anew in each round. Changes are against the
defaults in the same round: geometric means with 95% intervals; * where the interval does not
hold 0 (of so many intervals one in twenty does so by chance). Less is better, but of `rate`."""


@dataclass(frozen=True)
class Run:
    """A point under a workload, in a round."""

    workload: str
    point: str
    configuration: Mapping[str, Value]  # by parameter, full scale; empty: the defaults
    round: int

    def kept_by(self, row: Row) -> bool:
        """Whether a row of the file is of this run."""
        mine = (self.workload, self.point, self.round, dict(self.configuration))
        return (row["workload"], row["point"], row["round"], row["configuration"]) == mine


def runs_of(assemblies: Mapping[str, Assembly], rounds: int) -> list[Run]:
    """Round after round, in each all points of all workloads in an order drawn anew."""
    found: list[Run] = []
    for number in range(1, rounds + 1):
        for name, assembly in assemblies.items():
            problem = assembly.problem
            room = room_of(problem, cpu_threads())
            points = {each: values_of(each, None, room) for each in usual_starts(problem)[1:]}
            within = [Run(name, DEFAULT, {}, number)]
            within += [Run(name, point, values, number) for point, values in points.items()]
            Random(f"{name}/{number}").shuffle(within)
            found += within
    return found


def run_missing(rounds: int, workloads: Sequence[str], raw: Path, settings: Settings) -> None:
    """Makes every run that is not in the file of raw results, in order.

    Raises:
        InputError: The machine cannot run one.
    """
    there = read_lines(raw)
    assemblies = {
        name: assemble(specify(workload=name, space="all"), settings) for name in workloads
    }
    runners = {name: LocalRunner(each.benchmark, settings) for name, each in assemblies.items()}
    machine = fingerprint(settings.bench_dir)
    runs = runs_of(assemblies, rounds)
    missing = [run for run in runs if not any(run.kept_by(row) for row in there)]
    for place, run in enumerate(missing, start=1):
        installed = assemblies[run.workload].installed
        load_before = os.getloadavg()[0]
        outcome = runners[run.workload].run(run.configuration)
        row = {
            "workload": run.workload,
            "point": run.point,
            "round": run.round,
            "configuration": dict(run.configuration),
            "state": outcome.state.value,
            "metrics": dict(outcome.metrics),
            "failure": outcome.failure,
            "seconds": round(outcome.bench_seconds, 3),
            "ended": datetime.now(UTC).isoformat(timespec="seconds"),
            "load": round(load_before, 2),
            "host": {name: machine[name] for name in _HOST}
            | {"rocksdb": installed.version if installed else ""},
        }
        append_line(raw, row)
        print(f"{place}/{len(missing)} {run.workload} {run.point}: {row['state']}", flush=True)


def page_of(rows: Sequence[Row]) -> str:
    """The page, from all rows, at least one; of a point the newest values count."""
    host, days = rows[-1]["host"], {str(row["ended"])[:10] for row in rows}
    loads = sorted(row["load"] for row in rows)
    about = (
        f"Command: `make prove-starts`. {host['cpu']}, {host['cores']} cores, "
        f"{format_bytes(host['memory_bytes'])}, {host['file_system']}, {host['system']}, RocksDB "
        f"{host['rocksdb']}; {days_words(days)}; {len(rows)} runs. "
        f"Load average of the machine when a run began: median {loads[len(loads) // 2]:.1f}, most "
        f"{loads[-1]:.1f}; above 1 other work took processors, and clocks are worth little."
    )
    sections = [
        _section(name, [row for row in rows if row["workload"] == name])
        for name in dict.fromkeys(row["workload"] for row in rows)
    ]
    return "\n\n".join([_HEAD, about, _READING, *sections]) + "\n"


def _section(workload: str, rows: Sequence[Row]) -> str:
    newest = {row["point"]: row["configuration"] for row in rows}
    kept = [row for row in rows if row["configuration"] == newest[row["point"]]]
    metrics = [name for name in METRICS if any(name in row["metrics"] for row in kept)]
    runs = {
        point: {row["round"]: row["metrics"] for row in kept if row["point"] == point}
        for point in newest
    }
    base = runs.get(DEFAULT, {})
    lines = [
        f"## {Path(workload).stem}",
        "",
        f"| point | runs | {' | '.join(metrics)} |",
        f"|---|--:|{'--:|' * len(metrics)}",
    ]
    for point in [DEFAULT, *sorted(newest.keys() - {DEFAULT})]:
        own = runs.get(point, {})
        cells = [
            f"{medians(list(own.values())).get(metric, 0):,.4g}"
            if point == DEFAULT
            else changed(metric, own, base)
            for metric in metrics
        ]
        lines.append(f"| {point} | {len(own)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Makes the runs that are missing, and writes the page from all that is there."""
    parser = argparse.ArgumentParser(description="Starting points beside the defaults.")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured")
    parser.add_argument("--workloads", type=names, default=WORKLOADS,
                        help="with commas between")  # fmt: skip
    parser.add_argument("--page", action="store_true", help="write the page; measure nothing")
    parser.add_argument("--raw", type=Path, default=RAW, help="where raw results are kept")
    given = parser.parse_args(arguments)
    try:
        if not given.page:
            given.raw.parent.mkdir(parents=True, exist_ok=True)
            run_missing(given.rounds, given.workloads, given.raw, load_settings())
        rows = [row for row in read_lines(given.raw) if row["state"] == "done"]
        if not rows:
            sys.exit(f"{given.raw} holds nothing yet: make prove-starts measures")
        page = given.raw.with_suffix(".md")
        page.write_text(page_of(rows), encoding="utf-8")
        print(f"{page} tells of {len(rows)} runs")
    except InputError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("stopped; called again it goes on")


if __name__ == "__main__":
    main()
