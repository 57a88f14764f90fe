"""`rocktune tune`: one job from the terminal, from the baseline to the OPTIONS file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from cli.options.connections import Certificates, Db, Migrate, Scheduler, backend_of, open_database
from cli.options.exits import Exit, interruptible, leave
from cli.options.job_options import in_options, job_options
from cli.render.screen import TextConsole, TuningProgress, Verbose, json_alone, print_json, say
from sampler.bench.settings import load_settings
from sampler.common.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from sqlalchemy import Engine

    from db.jobs.job_store import JobStore
    from jobs.execution.assembly import ExecutionBackend
    from jobs.results.outcome import JobOutcome
    from jobs.specification.resolved_job import ResolvedJob
    from jobs.specification.specification import Specification
    from sampler.bench.settings import Settings

EXAMPLES = """
Examples:
  rocktune tune                                   the quick load: a few minutes
  rocktune tune --like /var/lib/mydb              your database: its load and its OPTIONS
  rocktune tune --workload load --trials 400      the paper's load: some hours
  rocktune tune --objective waf --workload load --memory 512MiB    fewer writes, more memory
  rocktune tune --objective waf --limit "rate >= 0.95 baseline"    and at least 95% of the rate
  rocktune tune --baseline /etc/my/OPTIONS        against your current OPTIONS file
  rocktune tune --detect 5% --trials 400          enough proof runs to show 5%
  rocktune tune --strategy guided --warm-start auto    learns from earlier jobs
  rocktune tune --start-from /etc/my/OPTIONS      measures these settings first
  rocktune tune --confirm-scale 8                 proves on 8 times the data
  rocktune tune --db-bench /opt/10.2/db_bench     another RocksDB build
  rocktune tune --scheduler tls://bench:8786 --certificates DIR    on a cluster
  rocktune tune --minutes 30 --resume             continues an interrupted job
"""


@job_options()
def tune_command(
    asked: Mapping[str, Any],
    scheduler: Scheduler = None,
    certificates: Certificates = None,
    db: Db = None,
    migrate: Migrate = False,
    like: Annotated[
        Path | None,
        Option(
            metavar="PATH",
            help="Database to tune for: its folder, LOG or a trace. The workload imitates its "
            "load. The baseline is its OPTIONS file, if there is one.",
        ),
    ] = None,
    no_check: Annotated[
        bool,
        Option("--no-check", help="With --like: do not compare the load with the database first."),
    ] = False,
    out: Annotated[Path, Option(help="Folder for the OPTIONS file and the report.")] = Path(
        "rocktune-out"
    ),
    resume: Annotated[
        bool, Option("--resume", help="Continue the newest job that has exactly these options.")
    ] = False,
    as_json: Annotated[bool, json_alone("result.json")] = False,
    verbose: Verbose = False,
) -> int:
    """Tunes RocksDB on this machine and proves the result.

    Exit status: 0 a better configuration was proven, 3 nothing was proven, 2 bad input,
    130 interrupted (continue with --resume).
    """
    from jobs.results.output_folder import require_folder
    from jobs.specification.named_files import specify
    from jobs.specification.specification import on_fitting_build
    from sampler.bench.builds import installed_versions

    named, database = asked.get("db_bench") is not None, None
    if like is None:
        require_folder(out)
    else:
        from cli.tuning.profile import asked_like

        asked, database = asked_like(asked, like, out, resume=resume, check=not no_check)
    specification = specify(**asked)
    if not named and scheduler is None:
        specification = on_fitting_build(
            specification, lambda: installed_versions(load_settings()), database
        )
    with open_database(db, migrate=migrate, make=True) as engine:
        backend = backend_of(scheduler, certificates, load_settings())
        job, finished = _run(engine, specification, backend, resume=resume, out=out, named=named)
        return _tell(job, finished, out, db=db, as_json=as_json, verbose=verbose)


def _run(
    engine: Engine,
    specification: Specification,
    backend: ExecutionBackend,
    *,
    resume: bool,
    out: Path,
    named: bool,
) -> tuple[int, JobOutcome]:
    """The job's number, and what came of it; ``named``: the user named the build."""
    from db.jobs.job_store import JobStore
    from db.leases import LeaseHeld
    from db.schema.job_row import JobState
    from jobs.execution.held_job import JobCancelled
    from jobs.results.outcome import job_outcome
    from jobs.specification.resolved_job import require_job
    from jobs.specification.specification import on_build_of

    console = TextConsole(stderr=True)
    store = JobStore(engine)
    earlier = store.newest_job_with(specification.digest()) if resume else None
    if resume and earlier is None:
        say(console, _nothing_to_resume(store))
    if earlier and earlier.state is JobState.DONE:
        say(console, f"job {earlier.id} is already done; its result follows")
        return earlier.id, job_outcome(engine, earlier.id)
    if earlier is None:  # what an earlier one has learned from is kept with it
        require_job(store, specification.warm_start)
    elif not named:
        specification = on_build_of(specification, earlier.specification)
    with interruptible("interrupted before the job began"):
        assembly = backend.assemble(
            specification, told=lambda what: say(console, what), check=lambda: None
        )
    tell_warnings(console, assembly)
    if earlier:
        job_id = earlier.id
    else:
        job_id = store.create_job(specification.document(), specification.digest())
    try:
        say(console, f"job {job_id}, results in {out}")
        return job_id, run_here(
            engine, job_id, specification, assembly, load_settings(),
            console=console, backend=backend,
        )  # fmt: skip
    except LeaseHeld as held:
        raise InputError("--resume", f"{held}") from None
    except JobCancelled as cancelled:
        leave(f"{cancelled}. Continue with the same command and --resume", Exit.INTERRUPTED)
    except KeyboardInterrupt:
        left = f"{_left(store, job_id)}. Continue with the same command and --resume"
        leave(f"interrupted; {left}", Exit.INTERRUPTED)


