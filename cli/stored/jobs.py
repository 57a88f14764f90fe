"""`rocktune submit`, `jobs`, `show`, `cancel`, `resume`: jobs from the request to the result."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, TypeVar

from rich.table import Table
from typer import Option

from api.schemas.job_schemas import JobPage, JobProgress, JobPublic
from cli.client.client_errors import (
    NotFoundError,
    UnavailableError,
    not_understood,
    understanding,
    understood,
)
from cli.client.remote import JobId, Remote, Url, asking, opened, require_json, require_service
from cli.options.exits import Exit, interruptible, leave
from cli.options.job_options import job_options
from cli.render.screen import (
    JobView,
    TextConsole,
    Verbose,
    bare_table,
    best_so_far,
    how_far,
    json_alone,
    print_json,
    say,
    screen,
    situation,
    time_left,
)
from cli.render.submitting import Replace, show_submitted, submitted
from db.schema.job_row import ENDED, JobKind
from jobs.specification.named_files import inlined
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.common.text import cleaned

JOBS_EXAMPLES = """
Examples:
  rocktune jobs                                 the newest 20
  rocktune jobs --url http://bench:8080 --state queued
  rocktune jobs --json --limit 1000             for a program
"""
CANCEL_EXAMPLES = """
Example:
  rocktune cancel 12
"""
RESUME_EXAMPLES = """
Example:
  rocktune resume 12       continues with the trials that are left
"""
_PAGE = 1000
_ROUND_SECONDS = 1.0
_PATIENCE_SECONDS = 600.0
_Answer = TypeVar("_Answer")


@asking()
def jobs_command(
    remote: Remote,
    state: Annotated[
        str | None, Option(help="State: queued, running, done, failed or cancelled. Default: all.")
    ] = None,
    kind: Annotated[
        str | None,
        Option(help="Kind: tune, compare, upgrade-check, explain or profile-check. Default: all."),
    ] = None,
    limit: Annotated[int, Option(help="Maximum number of jobs.", min=1)] = 20,
    as_json: Annotated[bool, Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """Lists jobs, newest first."""
    documents, listed, following = _list(remote, state, kind, limit)
    if as_json:
        print_json({"jobs": documents, "next": following})
    elif not listed:
        screen(stderr=True).print("no jobs")
    else:
        screen().print(_table(listed))
        if following is not None:
            screen(stderr=True).print("There may be older jobs; use --limit to show more.")


def _list(
    remote: Remote, state: str | None, kind: str | None, limit: int
) -> tuple[list[Any], list[JobProgress], int | None]:
    """Jobs as documents and as rows, and where the next page begins."""
    documents: list[Any] = []
    rows: list[JobProgress] = []
    after: int | None = None
    while len(rows) < limit:
        asked = {"state": state, "kind": kind, "after": after}
        page, document = remote.told(JobPage, "jobs", limit=min(limit - len(rows), _PAGE), **asked)
        documents += document["jobs"]
        rows += page.jobs
        after = page.next
        if after is None or not page.jobs:
            break
    return documents, rows, after


def _table(listed: list[JobProgress]) -> Table:
    words = ("kind", "state", "phase", "workload", "objective")
    table = bare_table((), ("job",), words, ("trials",), ("best so far",), ("left",))
    for job in listed:
        running = job.state.value == "running"
        table.add_row(
            str(job.id),
            job.kind.value,
            job.state.value,
            job.phase if running and job.phase else "",
            job.workload,
            job.objective or job.title,
            how_far(job).ended,
            best_so_far(job).removeprefix("best ") if job.best else "",
            time_left(job),
        )
    return table


@asking()
def cancel_command(remote: Remote, job_id: JobId) -> None:
    """Cancels a job and keeps its measurements. The benchmark stops within 2 s."""
    _change(remote, "cancel", job_id, f"Continue it with: rocktune resume {job_id}")


@asking()
def resume_command(remote: Remote, job_id: JobId) -> None:
    """Resumes a failed or cancelled job. Its measurements are kept."""
    _change(remote, "resume", job_id, f"Watch it with: rocktune show {job_id}")


def _change(remote: Remote, what: str, job_id: int, then: str) -> None:
    job = understood(JobPublic, remote.post(f"jobs/{job_id}/{what}"))
    far = how_far(job)
    kept = f"job {job.id} is {job.state.value}; {far.ended} {far.what} are kept"
    say(screen(), kept, then)


SHOW_EXAMPLES = """
Examples:
  rocktune show 12                     on a terminal: follows the job to its end
  rocktune show 12 --no-follow         the current state
  rocktune show 12 --follow --json     waits for the end, then prints JSON
  rocktune show 12 --markdown          the result as Markdown, for a ticket
