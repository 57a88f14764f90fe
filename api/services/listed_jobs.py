"""A page of the list of jobs, for the interface and for the dashboard alike."""

from __future__ import annotations

from sqlalchemy import Engine

from api.schemas.job_schemas import JobPage, JobProgress
from db.jobs.job_list import JobOrder, list_jobs
from db.schema.job_row import JobState
from db.schema.types import safe_text
from sampler.common.errors import InputError


def page_of_jobs(
    engine: Engine,
    *,
    limit: int,
    after: int | None = None,
    state: JobState | None = None,
    search: str = "",
    order: JobOrder = JobOrder.NEWEST,
) -> JobPage:
    """A page of the jobs that are asked for; the arguments are those of ``db.jobs.job_list``.

    Raises:
        InputError: Where the page begins is no job any more, or the text to search is none.
    """
    if safe_text(search) != search:
        raise InputError("search", "holds characters that are no text")
    try:
        rows = list_jobs(engine, limit=limit, after=after, state=state, search=search, order=order)
    except KeyError:
        raise InputError("after", f"there is no job {after} any more; begin anew") from None
    following = rows[-1].id if len(rows) == limit else None
    return JobPage(jobs=[JobProgress.of(row) for row in rows], next=following)
