"""The Pareto front of a job: in the metrics of its objective, or in any two."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from api.auth.security import requires
from api.http.caching import UNCHANGED, CachedJobDep
from api.http.problems import EVERYWHERE, ProblemError, described
from api.http.rendered import rendered
from api.schemas.result_schemas import FrontGrowth, ParetoFront, ParetoPoint
from api.services.dependencies import Service, ServiceDep
from api.services.finished_job import result_of
from db.access.tokens import Role
from db.schema.job_row import JobRow
from jobs.specification.frame import resolve_stored
from jobs.views.front_of_job import front_of_two
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
Axis = Annotated[
    str | None, Query(max_length=200, description="One metric of a front of two, with the other.")
]
_MOST_TRIALS = 20_000


@router.get("/pareto", operation_id="show_pareto", response_model=ParetoFront)
def show_pareto(
    service: ServiceDep, job: CachedJobDep, response: Response, x: Axis = None, y: Axis = None
) -> Response:
    """The trials of a finished job that no other beats in every metric of the objective.

    With x and y, those that no other beats in these two metrics, of any job with a baseline.
    """
    if x is not None and y is not None:
        return rendered(_front_of_two(service, job, x, y), response)
    if x is not None or y is not None:
        raise InputError("x" if x is None else "y", "give x and y, both or neither")
    result = result_of(service, job)
    metrics = [term["name"] for term in result["job"]["objective"]["metric"]]
    points = [
        ParetoPoint.model_construct(
            number=number,
            metrics={name: measured[name] for name in metrics if name in measured},
            configuration=configuration,
        )
        for number, configuration, measured in service.store.points(job.id, result["pareto"])
    ]
    grown = [FrontGrowth.model_construct(**row) for row in result.get("hypervolume", [])]
    front = ParetoFront.model_construct(metrics=metrics, points=points, hypervolume=grown)
    return rendered(front, response)


def _front_of_two(service: Service, job: JobRow, x: str, y: str) -> ParetoFront:
    if sum(service.store.count_trials(job.id).values()) > _MOST_TRIALS:
        raise ProblemError(409, f"job {job.id} has more than {_MOST_TRIALS:,} trials")
    trials = service.store.trials(job.id)
    if not any(trial.is_baseline and trial.done for trial in trials):
        raise ProblemError(409, f"job {job.id} has no run of its baseline yet")
    found = front_of_two(resolve_stored(job).problem, trials, x, y)
    names = [term.metric for term in found.terms]
    configurations = {trial.number: trial.configuration for trial in trials}
    points = [
        ParetoPoint.model_construct(
            number=number,
            metrics={name: metrics[name] for name in names},
            configuration=dict(configurations[number]),
        )
        for number, metrics in found.points.items()
    ]
    baseline = {name: found.baseline[name] for name in names}
    return ParetoFront.model_construct(
        metrics=names, baseline=baseline, points=points, hypervolume=[]
    )
