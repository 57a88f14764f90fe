"""The pages of a job: how it goes, what matters, what was won; its actions; jobs side by side."""

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse
from pydantic import Field

from api.auth.security import FormDep, GuardedRoute
from api.http.problems import ProblemError
from api.pages.page import Administrator, Reader, Submitter, Visit
from api.routes import jobs
from api.routes.jobs import event_id
from api.schemas.job_schemas import JobPage, JobPublic
from api.services.dependencies import (
    JobDep,
    Service,
    TunedJobDep,
    job_ranking,
    picked,
    result_if_done,
)
from db.jobs.job_store import read_jobs
from db.schema.job_row import ENDED, JobKind, JobRow, JobState, NoSuchJob
from db.workloads import find_workload
from jobs.queue.lifecycle import WrongState, is_external
from jobs.report.course import environment_section
from jobs.report.ranking import ranking_sections
from jobs.report.section import Section
from jobs.results.outcome import kept_of
from jobs.results.output_folder import OPTIONS
from jobs.specification.experiments import PickRequest
from jobs.views.live import baseline_so_far, live_job
from jobs.views.results import (
    front_charts,
    importance_details,
    outcome_view,
    results_view,
    side_by_side,
)
from optimizer.objective.objective import MOST_WEIGHT
from optimizer.objective.objective_file import objective_from_document
from optimizer.results.document import Result
from sampler.common.errors import InputError
from sampler.workload.metric_table import shown_in

# The end of the address, and what the tab is called. A tab is listed once its page is there.
TABS = {"": "Overview", "matters": "Importance", "won": "Result", "trials": "Trials"}


def job_page(
    visit: Visit, template: str, *, job: JobRow, tab: str, status: int = 200, **content: Any
) -> HTMLResponse:
    """A page of a job: a template that extends ``job.html`` and fills its block ``tab``.

    The template knows ``job``, an ``api.schemas.job_schemas.JobPublic``, beside its content.
    """
    tabs = TABS if job.kind is JobKind.TUNE else {}
    return visit.page(
        template,
        status=status,
        job=JobPublic.of(job),
        tabs=[(f"/jobs/{job.id}{'/' if end else ''}{end}", TABS[end], end == tab) for end in tabs],
        workload=_workload(visit.service, job),
        environment=environment_section(job.environment or {}),
        live=job.state not in ENDED,
        resumable=job.state in (JobState.FAILED, JobState.CANCELLED),
        **content,
    )


def _workload(service: Service, job: JobRow) -> Literal["profiled", "known"] | None:
    """Whether the workload has a page, and on it the profile of a database."""
    if job.kind is not JobKind.TUNE:  # it may have several
        return None
    name = job.specification["workload"]["name"]
    if name in service.registered:
        return "known"
    sent = find_workload(service.engine, name)
    return None if sent is None else "profiled" if sent.profile else "known"


router = APIRouter(include_in_schema=False, route_class=GuardedRoute)


@router.get("/jobs/{job_id}")
def live_page(visit: Reader, job: JobDep) -> Response:
    """The page as the job stands now; its script keeps it so."""
    result = result_if_done(visit.service, job)
    if job.kind is not JobKind.TUNE:
        return _experiment_page(visit, job, result)
    found = live_job(visit.engine, job)
    return job_page(
        visit,
        "live.html",
        job=job,
        tab="",
        found=found,
        seen=event_id(found.latest[0].trial) if found.latest else None,
        finished=outcome_view(job, Result.read(result), kept_of(visit.engine, job.id))
        if result
        else None,
    )


def _experiment_page(visit: Visit, job: JobRow, result: Mapping[str, Any] | None) -> Response:
    """What an experiment asks, how it stands, and what it says once it is done."""
    from jobs.experiments.told import kept_files, told_of

    kept = kept_files(visit.service.store, job.id)
    return job_page(
        visit,
        "experiment.html",
        job=job,
        tab="",
        told=None if result is None else told_of(job.kind, result),
        explained=job.specification["asked"].get("job"),
        cautions=kept["cautions"],
        files=[*kept["files"]],
    )


@router.post("/jobs/{job_id}/cancel")
def cancel_by_button(visit: Submitter, job: JobDep, _form: FormDep) -> Response:
    """Ends a job; what was measured is kept."""
    jobs.cancel_job(visit.service, job)
    return RedirectResponse(f"/jobs/{job.id}", 303)


