"""Batches, the schedules that start them and webhooks that tell of them, over the wire."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Discriminator, Field, HttpUrl, StringConstraints, Tag

from api.schemas.job_schemas import JobChange, body, kind_in
from db.nightly.batches import BatchRow, BatchState, ScheduleRow
from db.schema.job_row import JobKind, asked_in
from db.webhooks import EVENTS, Delivery, Event, State, Webhook
from jobs.webhooks import event_text

NAME_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9._-]*$"
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=NAME_PATTERN)]
ItemName = Annotated[
    str,
    StringConstraints(
        min_length=1,
        max_length=200,
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$",
    ),
]
Word = Annotated[str, StringConstraints(min_length=1, max_length=100)]


class BatchBrief(BaseModel):
    """State of a batch."""

    id: int
    name: str
    state: BatchState = Field(
        description="failed: a job failed or was cancelled; skipped: nothing was started."
    )
    why: str
    due_at: datetime | None = Field(description="Scheduled time; null without a schedule.")
    created_at: datetime
    ended_at: datetime | None

    @classmethod
    def of(cls, row: BatchRow) -> BatchBrief:
        """From a stored batch."""
        return cls.model_validate(row, from_attributes=True)


class BatchJobState(BaseModel):
    """State of a job of a batch."""

    item: str
    job: int | None = Field(description="Job number; null if the job was deleted.")
    state: str


class BatchPublic(BatchBrief):
    """A batch with its jobs and its result."""

    items: list[BatchJobState]
    result: dict[str, Any] | None = Field(
        description="The batch.json document; null while the batch runs, or if it was skipped."
    )


class BatchPage(BaseModel):
    """Batches, newest first; ``next`` is the ``after`` of the next page, null at the end."""

    batches: list[BatchBrief]
    next: int | None


class _Named(BaseModel):
    name: ItemName | None = Field(
        default=None,
        description="Name of the job in every night. Default: WORKLOAD/SPACE/HOST_KIND or kind.",
    )


class BatchJob(JobChange, _Named):
    """One job of a batch, with its own settings."""

    model_config = body({"workload": "load", "trials": 400, "name": "the-load"})

    kind: Literal["tune"] = "tune"


class BatchExperiment(_Named):
    """An experiment of a batch, with the fields of its kind in ``POST /v1/jobs``."""

    model_config = ConfigDict(extra="allow")

    kind: Literal["compare", "upgrade-check", "explain", "profile-check"]


_AnyJob = Annotated[
    Annotated[BatchJob, Tag("tune")] | Annotated[BatchExperiment, Tag("experiment")],
    Discriminator(lambda body: "tune" if kind_in(body) == "tune" else "experiment"),
]


class BatchAsked(JobChange):
    """A batch, with the fields of a nightly.toml: all combinations of lists, and single jobs.

    The other settings are common to all of its tuning jobs.
    """

    model_config = body({"workloads": ["load-quick"], "trials": 96})

    name: Name | None = Field(
        default=None, description="Name that nights share. Default: the schedule's."
    )
    workloads: list[Word] | None = Field(
        default=None, min_length=1, max_length=100, description="Names of workloads."
    )
    spaces: list[Word | dict[str, Any]] | None = Field(
        default=None, min_length=1, max_length=100, description="Names, or spaces as objects."
    )
    host_kinds: list[Word] | None = Field(default=None, min_length=1, max_length=100)
    job: list[_AnyJob] | None = Field(default=None, max_length=500)


class ScheduleCreate(BaseModel):
    """A schedule to add."""

    model_config = body(
        {
            "name": "nightly",
            "cron": "30 2 * * *",
            "time_zone": "Europe/Berlin",
            "batch": {"workloads": ["load-quick"], "spaces": ["default", "paper"]},
        }
    )

    name: Name
    cron: str = Field(
        min_length=1,
        max_length=200,
        description="Minute, hour, day, month, weekday, such as 30 2 * * * for 02:30 every night.",
    )
    time_zone: str = Field(
        default="UTC", min_length=1, max_length=100, description="IANA time zone of cron."
    )
    missed: Literal["late", "skip"] = Field(
        default="late",
        description="After a missed time: late (run once, as soon as possible) or skip.",
    )
    batch: BatchAsked


class ScheduleItem(BaseModel):
    """A job of a schedule."""

    item: str
    kind: JobKind = JobKind.TUNE
    workload: str
    title: str | None = Field(default=None, description="Question of an experiment, in words.")
    # null of an experiment
    space: str | None
    objective: str | None
    strategy: str | None
    trials: int | None
    minutes: float | None
    host_kind: str | None
    db_bench: str | None


class SchedulePublic(BaseModel):
    """A schedule with its next time and its last batches."""

    name: str
    cron: str
    time_zone: str
    missed: str
    next_at: datetime
    submitter: str | None
    created_at: datetime
    batch: str = Field(description="Name that its nights share.")
    items: list[ScheduleItem]
    last: list[BatchBrief] = Field(description="Last batches, newest first.")
    stopped: str | None = Field(
        default=None, description="Why it starts nothing, such as a revoked token."
    )

    @classmethod
    def of(
        cls, row: ScheduleRow, last: list[BatchBrief], stopped: str | None = None
    ) -> SchedulePublic:
        """From a stored schedule."""
        items = [
            ScheduleItem(item=each["item"], **_shown(each["specification"]))
            for each in row.document["items"]
        ]
        kept = {name: getattr(row, name) for name in cls.model_fields if hasattr(row, name)}
        return cls(**kept, batch=row.document["name"], items=items, last=last, stopped=stopped)


def _shown(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What is shown of a job's specification; one of an earlier version has not all of it."""
    shown = {name: asked.get(name) for name in ScheduleItem.model_fields if name != "item"}
    return shown | asked_in(asked) | {"kind": asked.get("kind", JobKind.TUNE)}


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
