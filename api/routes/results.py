"""What a job has found: result, ranked parameters, plots, report, files, and trade-offs."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.responses import HTMLResponse, PlainTextResponse, Response

from api.auth.security import READS
from api.http.problems import EVERYWHERE, ProblemError, described, field_problems
from api.http.responses import answers_with
from api.schemas.job_schemas import public_specification
from api.services.dependencies import (
    TUNED,
    UNCHANGED,
    AnswerDep,
    JobAnswer,
    job_ranking,
    measured_trials,
    picked,
    require_done,
    result_of,
)
from db.schema.job_row import JobKind
from jobs.report.ranking import anova_line, disagreement_lines, trust_lines
from jobs.results.output_folder import DIFFERENCE, FULLEST, MINIMAL, OPTIONS, REPORT, Which
from jobs.results.pages import policy
from jobs.specification.experiments import FrontRequest, PickRequest
from jobs.specification.resolved_job import resolve_stored
from jobs.views.answers import (
    Anova,
    AnovaRow,
    ChartPublic,
    JobCharts,
    ParetoFront,
    ParetoPoint,
    PickAnswer,
    Ranking,
)
from optimizer.explained import Dependence, Explanation
from optimizer.results.document import Result
from optimizer.results.ranking import Contributions, ParameterRanking
from sampler.common.errors import InputError
from sampler.rocksdb.forms import Form, write_form

_RESPONSES = {**EVERYWHERE, **described(404), **UNCHANGED}
_ABOUT: dict[str, Any] = {"prefix": "/v1/jobs/{job_id}", "tags": ["results"]}
router = APIRouter(**_ABOUT, dependencies=[READS, TUNED], responses=_RESPONSES)
"""What tuning jobs alone have found."""

outcomes = APIRouter(**_ABOUT, dependencies=[READS], responses=_RESPONSES)
"""What came of a job of any kind."""

Metric = Annotated[str | None, Query(max_length=200, description="Return only this metric.")]
_NOT_YET = described(409)
_ENDINGS = {"json": "json", "table": "md"}
_SANDBOX = "sandbox allow-scripts allow-modals"  # a modal is how a page is printed
_MEDIA = {"csv": "text/csv", "json": "application/json", "jsonl": "application/x-ndjson"}


@outcomes.get("/result", responses=_NOT_YET, response_model=dict[str, Any])
def show_result(answer: AnswerDep) -> Response:
    """Returns the result of a finished job: result.json, or upgrade.json of an upgrade check."""
    document = dict(result_of(answer.service, answer.job))
    if answer.job.kind is JobKind.TUNE:
        document["job"] = public_specification(document["job"])
    return answer.json(document)


@outcomes.get("/report", responses=_NOT_YET, response_class=HTMLResponse)
def show_report(answer: AnswerDep) -> Response:
    """Returns the report of a finished job, as one self-contained HTML page."""
    from jobs.report.artifacts import report_of_job
    from jobs.results.pages import whole_page

    require_done(answer.job)
    if answer.job.kind is JobKind.TUNE:
        page = report_of_job(answer.service.engine, answer.job)
    else:
        page = whole_page(_file(answer, REPORT))
    # In a place of its own it can neither ask this server for anything, nor be framed.
    alone = {"Content-Security-Policy": f"{policy()}; frame-ancestors 'none'; {_SANDBOX}"}
    return HTMLResponse(page, headers={**answer.headers, **alone})


@outcomes.get(
    "/files/{name}",
    response_class=Response,
    responses={
        **_NOT_YET,
        200: {
            "description": "The file",
            "content": {kind: {"schema": {"type": "string"}} for kind in _MEDIA.values()},
        },
    },
)
def download_file(
    answer: AnswerDep, name: Annotated[str, Path(max_length=100, examples=["runs.csv"])]
) -> Response:
    """Returns a file of a finished experiment. A 404 lists the names."""
    require_done(answer.job)
    if name == REPORT:
        return show_report(answer)
    return answer.file(_file(answer, name), name, _MEDIA[name.rpartition(".")[2]])


def _file(answer: JobAnswer, name: str) -> str:
    from jobs.experiments.told import kept_files

    files: dict[str, str] = kept_files(answer.service.store, answer.job.id)["files"]
    if name not in files:
        known = f"its files are {', '.join(files)}" if files else "see its result and its options"
        raise ProblemError(404, f"job {answer.job.id} has no file {name!r:.100}; {known}")
    return files[name]


@router.get("/parameters", responses=_NOT_YET, response_model=Ranking)
async def rank_parameters(
    answer: AnswerDep,
    metric: Metric = None,
    top: Annotated[int | None, Query(ge=1, le=1000, description="Number of parameters.")] = None,
) -> Response:
    """Ranks the parameters by importance; with `metric`, by that metric alone.

    The order for a metric is by share of the variance, from the model that is shown first. If
    forests of the draws rank, it is by permutation importance.
    """
    return await answer.fitted(lambda: _ranked(answer, metric, top))


def _ranked(answer: JobAnswer, metric: str | None, top: int | None) -> dict[str, Any]:
    found, final = _known(answer, metric)
    rows = found.parameters if metric is None else found.sorted_by(metric)
    return {
        "final": final,
        "parameters": [row.document() for row in rows[:top]],
        "forest": {name: each.document() for name, each in found.forest.items()},
        "models": {name: each.document() for name, each in found.models.items()},
        "shown_first": found.shown_first,
        "anova_power": found.anova_power and found.anova_power.document(),
        "trust": trust_lines(found),
        "disagreement": disagreement_lines(found),
        "ranked_by": found.ranked_by,
    }


@router.get("/anova", responses=_NOT_YET, response_model=Anova)
async def show_anova(answer: AnswerDep, metric: Metric = None) -> Response:
    """Returns the analysis of variance of the draws, for every parameter and metric.

    Rows are by p, smallest first. With fewer than 30 draws nothing is ranked, and `words` states
    the detectable effect.
    """
    return await answer.fitted(lambda: _tested(answer, metric))


def _tested(answer: JobAnswer, metric: str | None) -> Anova:
    found, final = _known(answer, metric)
    rows = [
        AnovaRow.model_construct(parameter=row.name, metric=name, **test.document())
        for row in found.parameters
        for name, test in row.anova.items()
        if metric in (None, name)
    ]
    if found.ranks_anova:
        rows.sort(key=lambda row: (row.p is None, row.p or 0.0))
    return Anova.model_construct(final=final, rows=rows, words=anova_line(found))


def _known(answer: JobAnswer, metric: str | None) -> tuple[ParameterRanking, bool]:
    """The job's ranking, in which the metric is, and whether it is final."""
    found, final = job_ranking(answer.service, answer.job)
    if metric is not None and metric not in found.forest:
        known = ", ".join(found.forest)
        wrong = f"the objective has no metric {metric!r}; choose one of {known}"
        raise ProblemError(404, wrong, field_problems(InputError("metric", wrong)))
    return found, final


