"""What every page of a job shows: its head, its actions, and the tabs that lead to the others."""

from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from api.auth.forms import FormDep
from api.auth.security import page_requires
from api.pages.page import Visit
from api.routes import jobs
from api.schemas.job_schemas import JobPublic
from api.services.dependencies import JobDep, ServiceDep
from db.access.tokens import Role
from db.schema.job_row import ENDED, JobRow, JobState

# The end of the address, and what the tab is called. A tab is listed once its page is there.
TABS = {"": "Live", "matters": "What matters", "won": "What was won", "trials": "Trials"}


def job_page(
    visit: Visit, template: str, *, job: JobRow, tab: str, status: int = 200, **content: Any
) -> HTMLResponse:
    """A page of a job: a template that extends ``job.html`` and fills its block ``tab``.

    The template knows ``job``, an ``api.schemas.job_schemas.JobPublic``, beside its content.
    """
    return visit.page(
        template,
        status=status,
        job=JobPublic.of(job),
        tabs=[(f"/jobs/{job.id}{'/' if end else ''}{end}", TABS[end], end == tab) for end in TABS],
        live=job.state not in ENDED,
        resumable=job.state in (JobState.FAILED, JobState.CANCELLED),
        **content,
    )


router = APIRouter(
    include_in_schema=False, prefix="/jobs/{job_id}", dependencies=[page_requires(Role.SUBMIT)]
)


@router.post("/cancel")
def cancel_by_button(service: ServiceDep, job: JobDep, _form: FormDep) -> Response:
    """Ends a job; what was measured is kept."""
    jobs.cancel_job(service, job)
    return RedirectResponse(f"/jobs/{job.id}", 303)


@router.post("/resume")
def resume_by_button(service: ServiceDep, job: JobDep, _form: FormDep) -> Response:
    """Lets a failed or cancelled job go on from what it has measured."""
    jobs.resume_job(service, job)
    return RedirectResponse(f"/jobs/{job.id}", 303)
