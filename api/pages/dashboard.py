"""All pages of the dashboard, as one router.

``api.app`` imports it when the first page is asked for: a server that answers ``/v1`` alone does
without Jinja, and without what pages compute of a job's trials.
"""

from fastapi import APIRouter

from api.pages import (
    catalogue,
    interface,
    job_page,
    log_in,
    new_job,
    nightly,
    page,
    tables,
)

router = APIRouter(include_in_schema=False)
_BEFORE = (page, log_in, tables, new_job)  # /jobs/new is not a job's
for each in (*_BEFORE, job_page, catalogue, interface, nightly):
    router.include_router(each.router)
