"""What was won: the proof, the front, the file, and the best by the reader's own preference."""

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import PlainTextResponse

from api.http.problems import ProblemError
from api.pages.job_page import job_page
from api.pages.page import Reader, Visit
from api.services.dependencies import Service, ServiceDep, TunedJobDep
from api.services.fit_queue import FitsDep
from api.services.stored_job import picked, result_if_done
from db.schema.job_row import JobRow
from jobs.results.output_folder import OPTIONS
from jobs.views.live import baseline_so_far
from jobs.views.pick import Preference
from jobs.views.results import front_charts, results_view
from optimizer.objective.objective_file import MOST_WEIGHT, objective_from_document
from sampler.common.errors import InputError

PREFIX = "weight-"
_ALSO = ("rate", "write_p99", "read_p99", "waf", "sa", "time", "memory", "cpu_percent")
_USUAL_MOST = 5.0


@dataclass(frozen=True)
class Slider:
    """One metric's weight, up to ``most``: as asked for, or the objective's; 0 does not count."""

    metric: str
    weight: float
    most: float

    @property
    def text(self) -> str:
        """The weight as a form has it."""
        return f"{self.weight:g}"


def sliders(
    request: Request, own: Mapping[str, float], known: Mapping[str, float]
) -> tuple[list[Slider], bool]:
    """A job's sliders, and whether a preference was asked for; an InputError of a wrong weight.

    The request's query has a field for each slider that was moved. ``own`` are the weights of the
    job's objective by metric, ``known`` the baseline's metrics.
    """
    names = list(dict.fromkeys([*own, *(name for name in _ALSO if name in known)]))
    given = {
        name: _weight(name, request.query_params[PREFIX + name])
        for name in names
        if PREFIX + name in request.query_params
    }
    shown = [
        Slider(name, weight, max(_USUAL_MOST, 2 * own.get(name, 0.0), weight))
        for name in names
        for weight in [given.get(name, 0.0 if given else own.get(name, 0.0))]
    ]
    return shown, bool(given)


def preference_of(shown: Sequence[Slider], limits: str) -> Preference:
    """What the form asks for, limits apart by ``;`` or lines; an InputError of weights of 0."""
    counted = [each for each in shown if each.weight > 0]
    if not counted:
        raise InputError("weights", "every weight is 0; move at least one slider")
    weights = ",".join(f"{each.metric}={each.text}" for each in counted)
    named = [part.strip() for part in limits.replace("\n", ";").split(";")]
    return Preference(weights=weights, limits=[part for part in named if part])


def _weight(name: str, text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0 <= weight <= MOST_WEIGHT:
        raise InputError("weights", f"{name}: {text!r:.40} is no number from 0 to {MOST_WEIGHT:g}")
    return weight


router = APIRouter(include_in_schema=False)
Limits = Annotated[str, Query(alias="limit", max_length=2000)]


@dataclass(frozen=True)
class PreferenceForm:
    """A preference, the command that asks the same, and what it picks or why it is refused.

    ``found`` is as ``/v1/jobs/{id}/pick`` answers; None: nothing was asked, or it is refused.
    """

    sliders: list[Slider]
    limits: str
    command: str
    found: Mapping[str, Any] | None = None
    problem: str | None = None


@router.get("/jobs/{job_id}/won")
async def results_page(
    visit: Reader,
    service: ServiceDep,
    fits: FitsDep,
    job: TunedJobDep,
    limits: Limits = "",
    details: bool = False,
) -> Response:
    """The page; with ``details`` the plots that need all trials stand in it."""
    return await fits.answer(visit.request, lambda: _made(visit, service, job, limits, details))


def _made(visit: Visit, service: Service, job: JobRow, limits: str, details: bool) -> Response:
    asked = _asked(visit.request, service, job, limits)
    result = result_if_done(service, job)
    return job_page(
        visit,
        "won.html",
        job=job,
        tab="won",
        status=200 if asked is None or asked.problem is None else 422,
        found=results_view(service.engine, job, result) if result else None,
        asked=asked,
        details=details,
        plots=front_charts(service.engine, job, result) if details and result else [],
    )


@router.get("/jobs/{job_id}/won/options")
def picked_options(
    visit: Reader, service: ServiceDep, job: TunedJobDep, limits: Limits = ""
) -> Response:
    """The OPTIONS file of the best by the preference that the form asks for."""
    baseline = baseline_so_far(service.engine, job)
    shown, _given = sliders(visit.request, _own(job), baseline.metrics if baseline else {})
    text = picked(service, job, preference_of(shown, limits))["options"]
    if text is None:
        raise ProblemError(404, "by this preference nothing is better than the baseline")
    headers = {
        "Content-Disposition": f'attachment; filename="{OPTIONS}"',
        "Cache-Control": "no-store",
    }
    return PlainTextResponse(text, headers=headers)


def _asked(request: Request, service: Service, job: JobRow, limits: str) -> PreferenceForm | None:
    """The preference; None before the baseline was measured."""
    baseline = baseline_so_far(service.engine, job)
    if baseline is None:
        return None
    shown = [Slider(name, weight, _USUAL_MOST) for name, weight in _own(job).items()]
    try:
        shown, given = sliders(request, _own(job), baseline.metrics)
        preference = preference_of(shown, limits)
        command = _command(job, preference)
        found = picked(service, job, preference) if given or limits else None
        return PreferenceForm(shown, limits, command, found)
    except InputError as error:
        problem = f"{error.field}: {error.problem}"
    except ProblemError as error:
        problem = error.problem.detail
    return PreferenceForm(shown, limits, "", problem=problem)


def _own(job: JobRow) -> dict[str, float]:
    terms = objective_from_document(job.specification["objective"]).terms
    return {term.metric: term.weight for term in terms}


def _command(job: JobRow, preference: Preference) -> str:
    words = ["rocktune", "pick", str(job.id), "--weights", preference.weights or ""]
    for limit in preference.limits:
        words += ["--limit", limit]
    return shlex.join(words)
