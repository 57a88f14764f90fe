"""Webhooks and their deliveries, over the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, HttpUrl

from api.schemas.job_schemas import body
from db.webhooks import EVENTS, Delivery, Event, State, Webhook
from jobs.webhooks import event_text


class WebhookCreate(BaseModel):
    """A webhook to be added."""

    model_config = body(
        {"url": "https://chat.example.com/hooks/abc", "events": ["regression_found"]}
    )

    url: HttpUrl = Field(description="Where messages are posted, without name and password.")
    events: list[Event] = Field(
        default=list(EVENTS),
        min_length=1,
        max_length=len(EVENTS),
        description="`job_ended` without `winner_proven` hears of jobs with a winner, too.",
    )


class WebhookPublic(BaseModel):
    """A webhook."""

    id: int
    url: str = Field(description="Its host alone: the rest may be a secret.")
    events: list[Event]
    submitter: str | None
    created_at: datetime
    secret: str | None = Field(
        default=None,
        description="What messages are signed with; in the answer to its making alone.",
    )

    @classmethod
    def of(cls, row: Webhook, secret: str | None = None) -> WebhookPublic:
        """From a stored webhook."""
        parts = urlsplit(row.url)
        return cls(**vars(row) | {"url": f"{parts.scheme}://{parts.netloc}/...", "secret": secret})


class DeliveryPublic(BaseModel):
    """An event on its way to a webhook."""

    id: int
    webhook_id: int
    event: Event | Literal["test"]
    text: str = Field(description="The text of the message, without its link.")
    state: State
    attempts: int
    status: int | None = Field(description="Of the last answer.")
    error: str | None = Field(description="Why the last attempt failed.")
    created_at: datetime
    tried_at: datetime | None = Field(description="When the last attempt began.")
    next_at: datetime = Field(description="When the next one is due, as long as it is waiting.")

    @classmethod
    def of(cls, row: Delivery) -> DeliveryPublic:
        """From a stored delivery."""
        return cls(**vars(row), text=event_text(row.event, row.about))
