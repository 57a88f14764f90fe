"""What goes over the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel

from db.job_store import JobRow, JobState
from optimizer.trial import Trial


class JobPublic(BaseModel):
    """A job as it stands: always with its phase, and why it is in it."""

    id: int
    state: JobState
    phase: str | None
    why: str
    error: str | None
    created_at: datetime
    updated_at: datetime
    specification: dict[str, Any]
    done: int
    failed: int
    total: int | None

    @classmethod
    def of(cls, job: JobRow, *, done: int, failed: int) -> JobPublic:
        """From a stored job and its counted trials."""
        return cls(
            id=job.id,
            state=job.state,
            phase=job.phase.value if job.phase else None,
            why=job.why,
            error=job.error,
            created_at=job.created_at,
            updated_at=job.updated_at,
            specification=dict(job.specification),
            done=done,
            failed=failed,
            total=job.specification.get("trials"),
        )


class JobSummary(BaseModel):
    """A job in a list."""

    id: int
    state: JobState
    phase: str | None
    why: str
    created_at: datetime
    workload: str
    space: str
    objective: str
    strategy: str

    @classmethod
    def of(cls, job: JobRow) -> JobSummary:
        """From a stored job."""
        asked = job.specification
        return cls(
            id=job.id,
            state=job.state,
            phase=job.phase.value if job.phase else None,
            why=job.why,
            created_at=job.created_at,
            workload=asked["workload"]["name"],
            space=asked["space"]["name"],
            objective=asked["objective"]["name"],
            strategy=asked["strategy"],
        )


class JobPage(BaseModel):
    """Jobs, newest first; ``next`` is the ``after`` of the next page, null at the end."""

    jobs: list[JobSummary]
    next: int | None


class TrialPublic(BaseModel):
    """A trial."""

    number: int
    phase: str
    purpose: str
    state: str
    subject: int | None
    attempt: int
    why: str
    configuration: dict[str, Any]
    effective: dict[str, Any] | None
    metrics: dict[str, float]
    failure: str | None
    warnings: list[str]
    host: str | None
    started_at: datetime | None
    finished_at: datetime | None

    @classmethod
    def of(cls, trial: Trial) -> TrialPublic:
        """From a stored trial."""
        return cls(
            number=trial.number,
            phase=trial.phase.value,
            purpose=trial.purpose.value,
            state=trial.state.value,
            subject=trial.subject,
            attempt=trial.attempt,
            why=trial.why,
            configuration=dict(trial.configuration),
            effective=dict(trial.effective) if trial.effective is not None else None,
            metrics=dict(trial.metrics),
            failure=trial.failure,
            warnings=list(trial.warnings),
            host=trial.host,
            started_at=trial.started_at,
            finished_at=trial.finished_at,
        )


class TrialPage(BaseModel):
    """Trials by number; ``next`` is the ``after`` of the next page, null at the end."""

    trials: list[TrialPublic]
    next: int | None


class CatalogueEntry(BaseModel):
    """A workload or a space: its document, as its TOML file would hold it."""

    name: str
    help: str
    document: dict[str, Any]
