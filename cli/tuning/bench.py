"""`rocktune bench`: measures one configuration."""

from typing import Annotated

from typer import Option, echo

from cli.options.exits import Exit
from cli.options.job_options import ColumnFamily, DbBench, DropUnknown, Scale, Workload, in_options
from cli.render.screen import TextConsole, print_json, say, told_on_change
from jobs.execution.assembly import single_bench
from sampler.common.errors import InputError
from sampler.common.untrusted_text import printable
from sampler.parameters.catalogue import catalogue
from sampler.parameters.parameter import Value, parse_value
from sampler.runner.outcome import TrialState
from sampler.runner.runner import LocalRunner
from sampler.runner.settings import load_settings

EXAMPLES = """
Examples:
  rocktune bench                                                RocksDB's defaults
  rocktune bench --set compression_type=zstd --set block_size=16KiB --runs 3
  rocktune bench --baseline OPTIONS.ini --workload load         your OPTIONS file
  rocktune bench --db-bench /opt/10.2/db_bench                  another RocksDB build
"""


def bench_command(
    workload: Workload = "load-quick",
    assignments: Annotated[
        list[str] | None, Option("--set", help="parameter=value at full scale; repeatable.")
    ] = None,
    baseline: Annotated[
        str | None, Option(help="All other values: library, db_bench or an OPTIONS file.")
    ] = None,
    column_family: ColumnFamily = None,
    drop_unknown: DropUnknown = False,
    scale: Scale = None,
    db_bench: DbBench = None,
    runs: Annotated[int, Option(help="Number of runs.", min=1)] = 1,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object per run.")] = False,
) -> int:
    """Runs the benchmark with one configuration, outside of any job."""
    configuration: dict[str, Value] = {}
    for assignment in assignments or []:
        name, equals, text = assignment.partition("=")
        if not equals or name not in catalogue():
            raise InputError(
                f"--set {assignment}", "write parameter=value; `rocktune space all` lists them"
            )
        configuration[name] = parse_value(catalogue()[name], text, field=f"--set {name}")
    settings = load_settings()
    single = single_bench(
        workload,
        settings,
        baseline=baseline,
        column_family=column_family,
        drop_unknown=drop_unknown,
        scale=scale,
        db_bench=db_bench,
        configuration=configuration,
    )
    console = TextConsole(stderr=True)
    say(console, *(f"warning: {in_options(warning)}" for warning in single.warnings))
    runner = LocalRunner(single.benchmark, settings, waiting=told_on_change(console))
    status = Exit.DONE
    for run in range(1, runs + 1):
        outcome = runner.run(configuration)
        status = status if outcome.state is TrialState.DONE else Exit.TOOL_FAILED
        if as_json:
            warnings = [*single.warnings, *outcome.warnings]
            told = {"state": outcome.state.value, "metrics": dict(outcome.metrics)}
            print_json({"run": run, **told, "failure": outcome.failure, "warnings": warnings})
            continue
        shown = " ".join(f"{name}={value:.6g}" for name, value in outcome.metrics.items())
        said = printable(outcome.failure or shown)
        echo(f"run {run} {outcome.state.value}: {said}")
        for warning in outcome.warnings:
            console.print(f"  {warning}", markup=False, highlight=False)
    return status
