"""Confirms one configuration 40 times with the real db_bench, and counts how often it was right.

Run with ``make prove-intervals ARGS="--times 40 --pairs 6"``, alone on the machine: 45 minutes. It
may be stopped at any time; called again it goes on. ``--page`` measures nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jobs.execution.assembly import assemble
from jobs.specification.named_files import specify
from optimizer.objective.objective_file import load_objective
from sampler.common.errors import InputError
from sampler.machine.machine import fingerprint
from sampler.parameters.parameter import Value
from sampler.runner.outcome import TrialState
from sampler.runner.runner import LocalRunner
from sampler.runner.settings import Settings, load_settings
from studies.arguments import make_command
from studies.json_lines import append_line, read_lines
from studies.real_coverage.page import coverage, pairs_of, too_few, write_page

RAW = Path("docs/results/real_coverage.jsonl")
WORKLOAD = "load-quick"
# Changes every metric of the fitness, none of them by much: what is to be found is near the noise.
CHANGED: Mapping[str, Value] = {
    "block_size": 16384,
    "level0_file_num_compaction_trigger": 6,
    "max_background_jobs": 4,
}
SIDES = ("baseline", "changed")


def main(arguments: Sequence[str] | None = None) -> None:
    """Makes the runs that are missing, and writes the page from all that is there."""
    given = _parser().parse_args(arguments)
    command = make_command("prove-intervals", arguments)
    try:
        if not given.page:
            given.raw.parent.mkdir(parents=True, exist_ok=True)
            run_missing(given.raw, given.times, given.pairs, given.workload, load_settings())
        rows = read_lines(given.raw)
        if not rows:
            sys.exit(f"{given.raw} holds nothing yet: make prove-intervals measures")
        print(write_page(given.raw.with_suffix(".md"), command, CHANGED, rows, given.pairs))
        seldom = too_few(coverage(load_objective("paper"), pairs_of(rows), given.pairs))
        if seldom:
            sys.exit(f"hold too seldom: {', '.join(seldom)}")
    except InputError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("stopped; called again it goes on")


def run_missing(raw: Path, times: int, pairs: int, workload: str, settings: Settings) -> None:
    """Makes every run that is not in the file of raw results; who goes first takes turns.

    Raises:
        InputError: The file is of another workload, a run does not end well, or the machine
            cannot make one.
    """
    rows = read_lines(raw)
    there = {(row["pair"], row["side"]) for row in rows}
    specification = specify(workload=workload, space="default")
    name = specification.workload["name"]
    for row in rows:
        if row["workload"] != name:
            raise InputError("--raw", f"{raw} is of the workload {row['workload']}: move it away")
    assembly = assemble(specification, settings)
    runner = LocalRunner(assembly.benchmark, settings)
    version = assembly.installed.version if assembly.installed else ""
    machine = fingerprint(settings.bench_dir)
    host = f"{machine['cores']} cores, {machine['cpu']}, {machine['system']}, RocksDB {version}"
    if any(row["host"] != host for row in rows):
        raise InputError("--raw", f"{raw} was measured elsewhere, not on {host}: move it away")
    for pair in range(times * pairs):
        for side in SIDES if pair % 2 else reversed(SIDES):
            if (pair, side) not in there:
                outcome = runner.run(CHANGED if side == "changed" else {})
                if outcome.state is not TrialState.DONE:
                    raise InputError(side, f"pair {pair} did not end well: {outcome.failure}")
                append_line(raw, _row(pair, side, name, outcome.metrics, host))
        print(f"{pair + 1}/{times * pairs} pairs", flush=True)


def _row(
    pair: int, side: str, workload: str, metrics: Mapping[str, float], host: str
) -> dict[str, Any]:
    return {
        "pair": pair,
        "side": side,
        "workload": workload,
        "metrics": {name: metrics[name] for name in load_objective("paper").metrics},
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": host,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Confirms one configuration again and again.")
    parser.add_argument("--times", type=int, default=40, help="confirmations")
    parser.add_argument("--pairs", type=int, default=6, help="of runs, in each confirmation")
    parser.add_argument("--workload", default=WORKLOAD)
    parser.add_argument("--raw", type=Path, default=RAW, help="what was measured")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    return parser


if __name__ == "__main__":
    main()
