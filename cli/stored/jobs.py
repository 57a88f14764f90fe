"""`rocktune jobs`, `cancel`, `resume`: which jobs there are, and what becomes of them."""

from typing import Annotated, Any

import typer
from rich.table import Table

from api.schemas.job_schemas import JobPage, JobProgress, JobPublic
from cli.client.client_errors import understood
from cli.client.remote import Remote
from cli.client.where import Db, JobId, Url, opened
from cli.render.progress_screen import best_so_far, ended_of, runs_word, time_left
from cli.render.screen import bare_table, print_json, say, screen

JOBS_EXAMPLES = """
Examples:
  rocktune jobs                                 the newest
  rocktune jobs --url http://bench:8080 --state queued
  rocktune jobs --json --limit 1000             for a program
"""
CANCEL_EXAMPLES = """
Example:
  rocktune cancel 12
"""
RESUME_EXAMPLES = """
Example:
  rocktune resume 12       goes on from what was measured
"""
_PAGE = 1000


def jobs_command(
    state: Annotated[
        str | None, typer.Option(help="Only queued, running, done, failed or cancelled ones.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(help="Only tune, compare, upgrade-check, explain or profile-check ones."),
    ] = None,
    limit: Annotated[int, typer.Option(help="How many at most.", min=1)] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="As the service lists them.")] = False,
    url: Url = None,
    db: Db = None,
) -> None:
    """Lists jobs, newest first."""
    with opened(url, db) as remote:
        documents, listed, following = _list(remote, state, kind, limit)
    if as_json:
        print_json({"jobs": documents, "next": following})
    elif not listed:
        screen(stderr=True).print("no jobs")
    else:
        screen().print(_table(listed))
        if following is not None:
            screen(stderr=True).print("There may be older ones: --limit shows more.")


def _list(
    remote: Remote, state: str | None, kind: str | None, limit: int
) -> tuple[list[Any], list[JobProgress], int | None]:
    """Jobs as documents and as rows, and where the next page begins."""
    documents: list[Any] = []
    rows: list[JobProgress] = []
    after: int | None = None
    while True:
        asked = min(limit - len(rows), _PAGE)
        document = remote.get("jobs", state=state, kind=kind, limit=asked, after=after)
        page = understood(JobPage, document)
        documents += document["jobs"]
        rows += page.jobs
        after = page.next
        if after is None or not page.jobs or len(rows) >= limit:
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
            ended_of(job),
            best_so_far(job).removeprefix("best ") if job.best else "",
            time_left(job),
        )
    return table


def cancel_command(job_id: JobId, url: Url = None, db: Db = None) -> None:
    """Ends a job. The benchmark is stopped within two seconds; what was measured is kept."""
    _change("cancel", job_id, url, db, f"`rocktune resume {job_id}` goes on with it")


def resume_command(job_id: JobId, url: Url = None, db: Db = None) -> None:
    """Lets a failed or cancelled job go on from what it has measured."""
    _change("resume", job_id, url, db, f"Watch it with: rocktune show {job_id}")


def _change(what: str, job_id: int, url: str | None, db: str | None, then: str) -> None:
    with opened(url, db) as remote:
        job = understood(JobPublic, remote.post(f"jobs/{job_id}/{what}"))
    kept = f"job {job.id} is {job.state.value}; {ended_of(job)} {runs_word(job)} are kept"
    say(screen(), kept, then)
