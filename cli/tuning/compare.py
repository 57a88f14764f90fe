"""`rocktune compare`: two configurations, builds or engines, side by side on real runs."""

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from cli.options.database_option import Db, open_database, require_there
from cli.options.exits import Exit, complain
from cli.options.job_options import ColumnFamily, DropUnknown, ResumeRuns, Scale
from cli.render.experiment_screen import RunsShown, show_subjects, show_told
from cli.render.screen import json_alone, print_json, say, screen
from cli.render.submitting import submittable
from db.schema.job_row import JobKind
from jobs.experiments.comparison.comparison import (
    ComparisonRequest,
    comparison,
    require_rounds,
    require_workloads,
    subjects_of,
)
from jobs.experiments.comparison.sides import Side, of_files, read_side, side_of_job
from jobs.experiments.comparison.tables import require_metrics
from jobs.experiments.experiment import measure_in_folder
from sampler.common.errors import InputError
from sampler.runner.settings import Settings, load_settings
from sampler.workload.workload_file import load_workload

EXAMPLES = """
Examples:
  rocktune compare default OPTIONS.ini                      my file against the defaults
  rocktune compare default compression_type=zstd,block_size=16KiB
  rocktune compare OPTIONS.old OPTIONS.new --workload load --workload mixed-50-50 --rounds 9
  rocktune compare default job:12                           a job's winner, again
  rocktune compare default /opt/10.2/db_bench               another RocksDB
  rocktune compare rocksjava java:rocksjava --workload rocksjava-readseq     C++ against Java
  rocktune compare --around max_background_jobs             half of the default, it, and double
  rocktune compare guide --around write_buffer_size         half, calculated, and double
  rocktune compare default OPTIONS.ini --resume             goes on where it was stopped
  rocktune compare default OPTIONS.ini --submit             as a job of a service
"""
_SIDE = (
    "default, parameter=value,..., a file (OPTIONS, TOML or JSON of parameters), job:NUMBER, a "
    "starting point, guide or guide:CPU_THREADS, a db_bench, or BUILD:... with a build of "
    "ROCKTUNE_BUILDS or java."
)
_BUILD = "The RocksDB build that runs it: its name in ROCKTUNE_BUILDS, java, or a path."


@submittable(JobKind.COMPARE, workloads="workload")
def compare_command(
    a: Annotated[
        str | None,
        typer.Argument(metavar="A", help=f"{_SIDE} With --around: default if left out."),
    ] = None,
    b: Annotated[str | None, typer.Argument(metavar="B", help="The same.")] = None,
    around: Annotated[
        str | None,
        typer.Option(metavar="PARAMETER", help="Instead of B: half, A's value, and double."),
    ] = None,
    workloads: Annotated[
        list[str] | None,
        typer.Option("--workload", help="A name or TOML file; repeatable. Else load-quick."),
    ] = None,
    rounds: Annotated[int, typer.Option(help="Runs of each, at least 3.")] = 5,
    metrics: Annotated[
        str | None, typer.Option(help="What is compared, as rate,waf,read_p99; else the usual.")
    ] = None,
    db_bench_a: Annotated[str | None, typer.Option(help=_BUILD)] = None,
    db_bench_b: Annotated[str | None, typer.Option(help="The same for B.")] = None,
    column_family: ColumnFamily = None,
    drop_unknown: DropUnknown = False,
    scale: Scale = None,
    seed: Annotated[int, typer.Option(help="Decides the order of the runs.")] = 1,
    out: Annotated[
        Path, typer.Option(help="Receives every run, result.json, CSV files and a page.")
    ] = Path("rocktune-compare"),
    resume: ResumeRuns = False,
    db: Db = None,
    as_json: Annotated[bool, json_alone("result.json")] = False,
) -> int:
    """Measures A and B in turn on this machine, and says what differs and how sure that is.

    The runs are interleaved: each round measures both under every workload, one
    right after the other; who goes first is drawn, and turned round in the next.

    Exit status: 0 compared, 1 one of them never ended well, 2 bad input, 130
    interrupted (go on with --resume).
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if a is None and around is None:
        raise InputError("A", "name what is compared, or give --around PARAMETER")
    if (b is None) == (around is None):
        raise InputError("B", "name what A is compared with, or give --around PARAMETER")
    if around is not None and db_bench_b is not None:
        raise InputError("--db-bench-b", "means nothing with --around; use --db-bench-a")
    settings = load_settings()
    answer, aside = screen(stderr=as_json), screen(stderr=True)
    sides = [_read("default" if a is None else a, settings, db, "A", db_bench_a)]
    if b is not None:
        sides.append(_read(b, settings, db, "B", db_bench_b))
    sides = of_files(sides, column_family, drop_unknown)
    try:
        require_rounds(rounds, seed)
        loads = require_workloads([load_workload(w) for w in workloads or ["load-quick"]], scale)
        names = [each.strip() for each in (metrics or "").split(",") if each.strip()]
        chosen = require_metrics(names, loads)
        asked = ComparisonRequest(
            subjects=subjects_of(sides, around, loads, settings),
            workloads=loads, metrics=chosen, around=around, rounds=rounds, seed=seed,
        )  # fmt: skip
        show_subjects(answer, asked)
        shown = RunsShown(aside)
        experiment = comparison(asked, settings)
        for line in experiment.cautions:
            shown.caution(line)
        compared = measure_in_folder(experiment, out, resume=resume, observer=shown.observer)
    except KeyboardInterrupt:
        complain(f"interrupted; the runs are in {out}. The same command with --resume goes on")
        return Exit.INTERRUPTED
    show_told(answer, JobKind.COMPARE, compared.document)
    say(aside, f"written to {out}")
    if as_json:
        print_json(compared.document)
    all_ran = all(table["metrics"] for table in compared.document["tables"])
    return Exit.DONE if all_ran else Exit.TOOL_FAILED


def _read(text: str, settings: Settings, db: str | None, field: str, build: str | None) -> Side:
    side = read_side(text, settings, _job_side(db), field=field)
    return side if build is None else replace(side, build=build)


def _job_side(db: str | None) -> Callable[[int, str], Side]:
    """Opens the database only where a job is named."""

    def read(number: int, field: str) -> Side:
        require_there(db)
        with open_database(db) as engine:
            return side_of_job(engine, number, field)

    return read