@router.get("/contributions", responses=_NOT_YET, response_model=Contributions)
def show_contributions(answer: AnswerDep) -> Response:
    """Returns the gain of each parameter in a finished greedy job."""
    found = Result.read(result_of(answer.service, answer.job)).contributions
    if found is None:
        why = "only the strategy greedy varies one parameter at a time"
        raise ProblemError(404, f"job {answer.job.id} has no contributions: {why}")
    return answer.json(found.document())


@router.get("/explanation", responses=_NOT_YET, response_model=Explanation)
async def explain_result(answer: AnswerDep) -> Response:
    """Explains the winner of a finished job: gain of each change, and the fewest changes."""

    def made() -> dict[str, Any]:
        from jobs.views.results import explained_job

        job = answer.job
        result = Result.read(result_of(answer.service, job))
        explanation, withheld = explained_job(answer.service.engine, job, result)
        if explanation is None:
            from jobs.report.changed import withheld_words

            why = withheld_words(withheld) or "nothing was proven better than its baseline"
            raise ProblemError(404, f"job {job.id} has nothing to explain: {why}")
        return explanation.document()

    return await answer.fitted(made)


@router.get(
    "/options",
    response_class=PlainTextResponse,
    responses={**_NOT_YET, **answers_with("Content-Disposition", "The file's name", status=200)},
)
def download_options(
    answer: AnswerDep,
    minimal: Annotated[
        bool, Query(description="Return the file with the fewest changes, according to models.")
    ] = False,
    which: Annotated[
        Which, Query(description="The proven winner, or the candidate with the most changes.")
    ] = "best",
    diff: Annotated[
        bool, Query(description="Return the patch of the job's own OPTIONS file.")
    ] = False,
    form: Annotated[Form, Query(alias="format", description="Format of the file.")] = "ini",
) -> Response:
    """Returns the OPTIONS file of the winner, or one with fewer or more changes.

    `format` writes it as option strings, for Ceph, as flags of db_bench or as JSON. `setoptions`
    lists the calls for a running database, and `table` how to apply each change.
    """
    from jobs.report.options_file import options_diff
    from jobs.results.export import difference_of
    from jobs.results.outcome import options_of

    job, engine = answer.job, answer.service.engine
    require_done(job)
    asked: Which = "minimal" if minimal else which
    text = options_of(engine, job.id, asked)
    if text is None and asked != "best" and options_of(engine, job.id) is not None:
        what = "fewer" if asked == "minimal" else "more"
        raise ProblemError(404, f"job {job.id} has no file with {what} changes than the best one")
    if text is None:
        refused = Result.read(result_of(answer.service, job)).export.refused
        why = f": {refused}" if refused else " found nothing better than its baseline"
        raise ProblemError(404, f"job {job.id}{why}")
    name = {"best": OPTIONS, "minimal": MINIMAL, "fullest": FULLEST}[asked]
    if diff:
        name, text = DIFFERENCE, difference_of(job.specification.get("baseline_options"), text)
        if text is None:
            raise ProblemError(404, f"job {job.id} was given no OPTIONS file to compare with")
    elif form != "ini":
        result = result_of(answer.service, job)
        changes = [line.change for line in options_diff(job, Result.read(result), text)]
        text = write_form(form, text, changes)
        name = f"{name.removesuffix('.ini')}.{_ENDINGS.get(form, f'{form}.txt')}"
    return answer.file(text, name, "application/json" if form == "json" else "text/plain")


