"""Many jobs of one file, one after another: `rocktune batch`, and `rocktune check` for a CI."""

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from sqlalchemy import Engine
from typer import Argument, Option

from cli.options.connections import Certificates, Db, Migrate, Scheduler, backend_of, open_database
from cli.options.exits import Exit, complain, leave, terminate_like_interrupt
from cli.render.outcome_screen import batch_table
from cli.render.screen import TextConsole, json_alone, print_json, say, screen, told_on_change
from cli.tuning.tune import run_here, tell_warnings
from db.connection.engine import url_of_database
from db.schema.job_row import LIVE, JobRow, JobState
from jobs.batch.batch_plan import BATCH_RESULT, BatchPlan, findings_of, read_batch
from jobs.batch.batch_run import (
    BatchHeld,
    BatchTurn,
    TurnLost,
    interrupt_batch,
    open_batch,
    run_batch,
)
from jobs.execution.assembly import ExecutionBackend
from jobs.regression.detection import regressions_of_batch
from jobs.regression.report import checks_of_night, junit_text, markdown_text
from jobs.report.artifacts import write_artifacts
from jobs.results.outcome import job_outcome
from jobs.results.output_folder import REPORT, require_folder
from jobs.specification.specification import (
    Specification,
    on_fitting_build,
    specification_from_document,
)
from sampler.bench.builds import installed_versions
from sampler.bench.settings import Settings, load_settings
from sampler.common.atomic_write import make_private_folder, write_output
from sampler.common.errors import InputError, refuse_noted

EXAMPLES = """
Examples:
  rocktune batch nightly.toml                        runs all jobs once, now
  rocktune batch nightly.toml --resume               continues an interrupted batch
  rocktune batch nightly.toml --json > batch.json    for a program

The file: name = "nightly", then workloads = ["load-quick"], spaces = ["default", "paper"] and any
option of `rocktune tune`, as trials = 96. Or one [\\[job]] for each job, with its own options.
"""
CHECK_EXAMPLES = """
Examples:
  rocktune check nightly.toml --db nights.db --junit junit.xml --markdown summary.md
  rocktune check nightly.toml --db postgresql://me@host/rocktune --resume

Earlier nights are read from the database (--db): keep it between runs. Workflows for GitHub and
GitLab: deploy/ci.
"""
BatchFile = Annotated[Path, Argument(metavar="FILE", help="Batch file, such as nightly.toml.")]
Out = Annotated[Path, Option(help="Folder for batch.json and a folder for each job.")]
Resume = Annotated[bool, Option("--resume", help="Continue the newest unfinished batch of FILE.")]
OUT = Path("rocktune-batch")
Judged = Callable[[Engine, Mapping[str, Any]], int]
"""The exit status of a batch whose jobs have ended, by its document."""


def batch_command(
    file: BatchFile,
    scheduler: Scheduler = None,
    certificates: Certificates = None,
    db: Db = None,
    migrate: Migrate = False,
    out: Out = OUT,
    resume: Resume = False,
    as_json: Annotated[bool, json_alone("batch.json")] = False,
) -> int:
    """Runs the jobs of a batch file, one after another, here or on a cluster.

    Exit status: 0 all jobs succeeded, whether or not they found anything
    better; 1 a job failed or its files could not be written (the others
    still ran), or the batch is running already; 2 bad input, before any
    run; 130 interrupted (continue with --resume).
    """
    plan = read_batch(file, complain, _fit(scheduler))
    return _run_plan(plan, scheduler, certificates, db, migrate, out, resume, as_json)


def _fit(scheduler: str | None) -> Callable[[Specification], Specification]:
    """Chooses a job's build among those of this machine; on a cluster its hosts have theirs."""
    if scheduler is not None:
        return lambda asked: asked
    builds = cache(lambda: installed_versions(load_settings()))
    return lambda asked: on_fitting_build(asked, builds)


def check_command(
    file: BatchFile,
    junit: Annotated[
        Path | None, Option(help="JUnit XML file to write: a suite per job, a case per metric.")
    ] = None,
    markdown: Annotated[Path | None, Option(help="Markdown summary to write.")] = None,
    scheduler: Scheduler = None,
    certificates: Certificates = None,
    db: Db = None,
    migrate: Migrate = False,
    out: Out = OUT,
    resume: Resume = False,
) -> int:
    """Runs a batch for CI; exits with 3 on a regression against earlier nights.

    Exit status: 0 no regression; 3 a regression, whatever else failed; 1 a job
    failed, a report could not be written, or the batch could not be run or
    compared; 2 bad input, before any run; 130 interrupted (continue with
    --resume).
    """
    plan = read_batch(file, complain, _fit(scheduler))
    given = {"--junit": junit, "--markdown": markdown}
    reports = {field: path for field, path in given.items() if path is not None}
    taken, database = {file.resolve(): "FILE"}, url_of_database(db)
    if database.get_backend_name() == "sqlite":
        taken[Path(str(database.database)).resolve()] = "the database"
    for field, path in reports.items():
        if (other := taken.setdefault(path.resolve(), field)) != field:
            raise InputError(field, f"{str(path)!r} is also {other}; name another file")
    for field, path in reports.items():
        # Before hours are spent; and no report of another night stays.
        write_output(path, b"", field=field)
        path.resolve().unlink()

    def judged(engine: Engine, document: Mapping[str, Any]) -> int:
        watch = regressions_of_batch(engine, document["name"])
        assert watch is not None  # this night is one
        suites = checks_of_night(document, watch)
        texts = {
            "--junit": junit_text(document, suites),
            "--markdown": markdown_text(document, watch, suites),
        }
        written = [_written(path, texts[field], field) for field, path in reports.items()]
        if watch.worsened:
            return Exit.ANSWER_IS_NO
        return Exit.DONE if all(written) else Exit.TOOL_FAILED

    return _run_plan(plan, scheduler, certificates, db, migrate, out, resume, judged=judged)


