"""`rocktune bench`, `compare`, `upgrade-check`: configurations measured outside of a search."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Option, echo

from cli.options.connections import Db, open_database, require_there
from cli.options.exits import Exit, interruptible, terminate_like_interrupt
from cli.options.job_options import (
    ColumnFamily,
    DbBench,
    DropUnknown,
    ResumeRuns,
    Scale,
    Workload,
    in_options,
)
from cli.render.outcome_screen import show_told
from cli.render.screen import (
    TextConsole,
    json_alone,
    print_json,
    runs_observer,
    say,
    screen,
    told_on_change,
)
from cli.render.submitting import submittable
from db.schema.job_row import JobKind
from jobs.execution.assembly import single_bench
from jobs.experiments.experiment import measure_in_folder
from jobs.experiments.kinds import KnownNames, prepared, specified
from jobs.experiments.sides import Side, side_named, side_of_job
from jobs.specification.experiments import (
    CompareRequest,
    ExperimentRequest,
    UpgradeCheckRequest,
)
from jobs.specification.named_files import specify
from sampler.bench.builds import named_programs
from sampler.bench.outcome import TrialState
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import load_settings
from sampler.common.errors import InputError
from sampler.common.text import printable
from sampler.rocksdb.parameters import Value, catalogue, parse_value
from sampler.workload.workload_file import load_workload, workload_document

BENCH_EXAMPLES = """
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


_CONTINUE = "Continue with the same command and --resume"
COMPARE_EXAMPLES = """
Examples:
  rocktune compare default OPTIONS.ini                      your file against the defaults
  rocktune compare default compression_type=zstd,block_size=16KiB
  rocktune compare OPTIONS.old OPTIONS.new --workload load --workload mixed-50-50 --rounds 9
  rocktune compare default job:12                           a job's winner
  rocktune compare default /opt/10.2/db_bench               another RocksDB build
  rocktune compare rocksjava java:rocksjava --workload rocksjava-readseq     C++ against Java
  rocktune compare --around max_background_jobs             half, the default, double
  rocktune compare guide --around write_buffer_size         half, the guide's value, double
  rocktune compare default OPTIONS.ini --resume             continues an interrupted comparison
  rocktune compare default OPTIONS.ini --submit             as a job of a service
"""
_SIDE = (
    "default; parameter=value,...; a file (OPTIONS, TOML or JSON of parameters); job:NUMBER; a "
    "starting point; guide or guide:CPU_THREADS; a db_bench; or BUILD:... with one of these and a "
    "build of ROCKTUNE_BUILDS or java."
)
_RUNS = "RocksDB build that runs {}: a name in ROCKTUNE_BUILDS, java, or a path."
_COMPARED = {
    "a": f"Side A: {_SIDE}",
    "b": "Side B, in the same forms. Left out with --around.",
    "around": "Instead of B: a parameter, for A's value halved and doubled.",
    "workload": "Workload name or TOML file; repeatable. Default: load-quick.",
    "db_bench_a": _RUNS.format("A"),
    "db_bench_b": _RUNS.format("B"),
}


@submittable(JobKind.COMPARE, _COMPARED, arguments={"a": "A", "b": "B"})
def compare_command(
    asked: CompareRequest,
    out: Annotated[
        Path, Option(help="Folder for all runs, result.json, CSV files and a report page.")
    ] = Path("rocktune-compare"),
    resume: ResumeRuns = False,
    db: Db = None,
    as_json: Annotated[bool, json_alone("result.json")] = False,
) -> int:
    """Compares A and B by interleaved runs on this machine, with confidence intervals.

    Each round measures both sides under every workload, one right after the other.
    Their order is drawn at random, and reversed in the next round.

    Exit status: 0 compared, 1 a side has no successful run, 2 bad input, 130
    interrupted (continue with --resume).
    """
    terminate_like_interrupt()
    document = _measured(asked, db, "{case}, {side}", out, resume=resume, as_json=as_json)
    say(screen(stderr=True), f"written to {out}")
    all_ran = all(table["metrics"] for table in document["tables"])
    return Exit.DONE if all_ran else Exit.TOOL_FAILED


def _measured(
    request: ExperimentRequest,
    db: str | None,
    run_of: str,
    out: Path,
    *,
    resume: bool,
    as_json: bool,
) -> Mapping[str, Any]:
    """The result of an experiment that is measured and shown here, and kept in a folder."""

    def of_job(number: int, field: str) -> Side:
        require_there(db)
        with open_database(db) as engine:
            return side_of_job(engine, number, field)

    settings = load_settings()
    answer, aside = screen(stderr=as_json), screen(stderr=True)
    builds = named_programs(settings)
    known = KnownNames(
        workload=lambda name: workload_document(load_workload(name)),
        tuning=lambda fields: specify(**fields),
        side=lambda text, field: side_named(text, builds, of_job, field=field, files=True),
    )
    with interruptible(f"interrupted; the runs are in {out}. {_CONTINUE}"):
        specification = specified(request, known)
        experiment = prepared(specification, None, settings)
        say(answer, *experiment.subjects)
        say(aside, *(f"note: {line}" for line in experiment.cautions))
        observer = runs_observer(aside, run_of)
        found = measure_in_folder(experiment, settings, out, resume=resume, observer=observer)
    show_told(answer, specification.kind, found.document)
    if as_json:
        print_json(found.document)
    return found.document


UPGRADE_CHECK_EXAMPLES = """
Examples:
  rocktune upgrade-check default /opt/10.2/db_bench      builds by name or path
  rocktune upgrade-check 7.8 10.2 --options /etc/my/OPTIONS    your OPTIONS file as well
  rocktune upgrade-check 7.8 10.2 --pairs 0              only what needs no load
  rocktune upgrade-check 7.8 10.2 --configurations 5 --pairs 10
  rocktune upgrade-check 7.8 10.2 --resume               continues an interrupted check
  rocktune upgrade-check default 10.2 --submit           as a job of a service
"""
_BUILD = "{} build: a name in ROCKTUNE_BUILDS, `default`, or the path of a db_bench."
_CHECKED = {
    "old": _BUILD.format("Old"),
    "new": _BUILD.format("New"),
    "workload": "Workload name or TOML file.",
    "options": "Your OPTIONS file, to check and measure as well.",
}


@submittable(JobKind.UPGRADE_CHECK, _CHECKED, arguments={"old": "OLD", "new": "NEW"})
def upgrade_check_command(
    asked: UpgradeCheckRequest,
    out: Annotated[Path, Option(help="Folder for all runs and upgrade.json.")] = Path(
        "rocktune-upgrade"
    ),
    resume: ResumeRuns = False,
    as_json: Annotated[bool, json_alone("upgrade.json")] = False,
) -> int:
    """Compares two RocksDB builds: their defaults, and the same configurations measured on both.

    Exit status: 0 nothing got significantly worse, 3 something did (or the new build
    refuses the OPTIONS file), 2 bad input, 1 the tool failed, 130 interrupted
    (continue with --resume).
    """
    terminate_like_interrupt()
    run_of = "{case} on the {side} build"
    document = _measured(asked, None, run_of, out, resume=resume, as_json=as_json)
    return Exit.ANSWER_IS_NO if document["worse"] else Exit.DONE
