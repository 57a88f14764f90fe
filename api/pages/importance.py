"""What matters: the ranking, its tests, how each parameter works, and how sure all that is."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from api.http.problems import ProblemError
from api.pages.job_page import job_page
from api.pages.page import Reader, Visit
from api.services.dependencies import Service, ServiceDep, TunedJobDep
from api.services.fit_queue import FitsDep
from api.services.stored_job import job_ranking
from db.schema.job_row import JobRow, JobState
from jobs.queue.lifecycle import WrongState, is_external
from jobs.views.importance import importance_details as details_of
from jobs.views.importance import importance_view
from sampler.common.errors import InputError

router = APIRouter(include_in_schema=False)


@router.get("/jobs/{job_id}/matters")
async def importance_page(
    visit: Reader,
    service: ServiceDep,
    fits: FitsDep,
    job: TunedJobDep,
    metric: Annotated[str, Query(max_length=200)] = "",
    details: bool = False,
) -> Response:
    """The page; with ``details`` what is learned from the trials one by one stands in it."""
    return await fits.answer(visit.request, lambda: _made(visit, service, job, metric, details))


def _made(visit: Visit, service: Service, job: JobRow, metric: str, details: bool) -> Response:
    found: Mapping[str, Any] | None
    try:
        found, final = job_ranking(service, job)
    except (ProblemError, WrongState):
        found, final = None, False
    if found is not None and metric and metric not in found["forest"]:
        known = ", ".join(found["forest"])
        raise InputError("metric", f"the objective has no {metric!r:.80}; known are {known}")
    told = importance_view(found, metric or None) if found is not None else None
    more = None
    if details and found is not None and told is not None:
        more = details_of(service.engine, job, found, learned=told["learned"])
    return job_page(
        visit,
        "matters.html",
        job=job,
        tab="matters",
        found=told,
        final=final,
        missing=None if told else _missing(job),
        metric=metric,
        details=details,
        more=more,
    )


def _missing(job: JobRow) -> str:
    """What has to come before there is a ranking, and when that is."""
    if job.state is JobState.QUEUED:
        return "The job waits for its turn. It measures its baseline first, then draws."
    if job.state is not JobState.RUNNING:
        return (
            "The job ended before its draws were in. Resumed, it goes on from what it has "
            "measured; the ranking comes with the last draw."
        )
    if is_external(job):
        return "Your own runner measures it: the ranking begins with the first whole measurement."
    now = f"It is in the phase {job.phase.value}" if job.phase else "It has just begun"
    return f"{now}. The ranking comes once its draws are in, before the search begins."
