"""A job as its row tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, RowMapping

from db.schema.tables import job
from db.schema.types import storable
from optimizer.trials.trial import Phase


class JobState(StrEnum):
    """How a job stands."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


LIVE = (JobState.QUEUED, JobState.RUNNING)
ENDED = frozenset({JobState.DONE, JobState.FAILED, JobState.CANCELLED})


@dataclass(frozen=True, kw_only=True)
class JobRow:
    """A job without its trials and its result.

    Attributes:
        phase, why: What it is doing and for what reason.
        error: What ended it, when it failed.
        specification: What was asked for.
        specification_digest: Equal for equal specifications.
        environment: What it was measured on, once known.
        lease_owner, lease_expires_at: Which process runs it, and until when it has said so.
        priority: Of queued jobs the highest goes first.
        run: How often it was queued, 1 at first.
        by_service: Whether the service's worker runs it; else a terminal or the user's own runner.
        submitter: The name of the token that asked for it.
        standing: ``optimizer.run.progress.RunProgress`` as of the last trial, as a document.
    """

    id: int
    created_at: datetime
    updated_at: datetime
    state: JobState
    phase: Phase | None
    why: str
    error: str | None
    specification: Mapping[str, Any]
    specification_digest: str
    environment: Mapping[str, Any] | None
    lease_owner: str | None
    lease_expires_at: datetime | None
    priority: int
    run: int
    by_service: bool
    submitter: str | None
    standing: Mapping[str, Any] | None


def new_job(
    specification: Mapping[str, Any],
    digest: str,
    moment: datetime | ColumnElement[datetime],
    **more: Any,
) -> dict[str, Any]:
    """The columns of a new job, made at ``moment``; ``more`` comes beside or instead.

    Raises:
        ValueError: A number in the specification is not finite.
    """
    return {
        "created_at": moment,
        "updated_at": moment,
        "state": JobState.QUEUED,
        "why": "",
        "specification": storable(specification, "specification"),
        "specification_digest": digest,
        "lease_epoch": 0,
        **more,
    }


JOB_COLUMNS = [job.c[name] for name in JobRow.__dataclass_fields__]


def job_from_row(row: RowMapping) -> JobRow:
    """From a row that has ``JOB_COLUMNS``."""
    values = {name: row[name] for name in JobRow.__dataclass_fields__}
    return JobRow(**values | {"state": JobState(row["state"])})
