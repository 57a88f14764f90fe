"""Jobs: submitted, listed, shown, watched, cancelled, resumed, cloned, deleted."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Header, Query, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from api.auth.security import ADMINISTERS, READS, SUBMITS, Caller, GuardedRoute
from api.http.problems import EVERYWHERE, described
from api.http.responses import created
from api.schemas.job_schemas import (
    JobAsked,
    JobChange,
    JobPage,
    JobProgress,
    JobPublic,
    TrialPublic,
)
from api.services.dependencies import UNCHANGED, CachedJobDep, JobDep, ServiceDep, TunedJobDep
from api.services.job_streams import PAGE, Seen, Stream
from api.services.submission import take_clone, take_job
from db.jobs.job_store import JobOrder, read_jobs
from db.schema.job_row import ENDED, JobKind, JobState
from jobs.queue import lifecycle
from optimizer.trials.trial import Trial

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


events = APIRouter(prefix="/v1/jobs/{job_id}", tags=["events"], responses=EVERYWHERE)

_ID = re.compile(r"(\d{1,17})-(\d{1,9})", re.ASCII)


async def _stream(
    service: ServiceDep, job: JobDep, caller: Annotated[Caller, READS]
) -> AsyncIterator[Stream]:
    async with service.streams.opened(job.id, caller) as stream:
        yield stream


@events.get(
    "/events", dependencies=[READS], response_class=EventSourceResponse, responses=described(404)
)
async def watch_job(
    service: ServiceDep,
    stream: Annotated[Stream, Depends(_stream)],
    last_event_id: Annotated[
        str | None,
        Header(alias="Last-Event-ID", max_length=100, description="Id to resume after."),
    ] = None,
    after: Annotated[
        str | None,
        Query(max_length=100, description="Same as Last-Event-ID, as a query parameter."),
    ] = None,
) -> AsyncIterator[ServerSentEvent]:
    """Streams the progress of a job.

    ``job``: the progress, whenever it changes. ``trial``: each ended trial, with an id to continue
    from. ``end``: the job has ended, and the stream ends. The stream also ends, without an event,
    when the token is revoked. Beyond 100 streams of a token, or 400 of all, the answer is 429;
    ROCKTUNE_MOST_STREAMS sets the latter, and the former to a quarter of it.
    """
    seen = _seen(last_event_id or after)
    shown: JobProgress | None = None
    while not stream.ends:
        row, trials = await service.streams.read(stream, seen)
        if row is None:
            return
        for trial in trials:
            seen = (trial.finished_at, trial.number)
            yield ServerSentEvent(event="trial", id=event_id(trial), data=TrialPublic.of(trial))
        if len(trials) == PAGE:
            continue
        progress = JobProgress.of(row)
        if progress != shown:
            shown = progress
            yield ServerSentEvent(event="job", data=progress)
        if row.state in ENDED:
            yield ServerSentEvent(event="end", data=progress)
            return
        await stream.news.wait()


def event_id(trial: Trial) -> str:
    """The id of an ended trial's event: to go on after it."""
    assert trial.finished_at is not None
    return f"{int(trial.finished_at.timestamp() * 1_000_000)}-{trial.number}"


def _seen(last: str | None) -> Seen:
    """Where to go on; from the beginning when the id is none of ours."""
    known = _ID.fullmatch(last or "")
    if known is None:
        return None, 0
    micros, number = map(int, known.groups())
    seconds, rest = divmod(micros, 1_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest), number
