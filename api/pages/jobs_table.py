"""All jobs: filtered, searched, sorted and paged on the server."""

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BeforeValidator

from api.pages.page import Reader
from api.pages.sorted_table import head, table_address, unless_empty
from api.routes.jobs import After, Search
from api.services.dependencies import ServiceDep
from api.services.listings import page_of_jobs
from db.jobs.job_list import JobOrder, count_by_state
from db.schema.job_row import JobState

router = APIRouter(include_in_schema=False)
_ROWS = 50
_USUAL = {"sort": JobOrder.NEWEST.value}
_COLUMNS = {
    "Job": (JobOrder.NEWEST, JobOrder.OLDEST),
    "State": (JobOrder.STATE, JobOrder.STATE_BACKWARDS),
    "Workload": (JobOrder.WORKLOAD, JobOrder.WORKLOAD_BACKWARDS),
    "Progress": None,
    "Best so far": (JobOrder.BEST, JobOrder.WORST),
    "Time left": None,
    "Changed": (JobOrder.CHANGED, JobOrder.UNCHANGED),
}


@router.get("/")
def jobs_table(
    visit: Reader,
    service: ServiceDep,
    state: Annotated[JobState | None, BeforeValidator(unless_empty)] = None,
    search: Search = "",
    sort: JobOrder = JobOrder.NEWEST,
    after: After = None,
) -> Response:
    """The table, a page at a time; all that is asked for is in the address."""
    found = page_of_jobs(
        service.engine, limit=_ROWS, after=after, state=state, search=search, order=sort
    )
    counts = count_by_state(service.engine)

    def at(**changed: object) -> str:
        return table_address(
            "/", {"state": state, "search": search, "sort": sort, **changed}, _USUAL
        )

    return visit.page(
        "jobs.html",
        jobs=found.jobs,
        columns=[
            head(name, orders, sort, lambda order: at(sort=order))
            for name, orders in _COLUMNS.items()
        ],
        first=at() if after is not None else None,
        following=at(after=found.next) if found.next is not None else None,
        state=state,
        states=[(each.value, counts.get(each, 0)) for each in JobState],
        total=sum(counts.values()),
        search=search,
        sort=sort,
        live=any(job.state in (JobState.QUEUED, JobState.RUNNING) for job in found.jobs),
    )