@router.post("/jobs/{job_id}/resume")
def resume_by_button(visit: Submitter, job: JobDep, _form: FormDep) -> Response:
    """Lets a failed or cancelled job go on from what it has measured."""
    jobs.resume_job(visit.service, job)
    return RedirectResponse(f"/jobs/{job.id}", 303)


@router.post("/jobs/{job_id}/delete")
def delete_by_button(visit: Administrator, job: JobDep, _form: FormDep) -> Response:
    """Deletes an ended job with all that it measured."""
    jobs.delete_job(visit.service, job)
    return RedirectResponse("/", 303)


@router.get("/jobs/{job_id}/matters")
async def importance_page(
    visit: Reader,
    job: TunedJobDep,
    metric: Annotated[str, Query(max_length=200)] = "",
    details: bool = False,
) -> Response:
    """What matters: the ranking, its tests, how each parameter works, and how sure all that is.

    With ``details`` what is learned from the trials one by one stands in it.
    """
    return await visit.fitted(lambda: _importance_page(visit, job, metric, details))


def _importance_page(visit: Visit, job: JobRow, metric: str, details: bool) -> Response:
    found: list[Section] = []
    more: list[Section] = []
    metrics: list[str] = []
    final = False
    try:
        ranking, final = job_ranking(visit.service, job)
    except (ProblemError, WrongState):
        pass
    else:
        metrics = list(ranking.forest)
        if metric and metric not in metrics:
            known = ", ".join(metrics)
            raise InputError("metric", f"the objective has no {metric!r:.80}; choose from {known}")
        found = ranking_sections(ranking, metric=metric or None)
        if details:
            more = importance_details(visit.engine, job, ranking)
    return job_page(
        visit,
        "matters.html",
        job=job,
        tab="matters",
        found=found,
        final=final,
        external=is_external(job),
        metric=metric,
        metrics=metrics,
        details=details,
        more=more,
    )


PREFIX = "weight-"
_USUAL_MOST = 5.0
Limits = Annotated[str, Query(alias="limit", max_length=2000)]


@dataclass(frozen=True)
class Slider:
    """One metric's weight, up to ``most``: as asked for, or the objective's; 0 does not count."""

    metric: str
    weight: float
    most: float


def sliders(
    request: Request, own: Mapping[str, float], known: Mapping[str, float]
) -> tuple[list[Slider], bool]:
    """A job's sliders, and whether a preference was asked for; an InputError of a wrong weight.

    The request's query has a field for each slider that was moved. ``own`` are the weights of the
    job's objective by metric, ``known`` the baseline's metrics.
    """
    usual = [name for name in shown_in("slider") if name in known]
    query, names = request.query_params, dict.fromkeys([*own, *usual])
    given = {name: _weight(name, query[PREFIX + name]) for name in names if PREFIX + name in query}
    weights = {name: given.get(name, 0.0 if given else own.get(name, 0.0)) for name in names}
    shown = [
        Slider(name, weight, max(_USUAL_MOST, 2 * own.get(name, 0.0), weight))
        for name, weight in weights.items()
    ]
    return shown, bool(given)


def preference_of(shown: Sequence[Slider], limits: str) -> PickRequest:
    """What the form asks for, limits apart by ``;`` or lines; an InputError of weights of 0."""
    counted = [each for each in shown if each.weight > 0]
    if not counted:
        raise InputError("weights", "every weight is 0; move at least one slider")
    weights = ",".join(f"{each.metric}={each.weight:g}" for each in counted)
    named = [part.strip() for part in limits.replace("\n", ";").split(";")]
    return PickRequest.model_construct(weights=weights, limit=[part for part in named if part])


