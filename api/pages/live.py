"""A job as it goes on: its phase and why, what it has found so far, and what it runs on."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Response

from api.pages.hosts import environment_shown
from api.pages.job_page import job_page
from api.pages.page import Reader
from api.routes.events import event_id
from api.services.dependencies import JobDep, Service, ServiceDep
from db.schema.job_row import JobRow, JobState
from jobs.results.outcome import options_of
from jobs.views.live import live_job

router = APIRouter(include_in_schema=False)


@router.get("/jobs/{job_id}")
def live_page(visit: Reader, service: ServiceDep, job: JobDep) -> Response:
    """The page as the job stands now; its script keeps it so."""
    found = live_job(service.engine, job)
    return job_page(
        visit,
        "live.html",
        job=job,
        tab="",
        found=found,
        seen=event_id(found.latest[0].trial) if found.latest else None,
        outcome=_outcome(service, job),
        environment=environment_shown(job.environment or {}),
    )


def _outcome(service: Service, job: JobRow) -> Mapping[str, Any] | None:
    """What was proven, of a job that is done."""
    if job.state is not JobState.DONE:
        return None
    result = service.store.result(job.id) or {}
    return {
        "best": result.get("best"),
        "verdict": result.get("verdict"),
        "metrics": [term["name"] for term in job.specification["objective"]["metric"]],
        "options": options_of(service.engine, job.id) is not None,
    }
