"""Trials: read in several formats, suggested, and told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from starlette.responses import Response

from api.accepted import accepted
from api.caching import CachedJobDep
from api.dependencies import JobDep, ServiceDep, no_job
from api.problems import EVERYWHERE, described
from api.rendered import rendered
from api.routes.jobs import After
from api.security import requires
from api.trial_schemas import (
    Suggestions,
    SuggestionsCreate,
    TrialPage,
    TrialPublic,
    TrialsCreate,
    TrialsKept,
)
from db.tokens import Role
from jobs.trial_formats import csv_chunks, ndjson_chunks, parquet_chunks

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["trials"], responses=EVERYWHERE)

_JSON, _CSV = "application/json", "text/csv"
_NDJSON, _PARQUET = "application/x-ndjson", "application/vnd.apache.parquet"
_STREAMS: dict[str, tuple[str, Callable[..., Iterator[bytes]]]] = {
    _CSV: ("csv", csv_chunks),
    _NDJSON: ("ndjson", ndjson_chunks),
    _PARQUET: ("parquet", parquet_chunks),
}
_BINARY = {"schema": {"type": "string", "format": "binary"}}


@router.get(
    "/trials",
    operation_id="list_trials",
    dependencies=[requires(Role.READ)],
    response_model=TrialPage,
    responses={
        **described(404, 406),
        200: {"content": dict.fromkeys(_STREAMS, _BINARY)},
        304: {"description": "As the ETag says, nothing has changed"},
    },
)
def list_trials(
    request: Request,
    service: ServiceDep,
    job: CachedJobDep,
    response: Response,
    limit: Annotated[
        int | None, Query(ge=1, le=10_000_000, description="100 in JSON, at most 1000; else all.")
    ] = None,
    after: After = None,
) -> Response:
    """Trials by number: pages of JSON, or all of them as CSV, NDJSON or Parquet by Accept."""
    kind = accepted(request.headers.get("accept"), (_JSON, *_STREAMS))
    response.headers["Vary"] = "Accept, Authorization"
    if kind == _JSON:
        most = min(limit or 100, 1000)
        trials = service.store.shown_trials(job.id, after=after or 0, limit=most)
        following = trials[-1].number if len(trials) == most else None
        page = TrialPage.model_construct(
            trials=[TrialPublic.of(trial) for trial in trials], next=following
        )
        return rendered(page, response)
    ending, stream = _STREAMS[kind]
    name = f'attachment; filename="job-{job.id}-trials.{ending}"'
    headers = {**response.headers, "Content-Disposition": name}
    headers.pop("content-length", None)
    chunks = stream(service.engine, job.id, after=after or 0, limit=limit)
    return StreamingResponse(service.exports.begin(chunks), media_type=kind, headers=headers)


@router.post(
    "/suggestions",
    operation_id="suggest_trials",
    dependencies=[requires(Role.SUBMIT)],
    responses=described(400, 404, 409, 413),
)
def suggest_trials(service: ServiceDep, job: JobDep, asked: SuggestionsCreate) -> Suggestions:
    """Configurations for a runner of your own to measure; several may be out at a time."""
    try:
        found = service.external.ask(job.id, asked.count, reclaim_seconds=asked.reclaim_seconds)
    except KeyError:
        raise no_job(job.id) from None
    return Suggestions.of(found)


@router.post(
    "/trials",
    operation_id="tell_trials",
    dependencies=[requires(Role.SUBMIT)],
    responses=described(400, 404, 409, 413),
)
def tell_trials(service: ServiceDep, job: JobDep, told: TrialsCreate) -> TrialsKept:
    """Keeps what was measured elsewhere, all or nothing. To tell it twice changes nothing."""
    try:
        trials = service.external.tell(job.id, [each.told() for each in told.trials])
    except KeyError:
        raise no_job(job.id) from None
    return TrialsKept(trials=[TrialPublic.of(trial) for trial in trials])
