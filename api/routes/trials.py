"""Trials: read in several formats, suggested, and told."""

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response, StreamingResponse

from api.auth.security import READS, SUBMITS, Caller, GuardedRoute
from api.http.problems import EVERYWHERE, described
from api.http.responses import accepted
from api.routes.jobs import After
from api.schemas.job_schemas import (
    Suggestions,
    SuggestionsCreate,
    TrialPage,
    TrialPublic,
    TrialsCreate,
    TrialsKept,
)
from api.services.dependencies import UNCHANGED, AnswerDep, JobDep, Service, ServiceDep
from db.schema.job_row import JobRow
from db.trials.trial_rows import TrialOrder, read_listed
from jobs.report.trial_export import csv_chunks, ndjson_chunks, parquet_chunks
from optimizer.trials.trial import Phase
from sampler.bench.outcome import TrialState
from sampler.common.errors import InputError

router = APIRouter(
    prefix="/v1/jobs/{job_id}", tags=["trials"], responses=EVERYWHERE, route_class=GuardedRoute
)

FILES: Mapping[str, tuple[str, Callable[..., Iterator[bytes]]]] = {
    "text/csv": ("csv", csv_chunks),
    "application/x-ndjson": ("ndjson", ndjson_chunks),
    "application/vnd.apache.parquet": ("parquet", parquet_chunks),
}
"""Media type to the ending of the file's name, and what makes the file."""

_JSON = "application/json"
_BINARY = {"schema": {"type": "string", "format": "binary"}}


@router.get(
    "/trials",
    dependencies=[READS],
    response_model=TrialPage,
    responses={
        **described(404, 406),
        200: {"content": dict.fromkeys(FILES, _BINARY)},
        **UNCHANGED,
    },
)
def list_trials(
    answer: AnswerDep,
    caller: Annotated[Caller, READS],
    limit: Annotated[
        int | None, Query(ge=1, le=10_000_000, description="JSON: 100, at most 1000. Files: all.")
    ] = None,
    after: After = None,
    state: Annotated[TrialState | None, Query(description="JSON only: trials in a state.")] = None,
    phase: Annotated[Phase | None, Query(description="JSON only: trials of a phase.")] = None,
    sort: Annotated[
        TrialOrder,
        Query(
            description="JSON only: order. With a minus, largest first. `after` is then the "
            "number of the last trial of the page before."
        ),
    ] = TrialOrder.NUMBER,
) -> Response:
    """Returns trials by number: JSON pages, or by Accept all as CSV, NDJSON or Parquet."""
    service, job = answer.service, answer.job
    kind = accepted(answer.request.headers.get("accept"), (_JSON, *FILES))
    answer.headers["Vary"] = "Accept, Authorization"
    if kind == _JSON:
        most = min(limit or 100, 1000)
        rows = read_listed(
            service.engine, job.id, limit=most, after=after, state=state, phase=phase, order=sort
        )
        return answer.json(TrialPage.of(rows, most))
    chosen = {"state": state, "phase": phase, "sort": sort is not TrialOrder.NUMBER or None}
    for field, value in chosen.items():
        if value is not None:
            raise InputError(field, "applies only to JSON; files contain all trials, by number")
    return trial_file(service, job, kind, caller, after=after, limit=limit, headers=answer.headers)


def trial_file(
    service: Service,
    job: JobRow,
    kind: str,
    caller: Caller,
    *,
    after: int | None = None,
    limit: int | None = None,
    headers: Mapping[str, str],
) -> StreamingResponse:
    """Trials after a number, ``limit`` at most, as a file of a kind of ``FILES``.

    Raises:
        ProblemError: 429, too many are being sent.
    """
    ending, stream = FILES[kind]
    name = f'attachment; filename="job-{job.id}-trials.{ending}"'
    kept = {**headers, "Content-Disposition": name}
    chunks = stream(service.engine, job.id, after=after or 0, limit=limit)
    return service.exports.begin(chunks, caller.token_id, media_type=kind, headers=kept)


@router.post("/suggestions", dependencies=[SUBMITS], responses=described(400, 404, 409, 413))
def suggest_trials(service: ServiceDep, job: JobDep, asked: SuggestionsCreate) -> Suggestions:
    """Suggests configurations for your own runner; several may be open at a time."""
    found = service.external.ask(job.id, asked.count, reclaim_seconds=asked.reclaim_seconds)
    return Suggestions.of(found)


@router.post("/trials", dependencies=[SUBMITS], responses=described(400, 404, 409, 413))
def tell_trials(service: ServiceDep, job: JobDep, told: TrialsCreate) -> TrialsKept:
    """Stores trials measured elsewhere, all or none. Repeating the request changes nothing."""
    trials = service.external.tell(job.id, [each.told() for each in told.trials])
    return TrialsKept(trials=[TrialPublic.of(trial) for trial in trials])
