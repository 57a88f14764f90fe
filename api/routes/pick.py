"""The best of what a job has measured, by a preference that is named afterwards."""

from __future__ import annotations

import json
from typing import Annotated, NoReturn

from fastapi import APIRouter, Query
from fastapi.responses import Response

from api.auth.security import requires
from api.http.caching import UNCHANGED, CachedJobDep
from api.http.problems import EVERYWHERE, described
from api.http.rendered import rendered
from api.schemas.pick_schemas import PickAnswer
from api.services.dependencies import ServiceDep
from api.services.picked import picked
from db.access.tokens import Role
from jobs.views.pick import Preference
from optimizer.objective.objective import Objective
from optimizer.objective.objective_file import SHIPPED, load_objective, objective_from_document
from sampler.common.errors import InputError

router = APIRouter(
    prefix="/v1/jobs/{job_id}",
    tags=["results"],
    dependencies=[requires(Role.READ)],
    responses={
        **EVERYWHERE,
        **described(404, 409),
        **UNCHANGED,
    },
)
_MOST_TEXT = 20_000


@router.get("/pick", operation_id="pick_by_preference", response_model=PickAnswer)
def pick_by_preference(
    service: ServiceDep,
    job: CachedJobDep,
    response: Response,
    weights: Annotated[
        str | None,
        Query(max_length=2000, description="As waf=2,sa=1,rate=1; else those of the objective."),
    ] = None,
    limit: Annotated[
        list[Annotated[str, Query(max_length=500)]] | None,
        Query(max_length=100, description="As sa <= 1.0 baseline; beside those of the job."),
    ] = None,
    slo: Annotated[
        list[Annotated[str, Query(max_length=500)]] | None,
        Query(
            max_length=100,
            description="A service level, as write_p99 <= 340 us: limits, within which the "
            "highest throughput is picked unless weights or an objective are given.",
        ),
    ] = None,
    objective: Annotated[
        str | None,
        Query(
            max_length=_MOST_TEXT,
            description="A shipped one, or one as JSON; instead of the job's, limits included.",
        ),
    ] = None,
    top: Annotated[int, Query(ge=1, le=100, description="So many.")] = 5,
    model: Annotated[
        bool, Query(description="What models learned from all trials expect, beside it.")
    ] = False,
) -> Response:
    """The fittest of all measured configurations by a preference: explored, not proven."""
    asked = Preference(
        weights=weights,
        objective=None if objective is None else _objective(objective),
        limits=limit or (),
        slos=slo or (),
        top=top,
        model=model,
    )
    return rendered(picked(service, job, asked), response)


def _objective(given: str) -> Objective:
    if not given.lstrip().startswith("{"):
        if given not in SHIPPED:
            problem = f"{given!r:.80} is none of {', '.join(SHIPPED)}, and no object of JSON"
            raise InputError("objective", problem)
        return load_objective(given)
    try:
        document = json.loads(given, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise InputError("objective", "is neither a name nor JSON") from None
    return objective_from_document(document)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
