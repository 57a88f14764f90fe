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
    """A webhook to add."""

    model_config = body(
        {"url": "https://chat.example.com/hooks/abc", "events": ["regression_found"]}
    )

    url: HttpUrl = Field(description="URL to post messages to, without name and password.")
    events: list[Event] = Field(
        default=list(EVENTS),
        min_length=1,
        max_length=len(EVENTS),
        description="`job_ended` without `winner_proven` also reports jobs with a winner.",
    )


class WebhookPublic(BaseModel):
    """A webhook."""

    id: int
    url: str = Field(description="Host only, since the rest may be secret.")
    events: list[Event]
    submitter: str | None
    created_at: datetime
    secret: str | None = Field(
        default=None,
        description="Secret that signs messages; only in the answer that created the webhook.",
    )

    @classmethod
    def of(cls, row: Webhook, secret: str | None = None) -> WebhookPublic:
        """From a stored webhook."""
        parts = urlsplit(row.url)
        return cls(**vars(row) | {"url": f"{parts.scheme}://{parts.netloc}/...", "secret": secret})


class DeliveryPublic(BaseModel):
    """A message to a webhook, and its state."""

    id: int
    webhook_id: int
    event: Event | Literal["test"]
    text: str = Field(description="Text of the message, without its link.")
    state: State
    attempts: int
    status: int | None = Field(description="HTTP status of the last answer.")
    error: str | None = Field(description="Why the last attempt failed.")
    created_at: datetime
    tried_at: datetime | None = Field(description="Start of the last attempt.")
    next_at: datetime = Field(description="Time of the next attempt, while waiting.")

    @classmethod
    def of(cls, row: Delivery) -> DeliveryPublic:
        """From a stored delivery."""
        return cls(**vars(row), text=event_text(row.event, row.about))
