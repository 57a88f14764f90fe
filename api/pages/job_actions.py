"""What can be done with a job by a button: cancel it, let it go on."""

from __future__ import annotations

from fastapi import APIRouter, Response
from fastapi.responses import RedirectResponse

from api.dependencies import JobDep, ServiceDep, no_job
from api.pages.forms import FormDep
from api.security import page_requires
from db.tokens import Role
from jobs import lifecycle

router = APIRouter(
    include_in_schema=False, prefix="/jobs/{job_id}", dependencies=[page_requires(Role.SUBMIT)]
)


@router.post("/cancel")
def cancel_job(service: ServiceDep, job: JobDep, _form: FormDep) -> Response:
    """Ends a job; what was measured is kept."""
    try:
        lifecycle.cancel(service.engine, job.id)
    except KeyError:
        raise no_job(job.id) from None
    return RedirectResponse(f"/jobs/{job.id}", 303)


@router.post("/resume")
def resume_job(service: ServiceDep, job: JobDep, _form: FormDep) -> Response:
    """Lets a failed or cancelled job go on from what it has measured."""
    try:
        lifecycle.resume(service.engine, job.id)
    except KeyError:
        raise no_job(job.id) from None
    return RedirectResponse(f"/jobs/{job.id}", 303)