"""


@asking()
def show_command(
    remote: Remote,
    job_id: JobId,
    follow: Annotated[
        bool | None,
        Option(
            "--follow/--no-follow",
            help="Follow the job to its end. Default: on a terminal, without --json.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool, Option("--json", help="Print the job as JSON, with its result if there is one.")
    ] = False,
    verbose: Verbose = False,
    markdown: Annotated[
        bool, Option("--markdown", help="Print the result as Markdown, with its tables.")
    ] = False,
) -> int:
    """Shows a job: its phase, progress and result.

    Ctrl-C ends the display, not the job.

    Exit status: 0 shown, or a better configuration was proven; 3 nothing was
    proven, or the answer of an experiment is no; 1 the job failed; 130 the job
    was cancelled, or the display was interrupted; 2 bad input.
    """
    whole = as_json or markdown
    wanted = sys.stdout.isatty() and not whole if follow is None else follow
    if as_json and markdown:
        raise InputError("--markdown", "cannot be combined with --json")
    return print_job(
        remote, job_id, follow=wanted, as_json=as_json, verbose=verbose, markdown=markdown
    )


def _told(remote: Remote, job_id: int) -> tuple[JobPublic, dict[str, Any]]:
    return remote.told(JobPublic, f"jobs/{job_id}")


@contextmanager
def answer_may_be_no(remote: Remote, job_id: int, why: str | None = None) -> Iterator[None]:
    """Within, that a finished job has not what is asked for ends the command with its reason.

    That there is no such job stays a NotFoundError.
    """
    try:
        yield
    except NotFoundError as none:
        if _told(remote, job_id)[0].state.value != "done":
            raise
        leave(why or none.problem)


def print_job(
    remote: Remote,
    job_id: int,
    *,
    follow: bool,
    as_json: bool,
    verbose: bool = False,
    markdown: bool = False,
) -> int:
    """Shows a job to its end, or once."""
    job, document = _told(remote, job_id)  # where this fails, nothing is waited for
    if follow:
        again = f"`rocktune show {job_id}` shows it again"
        with (
            interruptible(f"job {job_id} continues; {again}"),
            JobView(screen(stderr=True)) as view,
        ):
            while True:
                job, document = _patiently(lambda: _told(remote, job_id), view)
                view.show(job)
                if job.state in ENDED:
                    break
                time.sleep(_ROUND_SECONDS)
            result = _patiently(lambda: _result(remote, job), view)
    else:
        result = _result(remote, job)
    if as_json:
        print_json({**document, "result": result})
        return _status(job, result)
    if markdown and result is not None:
        with understanding():
            sys.stdout.write(f"{_markdown(job, cleaned(result))}\n")
        return _status(job, result)
    if not follow:
        _print_picture(job)
    if result is not None:
        from cli.render.outcome_screen import print_outcome, show_told

        with understanding():
            if job.kind is JobKind.TUNE:
                print_outcome(
                    TextConsole(), result, job=job_id, place=remote.typed, verbose=verbose
                )
            else:
                show_told(screen(), job.kind, cleaned(result))
    return _status(job, result)


def _markdown(job: JobPublic, result: dict[str, Any]) -> str:
    from jobs.report.section import markdown_text

    title = f"Job {job.id}: {job.workload}"
    if job.kind is JobKind.TUNE:
        from jobs.report.ranking import ranking_sections
        from jobs.report.sections import sections
        from optimizer.results.document import Result

        found = Result.read(result)
        return markdown_text(
            title, [*sections(found, job=job.id).values(), *ranking_sections(found)]
        )
    from jobs.experiments.told import told_of
    from jobs.report.section import Section, Text

    told = told_of(job.kind, result)
    lines = [Text(line) for line in (told.note, *told.lines) if line]
    return markdown_text(title, [Section("told", "Result", [*told.tables, *lines])])


def _patiently(ask: Callable[[], _Answer], view: JobView) -> _Answer:
    """The answer, also over a service that restarts; an UnavailableError after ten minutes."""
    since: float | None = None
    while True:
        try:
            answer = ask()
        except UnavailableError as error:
            now = time.monotonic()
            if since is None:
                since = now
                view.note(f"{error}; trying again (the job is not affected)")
            elif now - since > _PATIENCE_SECONDS:
                raise
            time.sleep(_ROUND_SECONDS)
        else:
            if since is not None:
                view.note("the service answers again")
            return answer


def _result(remote: Remote, job: JobPublic) -> dict[str, Any] | None:
    if job.state.value != "done":
        return None
    result = remote.get(f"jobs/{job.id}/result")
    if not isinstance(result, dict) or (job.kind is JobKind.TUNE and "best" not in result):
        raise not_understood()
    return result


def _print_picture(job: JobPublic) -> None:
    from optimizer.objective.objective import limit_words
    from optimizer.objective.objective_file import limits_asked

    names = f"{job.workload}, space {job.space}, objective {job.objective}, {job.strategy}"
    if job.title is not None:
        names = f"{job.kind}: {job.title}, {job.workload}"
    with understanding():
        asked = job.specification.get("objective", {})  # of an older service it may not be told
        limits = [limit_words(limit) for limit in limits_asked(asked)]
    kept = [f"limits: {'; '.join(limits)}"] if limits else []
    say(screen(), f"job {job.id}: {names}", *kept, situation(job), how_far(job).line)


def _status(job: JobPublic, result: dict[str, Any] | None) -> int:
    if job.state.value != "done":
        ended = {"failed": Exit.TOOL_FAILED, "cancelled": Exit.INTERRUPTED}
        return ended.get(job.state.value, Exit.DONE)
    well = bool(result and result.get("best"))
    if job.kind is not JobKind.TUNE:
        from jobs.experiments.told import told_of

        with understanding():
            well = told_of(job.kind, result or {}).well
    return Exit.DONE if well else Exit.ANSWER_IS_NO


SUBMIT_EXAMPLES = """
Examples:
  export ROCKTUNE_URL=http://bench:8080 ROCKTUNE_TOKEN=...
  rocktune submit --workload load --trials 400     prints the job's number
  rocktune submit --space mine.toml --watch        follows the job to its end
  rocktune submit --workload my-db.toml            uploads the workload
  rocktune submit --baseline /etc/my/OPTIONS       your OPTIONS file as the baseline
