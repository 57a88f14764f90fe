"""Trade-offs between what a job has measured: its Pareto front, its best by a preference."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic_core import from_json

from api.auth.security import READS
from api.http.problems import EVERYWHERE, described
from api.schemas.result_schemas import FrontGrowth, ParetoFront, ParetoPoint, PickAnswer
from api.services.dependencies import TUNED, UNCHANGED, AnswerDep, Service
from api.services.stored_job import measured_trials, picked, result_of
from db.schema.job_row import JobRow
from jobs.specification.resolved_job import resolve_stored
from optimizer.objective.objective import Objective
from optimizer.objective.objective_file import SHIPPED, load_objective, objective_from_document
from sampler.common.errors import InputError

router = APIRouter(
    prefix="/v1/jobs/{job_id}",
    tags=["results"],
    dependencies=[READS, TUNED],
    responses={**EVERYWHERE, **described(404, 409), **UNCHANGED},
)
Axis = Annotated[
    str | None, Query(max_length=200, description="Metric of an axis; needs the other axis.")
]


@router.get("/pareto", response_model=ParetoFront)
def show_pareto(answer: AnswerDep, x: Axis = None, y: Axis = None) -> Response:
    """Returns the Pareto front of a finished job in the metrics of its objective.

    With x and y, the front in these two metrics, of any job with a baseline.
    """
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


_MOST_TEXT = 20_000
# uvicorn's own answer; a text of letters that are no ASCII takes up to twelve characters for each.
_TOO_LONG: dict[int | str, dict[str, Any]] = {
    400: {
        "description": "The path with its query is longer than 65,535 characters",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
}


@router.get("/pick", response_model=PickAnswer, responses=_TOO_LONG)
async def pick_by_preference(
    answer: AnswerDep,
    weights: Annotated[
        str | None,
        Query(max_length=2000, description="As waf=2,sa=1,rate=1. Default: the objective's."),
    ] = None,
    limit: Annotated[
        list[Annotated[str, Query(max_length=500)]] | None,
        Query(max_length=100, description="Further limits, as sa <= 1.0 baseline."),
    ] = None,
    slo: Annotated[
        list[Annotated[str, Query(max_length=500)]] | None,
        Query(
            max_length=100,
            description="Service levels, as write_p99 <= 340 us: limits. Without weights or an "
            "objective, the highest throughput within them is picked.",
        ),
    ] = None,
    objective: Annotated[
        str | None,
        Query(
            max_length=_MOST_TEXT,
            description="Shipped name or JSON. Replaces the job's objective with its limits.",
        ),
    ] = None,
    top: Annotated[int, Query(ge=1, le=100, description="Number of picks.")] = 5,
    model: Annotated[
        bool, Query(description="Include predictions of models of all trials.")
    ] = False,
    column_family: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=500,
            description="Column family of the job's OPTIONS file to write the file for. Default: "
            "the one that was tuned.",
        ),
    ] = None,
) -> Response:
    """Picks the fittest measured configurations by a preference: explored, not proven."""

    def made() -> dict[str, Any]:
        from jobs.views.pick import Preference

        asked = Preference(
            weights=weights,
            objective=None if objective is None else _objective(objective),
            limits=limit or (),
            slos=slo or (),
            top=top,
            model=model,
            column_family=column_family,
        )
        return picked(answer.service, answer.job, asked)

    return await answer.fitted(made)


def _objective(given: str) -> Objective:
    if not given.lstrip().startswith("{"):
        if given not in SHIPPED:
            problem = f"{given!r:.80} is neither a JSON object nor one of {', '.join(SHIPPED)}"
            raise InputError("objective", problem)
        return load_objective(given)
    try:
        document = from_json(given, allow_inf_nan=False)
    except ValueError:
        raise InputError("objective", "is neither a name nor JSON") from None
    return objective_from_document(document)
