"""Jobs: submitted, listed, shown, cancelled, gone on with, cloned, deleted."""

from typing import Annotated

from fastapi import APIRouter, Body, Header, Query, Response

from api.auth.security import ADMINISTERS, READS, SUBMITS, Caller, GuardedRoute
from api.http.problems import EVERYWHERE, described
from api.http.responses import created
from api.schemas.job_schemas import JobAsked, JobChange, JobPage, JobPublic
from api.services.dependencies import UNCHANGED, CachedJobDep, JobDep, ServiceDep, TunedJobDep
from api.services.submission import take_clone, take_job
from db.jobs.job_store import JobOrder, read_jobs
from db.schema.job_row import JobKind, JobState
from jobs.queue import lifecycle

router = APIRouter(
    prefix="/v1/jobs", tags=["jobs"], responses=EVERYWHERE, route_class=GuardedRoute
)

Limit = Annotated[int, Query(ge=1, le=1000, description="Maximum number.")]
After = Annotated[int | None, Query(ge=0, le=2**63 - 1, description="`next` of the page before.")]
Search = Annotated[
    str,
    Query(
        max_length=100,
        description="Text in a name or in the reason for the phase, or a job number.",
    ),
]
Sort = Annotated[
    JobOrder, Query(description="Order; `best` is by fitness. With a minus, largest first.")
]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="Unique key: repeating the request with the key submits no second job.",
    ),
]


@router.post(
    "",
    status_code=201,
    responses={
        **described(400, 409, 413),
        200: {"model": JobPublic, "description": "Key used before: the job that it submitted"},
        **created("URL of the job"),
    },
)
def submit_job(
    service: ServiceDep,
    response: Response,
    asked: Annotated[JobAsked, Body()],
    caller: Annotated[Caller, SUBMITS],
    idempotency_key: Key = None,
) -> JobPublic:
    """Submits a job, which is checked as a whole. The worker runs it in its turn.

    Without a `kind` the job tunes. Other kinds are experiments, with their own fields.
    """
    job_id, new = take_job(service, asked, caller, key=idempotency_key)
    response.status_code = 201 if new else 200
    response.headers["Location"] = f"/v1/jobs/{job_id}"
    return JobPublic.of(service.store.job(job_id))


@router.get("", dependencies=[READS])
def list_jobs(
    service: ServiceDep,
    state: JobState | None = None,
    kind: JobKind | None = None,
    limit: Limit = 50,
    after: After = None,
    search: Search = "",
    sort: Sort = JobOrder.NEWEST,
) -> JobPage:
    """Lists jobs by page, newest first unless `sort` is given."""
    rows = read_jobs(
        service.engine, state=state, kind=kind, limit=limit, after=after, search=search, order=sort
    )
    return JobPage.of(rows, limit)


@router.get("/{job_id}", dependencies=[READS], responses={**described(404), **UNCHANGED})
def show_job(job: CachedJobDep) -> JobPublic:
    """Returns a job: phase and its reason, progress, best so far, time left."""
    return JobPublic.of(job)


@router.post("/{job_id}/cancel", dependencies=[SUBMITS], responses=described(404, 409))
def cancel_job(service: ServiceDep, job: JobDep) -> JobPublic:
    """Cancels a job and keeps its measurements. The benchmark stops within 2 s."""
    lifecycle.cancel_stored(service.engine, job.id)
    return JobPublic.of(service.store.job(job.id))


@router.post("/{job_id}/resume", dependencies=[SUBMITS], responses=described(404, 409))
def resume_job(service: ServiceDep, job: JobDep) -> JobPublic:
    """Resumes a failed or cancelled job. Its measurements are kept."""
    lifecycle.resume_stored(service.engine, job.id, most_queued=service.settings.most_queued)
    return JobPublic.of(service.store.job(job.id))


@router.post(
    "/{job_id}/clone",
    status_code=201,
    # First of all, or else whoever has no token could learn which jobs there are.
    dependencies=[SUBMITS],
    responses={**described(400, 404, 409, 413), **created("URL of the job")},
)
def clone_job(
    service: ServiceDep,
    response: Response,
    job: TunedJobDep,
    changes: JobChange,
    caller: Annotated[Caller, SUBMITS],
) -> JobPublic:
    """Submits a copy of a tuning job, with the changes in the body."""
    job_id = take_clone(service, job, changes, caller)
    response.headers["Location"] = f"/v1/jobs/{job_id}"
    return JobPublic.of(service.store.job(job_id))


@router.delete(
    "/{job_id}", status_code=204, dependencies=[ADMINISTERS], responses=described(404, 409)
)
def delete_job(service: ServiceDep, job: JobDep) -> None:
    """Deletes an ended job with all its measurements."""
    lifecycle.delete_stored(service.engine, job.id)
