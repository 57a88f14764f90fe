"""Batches over the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from db.nightly.batches import BatchRow, BatchState


class BatchBrief(BaseModel):
    """How a batch stands."""

    id: int
    name: str
    state: BatchState = Field(
        description="failed: a job failed or was cancelled; skipped: nothing was started."
    )
    why: str
    due_at: datetime | None = Field(description="The time of its schedule; null of a terminal.")
    created_at: datetime
    ended_at: datetime | None

    @classmethod
    def of(cls, row: BatchRow) -> BatchBrief:
        """From a stored batch."""
        return cls(**brief(row))


class BatchJobState(BaseModel):
    """How one of its jobs stands."""

    item: str
    job: int | None = Field(description="Its number; null once it is deleted.")
    state: str


class BatchPublic(BatchBrief):
    """A batch with its jobs, and what came of it."""

    items: list[BatchJobState]
    result: dict[str, Any] | None = Field(
        description="The document of batch.json; null while it runs, and of a skipped one."
    )


class BatchPage(BaseModel):
    """Batches, newest first; ``next`` is the ``after`` of the next page, null at the end."""

    batches: list[BatchBrief]
    next: int | None


def brief(row: BatchRow) -> dict[str, Any]:
    """The fields of ``BatchBrief``."""
    return {name: getattr(row, name) for name in BatchBrief.model_fields}