def _weight(name: str, text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0 <= weight <= MOST_WEIGHT:
        raise InputError("weights", f"{name}: {text!r:.40} is not from 0 to {MOST_WEIGHT:g}")
    return weight


@router.get("/jobs/{job_id}/won")
async def results_page(
    visit: Reader, job: TunedJobDep, limits: Limits = "", details: bool = False
) -> Response:
    """What was won: the proof, the front, the file, and the best by the reader's own preference.

    With ``details`` the plots that need all trials stand in it.
    """
    return await visit.fitted(lambda: _results_page(visit, job, limits, details))


def _results_page(visit: Visit, job: JobRow, limits: str, details: bool) -> Response:
    asked = _asked(visit, job, limits)
    document = result_if_done(visit.service, job)
    result = Result.read(document) if document else None
    return job_page(
        visit,
        "won.html",
        job=job,
        tab="won",
        status=422 if asked and asked["problem"] else 200,
        view=results_view(visit.engine, job, result) if result else None,
        asked=asked,
        details=details,
        plots=front_charts(visit.engine, job, result) if details and result else [],
    )


@router.get("/jobs/{job_id}/won/options")
def picked_options(visit: Reader, job: TunedJobDep, limits: Limits = "") -> Response:
    """The OPTIONS file of the best by the preference that the form asks for."""
    baseline = baseline_so_far(visit.engine, job)
    shown, _given = sliders(visit.request, _own(job), baseline.metrics if baseline else {})
    text = picked(visit.service, job, preference_of(shown, limits)).options
    if text is None:
        raise ProblemError(404, "by this preference, nothing is better than the baseline")
    disposition = f'attachment; filename="{OPTIONS}"'
    headers = {"Content-Disposition": disposition, "Cache-Control": "no-store"}
    return PlainTextResponse(text, headers=headers)


def _asked(visit: Visit, job: JobRow, limits: str) -> dict[str, Any] | None:
    """The form of a preference, the command that asks the same, and what it picks.

    ``picked`` is as ``/v1/jobs/{id}/pick`` answers; None: nothing was asked, or it is refused, as
    ``problem`` says. None at all before the baseline was measured.
    """
    baseline = baseline_so_far(visit.engine, job)
    if baseline is None:
        return None
    usual = [Slider(name, weight, _USUAL_MOST) for name, weight in _own(job).items()]
    asked: dict[str, Any] = {"sliders": usual, "limits": limits, "command": "", "picked": None}
    problem = None
    try:
        asked["sliders"], given = sliders(visit.request, _own(job), baseline.metrics)
        preference = preference_of(asked["sliders"], limits)
        best = picked(visit.service, job, preference) if given or limits else None
        asked |= {"picked": best, "command": _command(job, preference)}
    except InputError as error:
        problem = f"{error.field}: {error.problem}"
    except ProblemError as error:
        problem = error.problem.detail
    return asked | {"problem": problem}


def _own(job: JobRow) -> dict[str, float]:
    terms = objective_from_document(job.specification["objective"]).terms
    return {term.metric: term.weight for term in terms}


def _command(job: JobRow, preference: PickRequest) -> str:
    words = ["rocktune", "pick", str(job.id), "--weights", preference.weights or ""]
    for limit in preference.limit or ():
        words += ["--limit", limit]
    return shlex.join(words)


_MOST_JOBS, _OFFERED = 6, 20
_NO_JOBS: list[str] = []
_Jobs = Annotated[str, Field(max_length=200)]


@router.get("/compare")
def compare_page(
    visit: Reader, jobs: Annotated[list[_Jobs], Query(max_length=20)] = _NO_JOBS
) -> Response:
    """The jobs that are named, as ``1,2`` or repeated; without any, the newest to choose from."""
    problem, asked, given = None, [], ",".join(jobs)
    try:
        rows = [visit.service.store.job(number) for number in _numbers(given)]
        for row in rows:
            if row.kind is not JobKind.TUNE:
                raise InputError("jobs", f"job {row.id} is of kind {row.kind}; name tuning jobs")
        asked = [(row, result_if_done(visit.service, row)) for row in rows]
    except InputError as error:
        problem = error.problem
    except NoSuchJob as error:
        problem = f"{error.args[0]}; name other jobs"
    newest = read_jobs(visit.engine, limit=_OFFERED, state=JobState.DONE, kind=JobKind.TUNE)
    return visit.page(
        "compare.html",
        status=422 if problem else 200,
        given=given,
        problem=problem,
        jobs=[row for row, _ in asked],
        found=side_by_side(asked) if asked else None,
        newest=JobPage.of(newest, _OFFERED).jobs,
    )


def _numbers(text: str) -> list[int]:
    parts = [part.strip().lstrip("#") for part in text.split(",") if part.strip()]
    if not all(part.isascii() and part.isdecimal() and len(part) < 19 for part in parts):
        raise InputError("jobs", "write job numbers separated by commas, such as 1,2")
    numbers = list(dict.fromkeys(int(part) for part in parts))
    if numbers and not 2 <= len(numbers) <= _MOST_JOBS:
        raise InputError("jobs", f"name 2 to {_MOST_JOBS} jobs, such as 1,2")
    return numbers
