"""What was won: the proof, the path, the front, the file, and how to use it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import PlainTextResponse

from api.auth.security import Caller, page_requires
from api.http.problems import ProblemError
from api.pages.job_tabs import job_page
from api.pages.preference import Slider, preference_of, sliders
from api.services.dependencies import JobDep, Service, ServiceDep
from api.services.finished_job import result_of
from api.services.picked import picked
from db.access.tokens import Role
from db.schema.job_row import JobRow, JobState
from jobs.report.artifacts import OPTIONS
from jobs.views.pick import Preference
from jobs.views.results import front_charts, results_view
from jobs.views.trial_series import baseline_so_far
from optimizer.objective.objective_file import objective_from_document
from sampler.common.errors import InputError

router = APIRouter(include_in_schema=False)
Reader = Annotated[Caller, page_requires(Role.READ)]
Limits = Annotated[str, Query(alias="limit", max_length=2000)]


@dataclass(frozen=True)
class Asked:
    """A preference and what it picks.

    Attributes:
        sliders: The form.
        limits: As they were written.
        command: The same in a terminal.
        found: As ``/v1/jobs/{id}/pick`` answers; None: nothing was asked, or it is refused.
        problem: Why it is refused.
    """

    sliders: list[Slider]
    limits: str
    command: str
    found: Mapping[str, Any] | None = None
    problem: str | None = None


@router.get("/jobs/{job_id}/won")
def won_page(
    request: Request,
    service: ServiceDep,
    caller: Reader,
    job: JobDep,
    limits: Limits = "",
    details: bool = False,
) -> Response:
    """The page; with ``details`` the plots that need all trials stand in it."""
    asked = _asked(request, service, job, limits)
    result = result_of(service, job) if job.state is JobState.DONE else None
    return job_page(
        request,
        "won.html",
        caller=caller,
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
    request: Request, service: ServiceDep, _: Reader, job: JobDep, limits: Limits = ""
) -> Response:
    """The OPTIONS file of the best by the preference that the form asks for."""
    baseline = baseline_so_far(service.engine, job)
    shown, _given = sliders(request, _own(job), baseline.metrics if baseline else {})
    text = picked(service, job, preference_of(shown, limits))["options"]
    if text is None:
        raise ProblemError(404, "by this preference nothing is better than the baseline")
    headers = {
        "Content-Disposition": f'attachment; filename="{OPTIONS}"',
        "Cache-Control": "no-store",
    }
    return PlainTextResponse(text, headers=headers)


def _asked(request: Request, service: Service, job: JobRow, limits: str) -> Asked | None:
    """The preference; None before the baseline was measured."""
    baseline = baseline_so_far(service.engine, job)
    if baseline is None:
        return None
    try:
        shown, given = sliders(request, _own(job), baseline.metrics)
    except InputError as error:
        shown = [Slider(name, weight, 5.0) for name, weight in _own(job).items()]
        return Asked(shown, limits, "", problem=f"{error.field}: {error.problem}")
    try:
        preference = preference_of(shown, limits)
        command = _command(job, preference)
        found = picked(service, job, preference) if given or limits else None
        return Asked(shown, limits, command, found)
    except InputError as error:
        return Asked(shown, limits, "", problem=f"{error.field}: {error.problem}")
    except ProblemError as error:
        return Asked(shown, limits, "", problem=error.problem.detail)


def _own(job: JobRow) -> dict[str, float]:
    terms = objective_from_document(job.specification["objective"]).terms
    return {term.metric: term.weight for term in terms}


def _command(job: JobRow, preference: Preference) -> str:
    words = ["rocktune", "pick", str(job.id), "--weights", preference.weights or ""]
    for limit in preference.limits:
        words += ["--limit", limit]
    return shlex.join(words)
