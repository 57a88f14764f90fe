"""A job live: server-sent events."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.sse import EventSourceResponse, ServerSentEvent

from api.auth.security import READS, StillKnownDep
from api.http.problems import EVERYWHERE, described
from api.schemas.job_schemas import JobProgress
from api.schemas.trial_schemas import TrialPublic
from api.services.dependencies import JobDep, Service, ServiceDep
from db.schema.job_row import ENDED, JobRow
from optimizer.trials.trial import Trial

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["events"], responses=EVERYWHERE)

_LOOK_SECONDS = 0.5
_PAGE = 200
_ID = re.compile(r"(\d{1,17})-(\d{1,9})", re.ASCII)
Seen = tuple[datetime | None, int]


@router.get(
    "/events", dependencies=[READS], response_class=EventSourceResponse, responses=described(404)
)
async def watch_job(
    service: ServiceDep,
    job: JobDep,
    still_known: StillKnownDep,
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
    when the token is revoked.
    """
    seen = _seen(last_event_id or after)
    shown: JobProgress | None = None
    while not service.stopping():
        if not await run_in_threadpool(still_known):
            return
        row, trials = await run_in_threadpool(_look, service, job.id, seen)
        if row is None:
            return
        for trial in trials:
            seen = (trial.finished_at, trial.number)
            yield ServerSentEvent(event="trial", id=event_id(trial), data=TrialPublic.of(trial))
        if len(trials) == _PAGE:
            continue
        progress = JobProgress.of(row)
        if progress != shown:
            shown = progress
            yield ServerSentEvent(event="job", data=progress)
        if row.state in ENDED:
            yield ServerSentEvent(event="end", data=progress)
            return
        await asyncio.sleep(_LOOK_SECONDS)


def _look(service: Service, job_id: int, seen: Seen) -> tuple[JobRow | None, list[Trial]]:
    try:
        # The row first: what it says has ended is then among the trials.
        row = service.store.job(job_id)
    except KeyError:
        return None, []
    after, number = seen
    return row, service.store.trials_ended(job_id, after=after, number=number, limit=_PAGE)


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
