"""The nights of batches: every series, the changes of one batch, and the triage of one change."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from api.http.problems import ProblemError
from api.pages.page import Reader
from api.routes.schedules import NightOf, ScheduleName, triage_nights
from api.services.dependencies import ServiceDep
from db.nightly.batches import read_batches
from db.nightly.nights import batch_names, parameter_nights
from jobs.regression.detection import regressions_of_batch
from jobs.regression.report import drawn_series, report_lines, series_rows
from jobs.regression.triage import build_words, counter_words
from jobs.results.option_changes import value_words
from optimizer.budget.power import p_words
from sampler.parameters.catalogue import catalogue
from sampler.parameters.parameter import Parameter, Value

router = APIRouter(include_in_schema=False)
_MOST = 12  # batches in the list: each is judged anew when a night is new


@router.get("/nights")
def all_nights_page(visit: Reader, service: ServiceDep) -> Response:
    """A row for each series of the batches that ended last."""
    names = batch_names(service.engine, limit=_MOST)
    found = {name: regressions_of_batch(service.engine, name) for name in names}
    batches = {name: (report, series_rows(report)) for name, report in found.items() if report}
    return visit.page("all_nights.html", batches=batches, most=_MOST)


@router.get("/nights/{name}")
def nights_page(
    visit: Reader,
    service: ServiceDep,
    name: ScheduleName,
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
        changed=bool(found and found.findings),
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


@router.get("/nights/{name}/triage")
def triage_page(
    visit: Reader, service: ServiceDep, name: ScheduleName, night: NightOf = None
) -> Response:
    """What moved together in one night, and what else changed then."""
    words: dict[str, Any] = {"counter": counter_words, "build": build_words, "p_words": p_words}
    return visit.page("triage.html", name=name, found=triage_nights(service, name, night), **words)
