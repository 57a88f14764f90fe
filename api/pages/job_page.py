"""A job: what every page of it shows, its actions, and the first page, on which it goes on."""

from collections.abc import Mapping
from typing import Any, Literal

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from api.auth.security import FormDep, GuardedRoute
from api.pages.page import Administrator, Reader, Submitter, Visit
from api.routes import jobs
from api.routes.jobs import event_id
from api.schemas.job_schemas import JobPublic
from api.services.dependencies import JobDep, Service
from api.services.stored_job import result_if_done
from db.schema.job_row import ENDED, JobKind, JobRow, JobState
from db.workloads import find_workload
from jobs.report.course import environment_section
from jobs.results.outcome import kept_of
from jobs.views.live import live_job
from jobs.views.results import outcome_view
from optimizer.results.document import Result

# The end of the address, and what the tab is called. A tab is listed once its page is there.
TABS = {"": "Overview", "matters": "Importance", "won": "Result", "trials": "Trials"}


def job_page(
    visit: Visit, template: str, *, job: JobRow, tab: str, status: int = 200, **content: Any
) -> HTMLResponse:
    """A page of a job: a template that extends ``job.html`` and fills its block ``tab``.

    The template knows ``job``, an ``api.schemas.job_schemas.JobPublic``, beside its content.
    """
    tabs = TABS if job.kind is JobKind.TUNE else {}
    return visit.page(
        template,
        status=status,
        job=JobPublic.of(job),
        tabs=[(f"/jobs/{job.id}{'/' if end else ''}{end}", TABS[end], end == tab) for end in tabs],
        workload=_workload(visit.service, job),
        environment=environment_section(job.environment or {}),
        live=job.state not in ENDED,
        resumable=job.state in (JobState.FAILED, JobState.CANCELLED),
        **content,
    )


def _workload(service: Service, job: JobRow) -> Literal["profiled", "known"] | None:
    """Whether the workload has a page, and on it the profile of a database."""
    if job.kind is not JobKind.TUNE:  # it may have several
        return None
    name = job.specification["workload"]["name"]
    if name in service.registered:
        return "known"
    sent = find_workload(service.engine, name)
    return None if sent is None else "profiled" if sent.profile else "known"


router = APIRouter(include_in_schema=False, route_class=GuardedRoute)


@router.get("/jobs/{job_id}")
def live_page(visit: Reader, job: JobDep) -> Response:
    """The page as the job stands now; its script keeps it so."""
    result = result_if_done(visit.service, job)
    if job.kind is not JobKind.TUNE:
        return _experiment_page(visit, job, result)
    found = live_job(visit.engine, job)
    return job_page(
        visit,
        "live.html",
        job=job,
        tab="",
        found=found,
        seen=event_id(found.latest[0].trial) if found.latest else None,
        finished=outcome_view(job, Result.read(result), kept_of(visit.engine, job.id))
        if result
        else None,
    )


def _experiment_page(visit: Visit, job: JobRow, result: Mapping[str, Any] | None) -> Response:
    """What an experiment asks, how it stands, and what it says once it is done."""
    from jobs.experiments.told import kept_files, told_of

    kept = kept_files(visit.service.store, job.id)
    return job_page(
        visit,
        "experiment.html",
        job=job,
        tab="",
        told=None if result is None else told_of(job.kind, result),
        explained=job.specification["asked"].get("job"),
        cautions=kept["cautions"],
        files=[*kept["files"]],
    )


@router.post("/jobs/{job_id}/cancel")
def cancel_by_button(visit: Submitter, job: JobDep, _form: FormDep) -> Response:
    """Ends a job; what was measured is kept."""
    jobs.cancel_job(visit.service, job)
    return RedirectResponse(f"/jobs/{job.id}", 303)


@router.post("/jobs/{job_id}/resume")
def resume_by_button(visit: Submitter, job: JobDep, _form: FormDep) -> Response:
    """Lets a failed or cancelled job go on from what it has measured."""
    jobs.resume_job(visit.service, job)
    return RedirectResponse(f"/jobs/{job.id}", 303)


@router.post("/jobs/{job_id}/delete")
def delete_by_button(visit: Administrator, job: JobDep, _form: FormDep) -> Response:
    """Deletes an ended job with all that it measured."""
    jobs.delete_job(visit.service, job)
    return RedirectResponse("/", 303)
