"""Jobs: submitted, listed, shown, cancelled, gone on with, cloned, deleted."""

from typing import Annotated

from fastapi import APIRouter, Body, Header, Query, Response

from api.auth.security import ADMINISTERS, READS, SUBMITS, Caller
from api.http.problems import EVERYWHERE, described
from api.http.responses import created
from api.schemas.job_schemas import JobAsked, JobChange, JobPage, JobPublic
from api.services.dependencies import UNCHANGED, CachedJobDep, JobDep, ServiceDep, TunedJobDep
from api.services.submission import take_clone, take_job
from db.jobs.job_list import JobOrder, read_jobs
from db.schema.job_row import JobKind, JobState
from jobs.queue import lifecycle

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], responses=EVERYWHERE)

Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]
After = Annotated[
    int | None, Query(ge=0, le=2**63 - 1, description="The `next` of the page before.")
]
Search = Annotated[
    str,
    Query(
        max_length=100,
        description="Only jobs with this text in a name or the reason for the phase, or of this "
        "number.",
    ),
]
Sort = Annotated[
    JobOrder, Query(description="By what, `best` by fitness; with a minus the largest first.")
]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="A key of your own: the same request under it makes the job once.",
    ),
]


@router.post(
    "",
    status_code=201,
    responses={
        **described(400, 409, 413),
        200: {"model": JobPublic, "description": "The key came before: the job that it made"},
        **created("The job"),
    },
)
def submit_job(
    service: ServiceDep,
    response: Response,
    asked: Annotated[JobAsked, Body()],
    caller: Annotated[Caller, SUBMITS],
    idempotency_key: Key = None,
) -> JobPublic:
    """Takes a job, checked as a whole; the worker runs it when it is its turn.

    Without a `kind` it tunes; the other kinds are experiments, with fields of their own.
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
    """Jobs a page at a time, the newest first unless sorted otherwise."""
    rows = read_jobs(
        service.engine, state=state, kind=kind, limit=limit, after=after, search=search, order=sort
    )
    return JobPage.of(rows, limit)


@router.get("/{job_id}", dependencies=[READS], responses={**described(404), **UNCHANGED})
def show_job(job: CachedJobDep) -> JobPublic:
    """A job: its phase, why it is in it, how far it is, the best so far, the time left."""
    return JobPublic.of(job)


@router.post("/{job_id}/cancel", dependencies=[SUBMITS], responses=described(404, 409))
def cancel_job(service: ServiceDep, job: JobDep) -> JobPublic:
    """Ends a job. The benchmark is stopped within two seconds; what was measured is kept."""
    lifecycle.cancel_stored(service.engine, job.id)
    return JobPublic.of(service.store.job(job.id))


@router.post("/{job_id}/resume", dependencies=[SUBMITS], responses=described(404, 409))
def resume_job(service: ServiceDep, job: JobDep) -> JobPublic:
    """Lets a failed or cancelled job go on from what it has measured."""
    lifecycle.resume_stored(service.engine, job.id)
    return JobPublic.of(service.store.job(job.id))


@router.post(
    "/{job_id}/clone",
    status_code=201,
    # First of all, or else whoever has no token could learn which jobs there are.
    dependencies=[SUBMITS],
    responses={**described(400, 404, 409, 413), **created("The job")},
)
def clone_job(
    service: ServiceDep,
    response: Response,
    job: TunedJobDep,
    changes: JobChange,
    caller: Annotated[Caller, SUBMITS],
) -> JobPublic:
    """Submits a tuning job like this one, but for what the body changes."""
    job_id = take_clone(service, job, changes, caller)
    response.headers["Location"] = f"/v1/jobs/{job_id}"
    return JobPublic.of(service.store.job(job_id))


@router.delete(
    "/{job_id}", status_code=204, dependencies=[ADMINISTERS], responses=described(404, 409)
)
def delete_job(service: ServiceDep, job: JobDep) -> None:
    """Deletes an ended job with all that it measured."""
    lifecycle.delete_stored(service.engine, job.id)
