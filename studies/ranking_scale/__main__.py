"""Measures the same configurations at three scales, and writes the page from what is there.

The page is docs/results/ranking_scale.md. Run with ``make prove-ranking-scale``: some hours, alone
on the machine, with 30 GB of free disk. It may be stopped at any time; called again it goes on.
``ARGS=--page`` measures nothing and writes the page, with what is in
``docs/results/ranking_scale_remarks.md`` where that is there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from jobs.specification.resolved_job import resolve
from sampler.common.errors import InputError
from sampler.machine.machine import fingerprint
from sampler.parameters.parameter import Value
from sampler.runner.settings import Settings, load_settings
from studies.arguments import counts, make_command
from studies.ranking_scale.configurations import STEPS, Configurations
from studies.ranking_scale.measure import Bench
from studies.ranking_scale.order import Run, order_of
from studies.ranking_scale.page import write_page
from studies.ranking_scale.rows import Row, append_row, read_rows
from studies.ranking_scale.scales import SCALES, specification_at

RAW = Path("docs/results/ranking_scale.jsonl")
_MACHINE = ("cpu", "cores", "memory_bytes", "file_system", "system")
_SAID = ("waf", "sa", "time", "rate")


def main(arguments: Sequence[str] | None = None) -> None:
    """Makes the runs that are missing, and writes the page from all that is there."""
    given = _parser().parse_args(arguments)
    scales = tuple(scale for scale in SCALES if scale.divisor in given.scales)
    problem = resolve(specification_at(SCALES[0]), None).problem
    wanted = Configurations(problem, given.draws, given.seed)
    steps = len(STEPS) if given.steps is None else given.steps
    runs = order_of(scales, draws=given.draws, steps=steps)
    try:
        settings = load_settings()
        given.raw.parent.mkdir(parents=True, exist_ok=True)
        if not given.page:
            run_missing(runs, wanted, given.raw, settings)
        rows = read_rows(given.raw)
        if not rows:
            sys.exit(f"{given.raw} holds nothing yet: make prove-ranking-scale measures")
        beside = given.raw.with_name(f"{given.raw.stem}_remarks.md")
        remarks = beside.read_text(encoding="utf-8").strip() if beside.exists() else ""
        command = make_command("prove-ranking-scale", arguments)
        write_page(given.raw.parent.parent, command, rows, remarks)
        print(f"{given.raw.with_name('ranking_scale.md')} tells of {len(rows)} runs")
    except InputError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("stopped; called again it goes on")


def run_missing(
    runs: Sequence[Run], wanted: Configurations, raw: Path, settings: Settings
) -> None:
    """Makes every run that is not in the file of raw results, in order.

    Raises:
        InputError: The file is of other configurations, or the machine cannot run one.
    """
    there = {row.run: row for row in read_rows(raw)}
    for run, row in there.items():
        if dict(row.configuration) != configuration_of(run, wanted):
            problem = f"{raw} is of other configurations ({run}): move it away"
            raise InputError("--raw", problem)
    benches = {scale.divisor: Bench(scale, settings) for scale in SCALES}
    for place, run in enumerate(runs, start=1):
        if run in there:
            continue
        bench = benches[run.divisor]
        configuration = configuration_of(run, wanted)
        outcome, levels = bench.measure(configuration)
        row = Row(
            run=run, num=bench.scale.num, configuration=configuration, state=outcome.state,
            metrics=dict(outcome.metrics), levels=levels, failure=outcome.failure,
            warnings=outcome.warnings, seconds=round(outcome.bench_seconds, 3),
            ended=datetime.now(UTC).isoformat(timespec="seconds"),
            host=_host(bench, settings),
        )  # fmt: skip
        append_row(raw, row)
        print(f"{place}/{len(runs)} {_words(row)}", flush=True)


def configuration_of(run: Run, wanted: Configurations) -> dict[str, Value]:
    """What a run measures, at full scale."""
    if run.kind == "baseline":
        return wanted.baseline()
    return wanted.draw(run.index) if run.kind == "draw" else wanted.step(run.index)


def _host(bench: Bench, settings: Settings) -> dict[str, str]:
    machine = fingerprint(settings.bench_dir)
    installed = bench.assembly.installed
    kept = {
        name: str(machine[name])
        for name in ("cpu", "cores", "memory_bytes", "file_system", "system")
    }
    return {**kept, "rocksdb": installed.version if installed else ""}


def _words(row: Row) -> str:
    run = row.run
    shown = " ".join(f"{n}={row.metrics[n]:.4g}" for n in _SAID if n in row.metrics)
    head = f"1/{run.divisor} {run.kind} {run.index} round {run.round}"
    return f"{head}: {row.state.value} {shown} ({row.seconds:.0f} s) {row.failure or ''}".rstrip()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Rankings of configurations at three scales.")
    parser.add_argument("--draws", type=int, default=30, help="configurations drawn")
    parser.add_argument("--steps", type=int, help="one-option steps; all of them if not given")
    parser.add_argument("--scales", type=counts, default=(64, 8, 1), help="divisors: 64,8,1")
    parser.add_argument("--seed", type=int, default=1, help="of the draws")
    parser.add_argument("--page", action="store_true", help="write the page; measure nothing")
    parser.add_argument("--raw", type=Path, default=RAW, help="where raw results are kept")
    return parser


if __name__ == "__main__":
    main()
