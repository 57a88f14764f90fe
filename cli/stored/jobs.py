"""`rocktune jobs`, `cancel`, `resume`: which jobs there are, and what becomes of them."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from api.schemas.job_schemas import JobPage, JobProgress, JobPublic
from cli.client.client_errors import understood
from cli.client.remote import Remote
from cli.client.where import Db, JobId, Url, opened
from cli.options.exits import Exit
from cli.render.progress_screen import best_so_far, ended_of, time_left
from cli.render.screen import bare_table, print_json, screen

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
    limit: Annotated[int, typer.Option(help="How many at most.", min=1)] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="As the service lists them.")] = False,
    url: Url = None,
    db: Db = None,
) -> int:
    """Lists jobs, newest first."""
    with opened(url, db) as remote:
        documents, listed, following = _list(remote, state, limit)
    if as_json:
        page = {"jobs": documents, "next": following}
        print_json(page)
        return Exit.DONE
    if not listed:
        screen(stderr=True).print("no jobs")
        return Exit.DONE
    screen().print(_table(listed))
    if following is not None:
        screen(stderr=True).print("There may be older ones: --limit shows more.")
    return Exit.DONE


def _list(
    remote: Remote, state: str | None, limit: int
) -> tuple[list[Any], list[JobProgress], int | None]:
    """Jobs as documents and as rows, and where the next page begins."""
    documents: list[Any] = []
    rows: list[JobProgress] = []
    after: int | None = None
    while True:
        asked = min(limit - len(rows), _PAGE)
        document = remote.get("jobs", state=state, limit=asked, after=after)
        page = understood(JobPage, document)
        documents += document["jobs"]
        rows += page.jobs
        after = page.next
        if after is None or not page.jobs or len(rows) >= limit:
            return documents, rows, after


def _table(listed: list[JobProgress]) -> Table:
    table = bare_table(right=("job",))
    for title in ("state", "phase", "workload", "objective"):
        table.add_column(title)
    table.add_column("trials", justify="right")
    table.add_column("best so far")
    table.add_column("left", justify="right")
    for job in listed:
        running = job.state.value == "running"
        table.add_row(
            str(job.id),
            job.state.value,
            job.phase if running and job.phase else "",
            job.workload,
            job.objective,
            ended_of(job),
            best_so_far(job).removeprefix("best ") if job.best else "",
            time_left(job),
        )
    return table


def cancel_command(job_id: JobId, url: Url = None, db: Db = None) -> int:
    """Ends a job. The benchmark is stopped within two seconds; what was measured is kept."""
    return _change("cancel", job_id, url, db, f"`rocktune resume {job_id}` goes on with it")


def resume_command(job_id: JobId, url: Url = None, db: Db = None) -> int:
    """Lets a failed or cancelled job go on from what it has measured."""
    return _change("resume", job_id, url, db, f"Watch it with: rocktune show {job_id}")


def _change(what: str, job_id: int, url: str | None, db: str | None, then: str) -> int:
    with opened(url, db) as remote:
        job = understood(JobPublic, remote.post(f"jobs/{job_id}/{what}"))
    console = screen()
    console.print(
        f"job {job.id} is {job.state.value}; {ended_of(job)} trials are kept", soft_wrap=True
    )
    console.print(then, soft_wrap=True)
    return Exit.DONE
