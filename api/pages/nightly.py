"""Nightly batches: the schedules that start them, how their jobs stand, what their nights show."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from api.pages.page import Reader
from api.pages.tables import table_address
from api.routes.jobs import After
from api.routes.schedules import (
    BatchName,
    NightOf,
    ScheduleName,
    judged_nights,
    list_schedules,
    triage_nights,
)
from api.schemas.schedule_schemas import BatchBrief
from db.nightly.batches import job_states, read_batches
from db.nightly.nights import batch_names, parameter_nights
from jobs.regression.detection import regressions_of_batch
from jobs.regression.report import LEGEND, report_lines, series_charts, series_rows
from jobs.regression.triage import counter_words
from jobs.results.figures import value_words
from optimizer.budget.power import p_words
from sampler.bench.installed import build_words
from sampler.parameters.catalogue import catalogue

router = APIRouter(include_in_schema=False)
_ROWS = 20
_MOST = 12  # batches in the list of nights: each is judged anew when a night is new


@router.get("/schedules")
def schedules_page(visit: Reader) -> Response:
    """All schedules, and the newest batches, those of terminals too."""
    return visit.page(
        "schedules.html",
        schedules=list_schedules(visit.service),
        batches=[BatchBrief.of(row) for row in read_batches(visit.engine, limit=_ROWS)],
    )


@router.get("/batches")
def batches_page(visit: Reader, name: BatchName = None, after: After = None) -> Response:
    """A page of batches, the newest first; with ``name`` those of that name."""
    rows = read_batches(visit.engine, limit=_ROWS, after=after, name=name)
    states = job_states(visit.engine, [row.id for row in rows])

    def at(**more: object) -> str:
        return table_address("/batches", {"name": name, **more}, "")

    batches = []
    for row in rows:
        items = [each["item"] for each in row.document["items"]]
        batches.append((row, [(item, *states[row.id].get(item, (None, None))) for item in items]))
    return visit.page(
        "batches.html",
        batches=batches,
        name=name,
        first=at() if after is not None else None,
        following=at(after=rows[-1].id) if len(rows) == _ROWS else None,
    )


@router.get("/nights")
def all_nights_page(visit: Reader) -> Response:
    """A row for each series of the batches that ended last."""
    names = batch_names(visit.engine, limit=_MOST)
    found = {name: regressions_of_batch(visit.engine, name) for name in names}
    batches = {name: (report, series_rows(report)) for name, report in found.items() if report}
    return visit.page("all_nights.html", batches=batches, most=_MOST)


@router.get("/nights/{name}")
def nights_page(
    visit: Reader,
    name: ScheduleName,
    item: Annotated[str, Query(max_length=500)] = "",
    parameter: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """The regression watch of a batch's nights; with ``parameter`` the history of one."""
    found = judged_nights(visit.service, name)
    items = sorted({each for night in found.nights for each in night.items})
    item = item or (items[0] if items else "")
    history = parameter_nights(visit.engine, name, item, parameter) if parameter else []
    known = catalogue().get(parameter)
    return visit.page(
        "nights.html",
        name=name,
        found=found,
        report_lines=report_lines,
        legend=LEGEND,
        charts=series_charts(found),
        items=items,
        item=item,
        parameter=parameter,
        parameters=sorted(catalogue()),
        history=history,
        words=lambda value: "-" if value is None else value_words(value, known),
    )


@router.get("/nights/{name}/triage")
def triage_page(visit: Reader, name: ScheduleName, night: NightOf = None) -> Response:
    """What moved together in one night, and what else changed then."""
    return visit.page(
        "triage.html",
        name=name,
        found=triage_nights(visit.service, name, night),
        counter=counter_words,
        build=build_words,
        p_words=p_words,
    )
