"""Webhooks: who is told what happens, and what they were told."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from api.auth.security import ADMINISTERS, Caller, GuardedRoute
from api.http.problems import EVERYWHERE, ProblemError, described, field_problems, refused
from api.http.responses import created
from api.schemas.webhook_schemas import DeliveryPublic, WebhookCreate, WebhookPublic
from api.services.dependencies import ServiceDep
from db.connection.transactions import now, writing
from db.webhooks import TEST, add_webhook, read_deliveries, read_webhooks, remove_webhook, tell
from jobs.webhooks import hosts_named, new_secret, require_url
from sampler.common.errors import InputError

router = APIRouter(prefix="/v1", tags=["webhooks"], responses=EVERYWHERE, route_class=GuardedRoute)
WebhookId = Annotated[int, Path(ge=1, le=2**63 - 1, description="Webhook number.", examples=[1])]


@router.post(
    "/webhooks",
    status_code=201,
    responses={**described(400, 409, 413), **created("URL of its deliveries")},
)
def make_webhook(
    service: ServiceDep,
    response: Response,
    asked: WebhookCreate,
    caller: Annotated[Caller, ADMINISTERS],
) -> WebhookPublic:
    """Adds a webhook. Only this answer contains the secret that signs its messages."""
    url, events = str(asked.url), list(dict.fromkeys(asked.events))
    try:
        require_url(url, hosts_named(service.settings.webhook_allow))
    except InputError as error:
        raise refused(field_problems(error)) from None
    made = add_webhook(service.engine, url, events, new_secret(), caller.name)
    if made is None:
        raise ProblemError(409, "a webhook for this URL already exists; delete it first")
    response.headers["Location"] = f"/v1/webhooks/{made.id}/deliveries"
    return WebhookPublic.of(made, made.secret)


@router.get("/webhooks", dependencies=[ADMINISTERS])
def list_webhooks(service: ServiceDep) -> list[WebhookPublic]:
    """Lists the webhooks, oldest first."""
    return [WebhookPublic.of(row) for row in read_webhooks(service.engine)]


@router.delete(
    "/webhooks/{webhook_id}", status_code=204, dependencies=[ADMINISTERS], responses=described(404)
)
def delete_webhook(service: ServiceDep, webhook_id: WebhookId) -> None:
    """Deletes a webhook with its deliveries, also those that were not sent yet."""
    if not remove_webhook(service.engine, webhook_id):
        raise _none(webhook_id)


@router.post(
    "/webhooks/{webhook_id}/test",
    status_code=201,
    dependencies=[ADMINISTERS],
    responses={**described(404), **created("URL of its deliveries")},
)
def test_webhook(service: ServiceDep, response: Response, webhook_id: WebhookId) -> DeliveryPublic:
    """Sends a test message through the worker, with retries; see its deliveries."""
    with writing(service.engine) as connection:
        subject = f"{TEST} {now(connection).isoformat()}"
        if not tell(connection, [TEST], subject, {}, only=webhook_id):
            raise _none(webhook_id)
    response.headers["Location"] = f"/v1/webhooks/{webhook_id}/deliveries"
    made = (e for e in read_deliveries(service.engine, webhook_id) if e.subject == subject)
    return DeliveryPublic.of(next(made))


@router.get(
    "/webhooks/{webhook_id}/deliveries", dependencies=[ADMINISTERS], responses=described(404)
)
def list_deliveries(service: ServiceDep, webhook_id: WebhookId) -> list[DeliveryPublic]:
    """Lists the last deliveries of a webhook with their answers, newest first."""
    if webhook_id not in {each.id for each in read_webhooks(service.engine)}:
        raise _none(webhook_id)
    return [DeliveryPublic.of(row) for row in read_deliveries(service.engine, webhook_id)]


def _none(webhook_id: int) -> ProblemError:
    return ProblemError(404, f"there is no webhook {webhook_id}")
