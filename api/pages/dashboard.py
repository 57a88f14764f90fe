"""All pages of the dashboard, as one router.

``api.app`` imports it when the first page is asked for: a server that answers ``/v1`` alone does
without Jinja, and without what pages compute of a job's trials.
"""

from fastapi import APIRouter

from api.pages import (
    batches,
    compare,
    hosts,
    importance,
    interface,
    job_page,
    log_in,
    new_job,
    nights,
    results,
    schedules,
    static_files,
    tables,
    webhooks,
    workloads,
)

router = APIRouter(include_in_schema=False)
for each in (
    static_files,
    log_in,
    tables,
    new_job,
    job_page,
    importance,
    results,
    compare,
    hosts,
    interface,
    nights,
    schedules,
    batches,
    webhooks,
    workloads,
):
    router.include_router(each.router)