"""


@job_options(at_a_service=True)
def submit_command(
    asked: Mapping[str, Any],
    watch: Annotated[bool, Option("--watch", help="Follow the job to its end.")] = False,
    replace: Replace = False,
    as_json: Annotated[bool, json_alone("the job as JSON")] = False,
    url: Url = None,
) -> int:
    """Submits a tuning job to a service, and prints the job's number.

    For other jobs give --submit to `compare`, `upgrade-check`, `explain` or `profile`.

    Exit status: 0 submitted, 2 bad input, 1 the service failed or cannot be
    reached; with --watch that of `rocktune show`.
    """
    require_service(url)
    found: list[InputError] = []
    body: dict[str, Any] = {}
    with noting(found):
        body = inlined(asked)
    for name, value in {**asked, **body}.items():
        with noting(found):
            require_json(name, value)
    refuse_noted(found)
    with opened(url, None) as remote:
        with remote.unless_refused():
            named = None
            if isinstance(body.get("workload"), dict):
                named = body["workload"] = remote.upload(body["workload"], replace=replace)
            job, document = submitted(remote, body)
        if named is not None:
            say(screen(stderr=True), f"uploaded your file as workload {named}")
        if watch:
            say(screen(stderr=as_json), f"job {job.id} is {job.state}: {job.why}")
            return print_job(remote, job.id, follow=True, as_json=as_json)
    return show_submitted(job, document, as_json=as_json)
