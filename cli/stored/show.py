"""`rocktune show`: a job, as it goes or as it stands, and what it found."""

import sys
from typing import Annotated, Any

import typer

from api.schemas.job_schemas import JobPublic
from cli.client.client_errors import not_understood, understanding
from cli.client.following import follow, job_of, patiently, terminated_like_interrupted
from cli.client.remote import Remote
from cli.client.where import Db, JobId, Url, opened
from cli.options.exits import Exit, complain
from cli.render.outcome_screen import print_outcome
from cli.render.progress_screen import JobView, limits_line, progress_line, situation
from cli.render.screen import TextConsole, print_json, say, screen
from db.schema.job_row import JobKind
from sampler.common.untrusted_text import cleaned

EXAMPLES = """
Examples:
  rocktune show 12                     on a terminal until it ends, live
  rocktune show 12 --no-follow         as it stands
  rocktune show 12 --follow --json     waits, then all of it as JSON
"""


def show_command(
    job_id: JobId,
    follow: Annotated[
        bool | None,
        typer.Option(
            "--follow/--no-follow",
            help="Until it ends; without either, on a terminal.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="The job's document, with its result once it has one.")
    ] = False,
    url: Url = None,
    db: Db = None,
) -> int:
    """Shows a job: its phase and why, how far it is, and what it found.

    Ctrl-C ends the showing and leaves the job alone.

    Exit status: 0 shown, or better options were found; 3 nothing better
    was found, or an experiment answers no; 1 the job failed; 130 it was
    cancelled, or the showing was interrupted; 2 bad input.
    """
    with opened(url, db) as remote:
        wanted = sys.stdout.isatty() and not as_json if follow is None else follow
        return print_job(remote, job_id, follow=wanted, as_json=as_json)


def print_job(remote: Remote, job_id: int, *, follow: bool, as_json: bool) -> int:
    """Shows a job to its end, or once."""
    job, document = job_of(remote, job_id)  # where this fails, nothing is waited for
    result: dict[str, Any] | None = None
    if follow:
        try:
            with terminated_like_interrupted():
                job, document, result = _followed(remote, job_id)
        except KeyboardInterrupt:
            complain(f"job {job_id} goes on by itself; `rocktune show {job_id}` shows it again")
            return Exit.INTERRUPTED
    else:
        result = _result(remote, job)
    if as_json:
        print_json({**document, "result": result})
    else:
        if not follow:
            _print_picture(job)
        if result is not None:
            with understanding():
                _print_result(job, result)
    return _status(job, result)


def _followed(
    remote: Remote, job_id: int
) -> tuple[JobPublic, dict[str, Any], dict[str, Any] | None]:
    with JobView(screen(stderr=True)) as view:
        job, document = follow(remote, job_id, view)
        return job, document, patiently(lambda: _result(remote, job), view)


def _result(remote: Remote, job: JobPublic) -> dict[str, Any] | None:
    if job.state.value != "done":
        return None
    result = remote.get(f"jobs/{job.id}/result")
    if not isinstance(result, dict) or (job.kind is JobKind.TUNE and "best" not in result):
        raise not_understood()
    return result


def _print_result(job: JobPublic, result: dict[str, Any]) -> None:
    if job.kind is JobKind.TUNE:
        print_outcome(TextConsole(), result)
    else:
        from cli.render.experiment_screen import show_told

        show_told(screen(), job.kind, cleaned(result))


def _print_picture(job: JobPublic) -> None:
    names = f"{job.workload}, space {job.space}, objective {job.objective}, {job.strategy}"
    if job.title is not None:
        names = f"{job.kind}: {job.title}, {job.workload}"
    with understanding():
        limits = limits_line(job)
    lines = [f"job {job.id}: {names}", limits, situation(job), progress_line(job)]
    say(screen(), *filter(None, lines))


def _status(job: JobPublic, result: dict[str, Any] | None) -> int:
    if job.state.value == "done" and job.kind is not JobKind.TUNE:
        from jobs.experiments.told import told_of

        with understanding():
            return Exit.DONE if told_of(job.kind, result or {}).well else Exit.ANSWER_IS_NO
    if job.state.value == "done":
        return Exit.DONE if result and result["best"] else Exit.ANSWER_IS_NO
    return {"failed": Exit.TOOL_FAILED, "cancelled": Exit.INTERRUPTED}.get(
        job.state.value, Exit.DONE
    )
