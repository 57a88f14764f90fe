"""A job as it goes on: its phase and why, what it has found so far, and what it runs on."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response

from api.dependencies import JobDep
from api.pages.job_tabs import job_page
from api.security import Caller, page_requires
from db.tokens import Role

router = APIRouter(include_in_schema=False)


@router.get("/jobs/{job_id}")
def live_page(
    request: Request, caller: Annotated[Caller, page_requires(Role.READ)], job: JobDep
) -> Response:
    """The page as the job stands now; its script keeps it so."""
    return job_page(request, "live.html", caller=caller, job=job, tab="")
