"""Trials: read in several formats, suggested, and told."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from api.auth.security import READS, SUBMITS
from api.http.problems import EVERYWHERE, described
from api.http.responses import accepted, rendered
from api.routes.jobs import After
from api.schemas.trial_schemas import (
    Suggestions,
    SuggestionsCreate,
    TrialPage,
    TrialPublic,
    TrialsCreate,
    TrialsKept,
)
from api.services.dependencies import UNCHANGED, CachedJobDep, JobDep, ServiceDep
from api.services.listings import FILES, page_of_trials, trial_file
from db.trials.trial_list import TrialOrder, read_listed
from optimizer.trials.trial import Phase
from sampler.common.errors import InputError
from sampler.runner.outcome import TrialState

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["trials"], responses=EVERYWHERE)

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
    request: Request,
    service: ServiceDep,
    job: CachedJobDep,
    response: Response,
    limit: Annotated[
        int | None, Query(ge=1, le=10_000_000, description="100 in JSON, at most 1000; else all.")
    ] = None,
    after: After = None,
    state: Annotated[TrialState | None, Query(description="JSON alone: in this state.")] = None,
    phase: Annotated[Phase | None, Query(description="JSON alone: of this phase.")] = None,
    sort: Annotated[
        TrialOrder,
        Query(
            description="JSON alone: by what; with a minus the largest first. `after` is then "
            "the number of the last trial of the page before."
        ),
    ] = TrialOrder.NUMBER,
) -> Response:
    """Trials by number: pages of JSON, or all of them as CSV, NDJSON or Parquet by Accept."""
    kind = accepted(request.headers.get("accept"), (_JSON, *FILES))
    response.headers["Vary"] = "Accept, Authorization"
    if kind == _JSON:
        most = min(limit or 100, 1000)
        rows = read_listed(
            service.engine, job.id, limit=most, after=after, state=state, phase=phase, order=sort
        )
        return rendered(page_of_trials(rows, most), response)
    chosen = {"state": state, "phase": phase, "sort": sort is not TrialOrder.NUMBER or None}
    for field, value in chosen.items():
        if value is not None:
            raise InputError(field, "is for pages of JSON; files hold all trials by number")
    return trial_file(service, job, kind, after=after, limit=limit, headers=response.headers)


@router.post("/suggestions", dependencies=[SUBMITS], responses=described(400, 404, 409, 413))
def suggest_trials(service: ServiceDep, job: JobDep, asked: SuggestionsCreate) -> Suggestions:
    """Configurations for a runner of your own to measure; several may be out at a time."""
    found = service.external.ask(job.id, asked.count, reclaim_seconds=asked.reclaim_seconds)
    return Suggestions.of(found)


@router.post("/trials", dependencies=[SUBMITS], responses=described(400, 404, 409, 413))
def tell_trials(service: ServiceDep, job: JobDep, told: TrialsCreate) -> TrialsKept:
    """Keeps what was measured elsewhere, all or nothing. To tell it twice changes nothing."""
    trials = service.external.tell(job.id, [each.told() for each in told.trials])
    return TrialsKept(trials=[TrialPublic.of(trial) for trial in trials])