def run_here(
    engine: Engine,
    job_id: int,
    specification: Specification,
    assembly: ResolvedJob,
    settings: Settings,
    *,
    console: Console,
    **how: Any,
) -> JobOutcome:
    """Runs what is left of a job and shows how it goes; takes and raises what ``run_job`` does."""
    from jobs.execution.run_job import run_job

    with TuningProgress(console, specification.trials) as progress:
        return run_job(
            engine, job_id, specification, assembly, settings, progress=progress,
            waiting=progress.waiting, away=progress.note, told=progress.note, **how,
        )  # fmt: skip


def tell_warnings(console: Console, assembly: ResolvedJob) -> None:
    """Prints what the user must know before it runs."""
    say(console, *(f"warning: {in_options(warning)}" for warning in assembly.warnings))


def _left(store: JobStore, job_id: int) -> str:
    """Notes of a job that nobody runs it any more, and says how much of it is there."""
    from db.connection.engine import full_disk
    from db.leases import LeaseHeld
    from jobs.execution.held_job import is_away
    from jobs.queue.lifecycle import leave_job
    from sampler.bench.outcome import TrialState

    try:
        with suppress(LeaseHeld, KeyError):  # another's by now, or deleted
            leave_job(store.engine, job_id)
        counts = store.count_trials(job_id)
    except Exception as error:
        if not is_away(error, store.engine):
            raise
        why = full_disk(error, store.engine.url) or "the database does not answer"
        return f"{why}; it keeps what it had of job {job_id}"
    kept = sum(counts.values()) - counts.get(TrialState.LOST, 0)
    return f"{kept} trials of job {job_id} are kept"


def _nothing_to_resume(store: JobStore) -> str:
    there = "there is no job yet"
    for row in store.jobs(limit=1):
        workload = row.specification["workload"]["name"]
        there = f"the newest is job {row.id}, {workload}, {row.state.value}"
    return f"--resume: no job has just these options ({there}); a new one begins"


def _tell(
    job: int, finished: JobOutcome, out: Path, *, db: str | None, as_json: bool, verbose: bool
) -> int:
    from cli.render.outcome_screen import print_outcome
    from jobs.report.artifacts import REFUSED, write_artifacts

    try:
        written = write_artifacts(finished, out)
    except InputError as error:
        mend = "the same command with --resume writes the files"
        raise InputError(error.field, f"{error.problem}, and {mend}") from None
    if as_json:
        print_json(finished.result)
    console = TextConsole(stderr=as_json)
    typed = "--db" if db != os.environ.get("ROCKTUNE_DB") else None
    print_outcome(console, finished.result, job=job, out=out, place=typed, verbose=verbose)
    names = " ".join(path.name for path in written)
    say(console, f"Written to {out}: {names}")
    refused = (finished.result.get("export") or {}).get("refused")
    if refused:
        kept = f"All measurements are kept; the file is {out / REFUSED}"
        leave(f"{refused}. {kept}", Exit.TOOL_FAILED)
    return Exit.DONE if finished.result["best"] else Exit.ANSWER_IS_NO