@router.get("/charts", response_model=JobCharts)
def show_charts(answer: AnswerDep) -> Response:
    """Returns plots of all measurements so far, for Plotly; empty before the baseline is measured.

    In fields whose names end with color, a value such as `@accent` is a role, not a colour.
    """
    from jobs.views.live import live_charts

    charts = [
        ChartPublic.model_validate(chart, from_attributes=True)
        for chart in live_charts(answer.service.engine, answer.job)
    ]
    return answer.json(JobCharts.model_construct(charts=charts))


@router.get("/dependence", responses=_NOT_YET, response_model=Dependence)
async def show_dependence(answer: AnswerDep) -> Response:
    """Returns the predicted effect of each parameter on each metric, and the strongest pairs.

    The models learn from all new configurations so far; of many trials, from a sample.
    """

    def made() -> Dependence:
        from jobs.views.results import dependence_of_job

        found = dependence_of_job(answer.service.engine, answer.job)
        if found is None:
            why = "too few trials or no run of the baseline succeeded"
            problem = f"job {answer.job.id} has too little data for models yet: {why}"
            raise ProblemError(409, problem)
        return found

    return await answer.fitted(made)


@router.get("/pareto", responses=_NOT_YET, response_model=ParetoFront)
def show_pareto(answer: AnswerDep, axes: Annotated[FrontRequest, Query()]) -> Response:
    """Returns the Pareto front of a finished job in the metrics of its objective.

    With x and y, the front in these two metrics, of any job with a baseline.
    """
    from jobs.views.pick import front_of_two

    x, y, job, service = axes.x, axes.y, answer.job, answer.service
    if x is not None and y is not None:
        trials = measured_trials(service, job)
        return answer.json(front_of_two(resolve_stored(job).problem, trials, x, y))
    if x is not None or y is not None:
        raise InputError("x" if x is None else "y", "give both x and y, or neither")
    result = Result.read(result_of(service, job))
    points = [
        ParetoPoint.model_construct(
            number=number,
            metrics={name: measured[name] for name in result.terms if name in measured},
            configuration=configuration,
        )
        for number, configuration, measured in service.store.points(job.id, result.pareto)
    ]
    front = ParetoFront.model_construct(
        metrics=result.terms, points=points, hypervolume=result.hypervolume
    )
    return answer.json(front)


# uvicorn's own answer; a text of letters that are no ASCII takes up to twelve characters for each.
_TOO_LONG: dict[int | str, dict[str, Any]] = {
    400: {
        "description": "The path with its query is longer than 65,535 characters",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
}


@router.get("/pick", response_model=PickAnswer, responses={**_NOT_YET, **_TOO_LONG})
async def pick_by_preference(
    answer: AnswerDep, asked: Annotated[PickRequest, Query()]
) -> Response:
    """Picks the fittest measured configurations by a preference: explored, not proven."""
    return await answer.fitted(lambda: picked(answer.service, answer.job, asked))
