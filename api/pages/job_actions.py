"""What can be done with a job by a button: cancel it, let it go on."""

from __future__ import annotations

from fastapi import APIRouter, Response
from fastapi.responses import RedirectResponse

from api.auth.security import page_requires
from api.pages.forms import FormDep
from api.routes import jobs
from api.services.dependencies import JobDep, ServiceDep
from db.access.tokens import Role

router = APIRouter(
    include_in_schema=False, prefix="/jobs/{job_id}", dependencies=[page_requires(Role.SUBMIT)]
)


@router.post("/cancel")
def cancel_job(service: ServiceDep, job: JobDep, _form: FormDep) -> Response:
    """Ends a job; what was measured is kept."""
    jobs.cancel_job(service, job)
    return RedirectResponse(f"/jobs/{job.id}", 303)


@router.post("/resume")
def resume_job(service: ServiceDep, job: JobDep, _form: FormDep) -> Response:
    """Lets a failed or cancelled job go on from what it has measured."""
    jobs.resume_job(service, job)
    return RedirectResponse(f"/jobs/{job.id}", 303)
