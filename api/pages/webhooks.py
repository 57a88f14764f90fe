"""Webhooks: who is told what, the last deliveries, and the form that adds one."""

from typing import Any, Literal

from fastapi import APIRouter, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from api.auth.security import FormDep, GuardedRoute
from api.http.problems import ProblemError, findings_in, refused
from api.pages.page import Administrator, Visit
from api.routes.webhooks import (
    WebhookId,
    delete_webhook,
    list_webhooks,
    make_webhook,
    test_webhook,
)
from api.schemas.webhook_schemas import DeliveryPublic, WebhookCreate
from db.webhooks import EVENTS, read_deliveries

router = APIRouter(include_in_schema=False, route_class=GuardedRoute)
_ALL = dict.fromkeys(EVENTS, "yes")


@router.get("/webhooks")
def webhooks_page(visit: Administrator) -> Response:
    """All of them, and the form."""
    return _page(visit, values=_ALL)


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
        return _page(visit, values=form, status=wrong.status, wrong=wrong.detail)
    return _page(visit, values=_ALL, made=made)


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


def _page(visit: Visit, **more: Any) -> Response:
    known = {"made": None, "wrong": "", "webhooks": list_webhooks(visit.service), "events": EVENTS}
    told = [DeliveryPublic.of(row) for row in read_deliveries(visit.engine)]
    return visit.page("webhooks.html", **known | {"deliveries": told} | more)
