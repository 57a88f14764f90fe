"""A job live: server-sent events."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent

from api.auth.security import READS, Caller
from api.http.problems import EVERYWHERE, described
from api.schemas.job_schemas import JobProgress
from api.schemas.trial_schemas import TrialPublic
from api.services.dependencies import JobDep, ServiceDep
from api.services.job_streams import PAGE, Seen, Stream
from db.schema.job_row import ENDED
from optimizer.trials.trial import Trial

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["events"], responses=EVERYWHERE)

_ID = re.compile(r"(\d{1,17})-(\d{1,9})", re.ASCII)


async def _stream(
    service: ServiceDep, job: JobDep, caller: Annotated[Caller, READS]
) -> AsyncIterator[Stream]:
    async with service.streams.opened(job.id, caller) as stream:
        yield stream


@router.get(
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
