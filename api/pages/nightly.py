"""Pages of nightly batches (schedules, jobs, nights), and of the webhooks that tell of them."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from api.auth.security import FormDep, GuardedRoute
from api.http.problems import ProblemError, findings_in, refused
from api.pages.page import Administrator, Reader, Visit
from api.pages.tables import table_address
from api.routes.jobs import After
from api.routes.schedules import (
    BatchName,
    NightOf,
    ScheduleName,
    WebhookId,
    delete_webhook,
    judged_nights,
    list_schedules,
    list_webhooks,
    make_webhook,
    test_webhook,
    triage_nights,
)
from api.schemas.schedule_schemas import BatchBrief, DeliveryPublic, WebhookCreate
from db.nightly.batches import job_states, read_batches
from db.nightly.nights import batch_names, parameter_nights
from db.webhooks import EVENTS, read_deliveries
from jobs.regression.detection import regressions_of_batch
from jobs.regression.report import LEGEND, report_lines, series_charts, series_rows
from jobs.regression.triage import counter_words
from jobs.results.figures import value_words
from optimizer.budget.power import p_words
from sampler.bench.installed import build_words
from sampler.rocksdb.parameters import catalogue

router = APIRouter(include_in_schema=False, route_class=GuardedRoute)
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


_ALL = dict.fromkeys(EVENTS, "yes")


@router.get("/webhooks")
def webhooks_page(visit: Administrator) -> Response:
    """All of them, and the form."""
    return _webhooks_page(visit, values=_ALL)


@router.post("/webhooks")
def add_by_form(visit: Administrator, form: FormDep) -> Response:
    """Adds one; the page that answers shows its secret, once."""
    asked = {
        "url": form.get("url", "").strip(),
        "events": [each for each in EVENTS if each in form],
    }
    try:
        sent = WebhookCreate.model_validate(asked)
        made = make_webhook(visit.service, Response(), sent, visit.caller)
    except (ValidationError, ProblemError) as error:
        if isinstance(error, ValidationError):
            error = refused(findings_in(error, asked))
        wrong = error.problem
        return _webhooks_page(visit, values=form, status=wrong.status, wrong=wrong.detail)
    return _webhooks_page(visit, values=_ALL, made=made)


@router.post("/webhooks/{webhook_id}/{action}")
def act_on_webhook(
    visit: Administrator, webhook_id: WebhookId, action: Literal["test", "delete"], _form: FormDep
) -> Response:
    """Deletes one, or sends it a test message."""
    if action == "delete":
        delete_webhook(visit.service, webhook_id)
    else:
        test_webhook(visit.service, Response(), webhook_id)
    return RedirectResponse("/webhooks", 303)


def _webhooks_page(visit: Visit, **more: Any) -> Response:
    known = {"made": None, "wrong": "", "webhooks": list_webhooks(visit.service), "events": EVENTS}
    told = [DeliveryPublic.of(row) for row in read_deliveries(visit.engine)]
    return visit.page("webhooks.html", **known | {"deliveries": told} | more)