@dataclass(frozen=True)
class _Here:
    """What all jobs of the batch share."""

    engine: Engine
    settings: Settings
    backend: ExecutionBackend
    turn: BatchTurn
    out: Path
    console: Console


def _run_plan(
    plan: BatchPlan,
    scheduler: str | None,
    certificates: Path | None,
    db: str | None,
    migrate: bool,
    out: Path,
    resume: bool,
    as_json: bool = False,
    judged: Judged = lambda *_: Exit.DONE,
) -> int:
    settings, console = load_settings(), TextConsole(stderr=True, highlight=False)
    require_folder(out)
    with open_database(db, migrate=migrate, make=True) as engine:
        try:
            turn = BatchTurn(engine, plan.name)
            try:
                with closing(backend_of(scheduler, certificates, settings)) as backend:
                    here = _Here(engine, settings, backend, turn, out, console)
                    document, failed = _run(here, plan, resume=resume)
                    well = _tell(document, out, as_json=as_json)
                    status = judged(engine, document)
                    well = well and not failed
                    return Exit.TOOL_FAILED if status == Exit.DONE and not well else status
            finally:
                turn.give_back()
        except BatchHeld as held:
            leave(f"{held}; it cannot be started twice", Exit.TOOL_FAILED)


def _run(here: _Here, plan: BatchPlan, *, resume: bool) -> tuple[Mapping[str, Any], list[str]]:
    """The batch's document, and the items that failed."""
    console = here.console
    _check(plan, here)
    opened = open_batch(here.engine, plan, resume=resume)
    batch_id = opened.row.id
    for older in opened.given_up:
        console.print(f"batch {older} was interrupted and is abandoned; see --resume")
    how = "continues" if opened.resumed else "starts"
    many = len(plan.items)
    say(console, f"batch {batch_id} ({plan.name}) {how}: {many} jobs, results in {here.out}")
    failed: list[str] = []

    def told_failed(item: str, why: str) -> None:
        failed.append(item)
        complain(f"{item}: {why}")

    terminate_like_interrupt()
    try:
        return run_batch(
            here.engine,
            batch_id,
            partial(_run_one, here),
            failed=told_failed,
            waiting=told_on_change(console, "waiting: {}"),
        ), failed
    except TurnLost as lost:
        leave(str(lost), Exit.TOOL_FAILED)
    except KeyboardInterrupt:
        interrupt_batch(here.engine, batch_id)
        kept = f"batch {batch_id} is kept. Continue with the same command and --resume"
        leave(f"interrupted; {kept}", Exit.INTERRUPTED)


def _check(plan: BatchPlan, here: _Here) -> None:
    """Checks every job against where it is measured, before the first begins."""
    found: list[InputError] = []
    for item in plan.items:
        try:
            assert isinstance(item.specification, Specification)  # a file has no others here
            here.backend.assemble(
                item.specification, told=here.console.print, check=here.turn.check
            )
        except InputError as error:
            found += findings_of(item.name, error)
    refuse_noted(found)


def _run_one(here: _Here, item: str, row: JobRow) -> None:
    folder, console = here.out / item, here.console
    if row.state is JobState.DONE:
        # Killed just after it had ended, its files may be missing; the report is the last.
        if not (folder / REPORT).exists():
            make_private_folder(folder, exist_ok=True)
            write_artifacts(job_outcome(here.engine, row.id), folder)
        console.print(f"{item}: job {row.id} is done")
        return
    specification = specification_from_document(row.specification)
    # Anew: hours after all were checked an upgrade may have brought another RocksDB.
    assembly = here.backend.assemble(specification, told=console.print, check=here.turn.check)
    say(console, f"{item}: job {row.id}")
    tell_warnings(console, assembly)
    make_private_folder(folder, exist_ok=True)
    finished = run_here(
        here.engine, row.id, specification, assembly, here.settings,
        console=console, check=here.turn.check, expected=tuple(LIVE), backend=here.backend,
    )  # fmt: skip
    write_artifacts(finished, folder)


def _tell(document: Mapping[str, Any], out: Path, *, as_json: bool) -> bool:
    """Writes batch.json and prints the table; whether all jobs ended well, whatever they found."""
    text = json.dumps(document, indent=1, allow_nan=False) + "\n"
    written = _written(out / BATCH_RESULT, text, "--out")
    if as_json:
        print_json(document)
    console = screen(stderr=as_json)
    console.print(batch_table(document))
    say(console, *(document.get("watch") or {}).get("lines", ()))
    where = f" Written to {out}." if written else ""
    say(console, f"Batch {document['batch']}: {document['why']}.{where}")
    return written and bool(document["state"] == "done")


def _written(path: Path, text: str, field: str) -> bool:
    """Writes what tells of a batch that was run; that it cannot be written hides nothing else."""
    try:
        write_output(path, text.encode(), field=field)
    except InputError as error:
        complain(str(error))
        return False
    return True
