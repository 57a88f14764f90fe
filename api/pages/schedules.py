"""Schedules and the nights of their batches: when each is due, what came of it, what changed."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from api.http.problems import ProblemError
from api.pages.page import Reader
from api.routes.schedules import list_schedules
from api.schemas.schedule_schemas import NAME_PATTERN, BatchBrief
from api.services.dependencies import ServiceDep
from db.nightly.batches import read_batches
from db.nightly.nights import parameter_nights
from jobs.regression.detection import regressions_of_batch
from jobs.regression.report import drawn_series, report_lines
from jobs.results.option_changes import value_words
from sampler.parameters.catalogue import catalogue
from sampler.parameters.parameter import Parameter, Value

router = APIRouter(include_in_schema=False)
Name = Annotated[str, Path(max_length=200, pattern=NAME_PATTERN)]
_LAST = 20


@router.get("/schedules")
def schedules_page(visit: Reader, service: ServiceDep) -> Response:
    """All schedules, and the newest batches, those of terminals too."""
    return visit.page(
        "schedules.html",
        schedules=list_schedules(service),
        batches=[BatchBrief.of(row) for row in read_batches(service.engine, limit=_LAST)],
    )


@router.get("/nights/{name}")
def nights_page(
    visit: Reader,
    service: ServiceDep,
    name: Name,
    item: Annotated[str, Query(max_length=500)] = "",
    parameter: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """The regression watch of a batch's nights; with ``parameter`` the history of one."""
    found = regressions_of_batch(service.engine, name)
    if found is None and not read_batches(service.engine, limit=1, name=name):
        raise ProblemError(404, f"there is no batch {name!r}")
    items = sorted({each for night in found.nights for each in night.items}) if found else []
    item = item or (items[0] if items else "")
    history = parameter_nights(service.engine, name, item, parameter) if parameter else []
    known = catalogue().get(parameter)
    return visit.page(
        "nights.html",
        name=name,
        nights=len(found.nights) if found else 0,
        lines=report_lines(found) if found else [],
        series=drawn_series(found) if found else {},
        items=items,
        item=item,
        parameter=parameter,
        parameters=sorted(catalogue()),
        history=[
            (night, _words(night.value, known), _words(night.baseline, known)) for night in history
        ],
    )


def _words(value: Value | None, parameter: Parameter | None) -> str:
    return "-" if value is None else value_words(value, parameter)
