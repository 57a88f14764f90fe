"""Webhooks: who is told what, the last deliveries, and the form that adds one."""

from typing import Any, Literal

from fastapi import APIRouter, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from api.auth.security import FormDep, page_requires
from api.http.problems import ProblemError, refused
from api.pages.page import Administrator, Visit
from api.routes.webhooks import (
    WebhookId,
    delete_webhook,
    list_webhooks,
    make_webhook,
    test_webhook,
)
from api.schemas.webhook_schemas import DeliveryPublic, WebhookCreate
from api.services.dependencies import Service, ServiceDep
from api.services.validation_errors import findings_in
from db.access.tokens import Role
from db.webhooks import EVENTS, read_deliveries

router = APIRouter(include_in_schema=False)


@router.get("/webhooks")
def webhooks_page(visit: Administrator, service: ServiceDep) -> Response:
    """All of them, and the form."""
    return _page(visit, service, values=dict.fromkeys(EVENTS, "yes"))


@router.post("/webhooks")
def add_by_form(visit: Administrator, service: ServiceDep, form: FormDep) -> Response:
    """Adds one; the page that answers shows its secret, once."""
    asked = {
        "url": form.get("url", "").strip(),
        "events": [each for each in EVENTS if each in form],
    }
    try:
        sent = WebhookCreate.model_validate(asked)
        made = make_webhook(service, Response(), sent, visit.caller)
    except (ValidationError, ProblemError) as error:
        if isinstance(error, ValidationError):
            error = refused(findings_in(error, asked))
        wrong = error.problem
        return _page(visit, service, values=form, status=wrong.status, wrong=wrong.detail)
    return _page(visit, service, values=dict.fromkeys(EVENTS, "yes"), made=made)


@router.post("/webhooks/{webhook_id}/{action}", dependencies=[page_requires(Role.ADMIN)])
def act_on_webhook(
    service: ServiceDep, webhook_id: WebhookId, action: Literal["test", "delete"], _form: FormDep
) -> Response:
    """Deletes one, or sends it a test message."""
    if action == "delete":
        delete_webhook(service, webhook_id)
    else:
        test_webhook(service, Response(), webhook_id)
    return RedirectResponse("/webhooks", 303)


def _page(visit: Visit, service: Service, **more: Any) -> Response:
    known = {"made": None, "wrong": "", "webhooks": list_webhooks(service), "events": EVENTS}
    told = [DeliveryPublic.of(row) for row in read_deliveries(service.engine)]
    return visit.page("webhooks.html", **known | {"deliveries": told} | more)
