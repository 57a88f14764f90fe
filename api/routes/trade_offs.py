"""Trade-offs between what a job has measured: its Pareto front, its best by a preference."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response

from api.auth.security import READS
from api.http.problems import EVERYWHERE, described
from api.schemas.result_schemas import FrontGrowth, ParetoFront, ParetoPoint, PickAnswer
from api.services.dependencies import TUNED, UNCHANGED, AnswerDep, Service
from api.services.stored_job import measured_trials, picked, result_of
from db.schema.job_row import JobRow
from jobs.specification.experiments import FrontRequest, PickRequest
from jobs.specification.resolved_job import resolve_stored
from sampler.common.errors import InputError

router = APIRouter(
    prefix="/v1/jobs/{job_id}",
    tags=["results"],
    dependencies=[READS, TUNED],
    responses={**EVERYWHERE, **described(404, 409), **UNCHANGED},
)


@router.get("/pareto", response_model=ParetoFront)
def show_pareto(answer: AnswerDep, axes: Annotated[FrontRequest, Query()]) -> Response:
    """Returns the Pareto front of a finished job in the metrics of its objective.

    With x and y, the front in these two metrics, of any job with a baseline.
    """
    x, y = axes.x, axes.y
    if x is not None and y is not None:
        return answer.json(_front_of_two(answer.service, answer.job, x, y))
    if x is not None or y is not None:
        raise InputError("x" if x is None else "y", "give both x and y, or neither")
    result = result_of(answer.service, answer.job)
    metrics = [term["name"] for term in result["job"]["objective"]["metric"]]
    points = [
        ParetoPoint.model_construct(
            number=number,
            metrics={name: measured[name] for name in metrics if name in measured},
            configuration=configuration,
        )
        for number, configuration, measured in answer.service.store.points(
            answer.job.id, result["pareto"]
        )
    ]
    grown = [FrontGrowth.model_construct(**row) for row in result.get("hypervolume", [])]
    front = ParetoFront.model_construct(metrics=metrics, points=points, hypervolume=grown)
    return answer.json(front)


def _front_of_two(service: Service, job: JobRow, x: str, y: str) -> ParetoFront:
    from jobs.views.pick import front_of_two

    trials = measured_trials(service, job)
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


# uvicorn's own answer; a text of letters that are no ASCII takes up to twelve characters for each.
_TOO_LONG: dict[int | str, dict[str, Any]] = {
    400: {
        "description": "The path with its query is longer than 65,535 characters",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
}


@router.get("/pick", response_model=PickAnswer, responses=_TOO_LONG)
async def pick_by_preference(
    answer: AnswerDep, asked: Annotated[PickRequest, Query()]
) -> Response:
    """Picks the fittest measured configurations by a preference: explored, not proven."""
    return await answer.fitted(lambda: picked(answer.service, answer.job, asked))
