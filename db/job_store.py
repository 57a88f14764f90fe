"""The jobs: what was asked for, how each stands, what came of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Engine, Row, Select, delete, insert, select, update

from db.lease import Lease, fence, held
from db.tables import job
from db.transactions import reading, writing
from db.trial_log import read_document
from db.trial_rows import count_trials, read_trials
from db.types import plain
from optimizer.trial import Phase, Trial
from sampler.outcome import TrialState


class JobState(StrEnum):
    """How a job stands."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


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


_columns = [job.c[name] for name in JobRow.__dataclass_fields__]


class Store:
    """All jobs of a database. It may be used from several threads.

    The writes that a running job makes take its ``lease``; with it they raise ``LeaseLost`` and
    change nothing once another controller has taken the job over.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def create_job(self, specification: Mapping[str, Any], digest: str) -> int:
        """Keeps a new job as ``queued`` and returns its number, which is never used again.

        Raises:
            ValueError: A number in the specification is not finite.
        """
        now = datetime.now(UTC)
        new = insert(job).values(
            created_at=now,
            updated_at=now,
            state=JobState.QUEUED,
            why="",
            specification=plain(specification, "specification"),
            specification_digest=digest,
            lease_epoch=0,
        )
        with writing(self.engine) as connection:
            return int(connection.execute(new.returning(job.c.id)).scalar_one())

    def job(self, job_id: int) -> JobRow:
        """One job.

        Raises:
            KeyError: There is none of this number.
        """
        found = self._first(select(*_columns).where(job.c.id == job_id))
        if found is None:
            raise KeyError(f"there is no job {job_id}")
        return found

    def newest_job_with(self, digest: str) -> JobRow | None:
        """The newest job of the same specification, in whatever state, or None."""
        same = select(*_columns).where(job.c.specification_digest == digest)
        return self._first(same.order_by(job.c.id.desc()).limit(1))

    def jobs(
        self, *, limit: int = 100, after: int | None = None, state: JobState | None = None
    ) -> list[JobRow]:
        """A page of jobs, the newest first.

        Args:
            limit: How many at most.
            after: The last job of the page before; the page goes on with older ones.
            state: Only those in this state.
        """
        page = select(*_columns).order_by(job.c.id.desc()).limit(limit)
        if after is not None:
            page = page.where(job.c.id < after)
        if state is not None:
            page = page.where(job.c.state == state)
        with reading(self.engine) as connection:
            return [_row(row) for row in connection.execute(page)]

    def set_state(
        self,
        job_id: int,
        state: JobState,
        *,
        why: str = "",
        error: str | None = None,
        expected: Collection[JobState] = tuple(JobState),
        lease: Lease | None = None,
    ) -> bool:
        """Moves a job to a state; True when it was in one of the ``expected`` before.

        Raises:
            KeyError: There is no such job.
            LeaseLost: The lease given no longer holds.
        """
        change = {"state": state, "why": why, "error": error}
        return self._change(job_id, change, lease, expected)

    def save_environment(
        self, job_id: int, environment: Mapping[str, Any], *, lease: Lease | None = None
    ) -> None:
        """Keeps what the job is measured on.

        Raises:
            KeyError: There is no such job.
            LeaseLost: The lease given no longer holds.
            ValueError: A number in it is not finite.
        """
        self._change(job_id, {"environment": plain(environment, "environment")}, lease)

    def save_result(
        self, job_id: int, result: Mapping[str, Any], *, lease: Lease | None = None
    ) -> None:
        """Keeps what came of the job.

        Raises:
            KeyError: There is no such job.
            LeaseLost: The lease given no longer holds.
            ValueError: A number in it is not finite.
        """
        self._change(job_id, {"result": plain(result, "result")}, lease)

    def result(self, job_id: int) -> Mapping[str, Any] | None:
        """What came of a job, or None as long as nothing has.

        Raises:
            KeyError: There is no such job.
        """
        with reading(self.engine) as connection:
            found = connection.execute(select(job.c.result).where(job.c.id == job_id)).first()
        if found is None:
            raise KeyError(f"there is no job {job_id}")
        kept: Mapping[str, Any] | None = found[0]
        return kept

    def recall(self, job_id: int, name: str) -> Mapping[str, Any] | None:
        """A document that a job has remembered, or None."""
        with reading(self.engine) as connection:
            return read_document(connection, job_id, name)

    def trials(self, job_id: int, *, after: int = 0, limit: int | None = None) -> list[Trial]:
        """A page of a job's trials by number, from the one after ``after``; all by default."""
        with reading(self.engine) as connection:
            return read_trials(connection, job_id, after=after, limit=limit)

    def count_trials(self, job_id: int) -> dict[TrialState, int]:
        """How many of a job's trials are in each state that occurs."""
        with reading(self.engine) as connection:
            return count_trials(connection, job_id)

    def delete_job(self, job_id: int) -> bool:
        """Deletes an ended job with all its trials and documents; False when it has not ended.

        Raises:
            KeyError: There is no such job.
        """
        with writing(self.engine) as connection:
            ended = delete(job).where(job.c.id == job_id, job.c.state.in_(ENDED))
            if connection.execute(ended).rowcount:
                return True
            if connection.execute(select(job.c.id).where(job.c.id == job_id)).first() is None:
                raise KeyError(f"there is no job {job_id}")
            return False

    def _first(self, rows: Select[Any]) -> JobRow | None:
        with reading(self.engine) as connection:
            found = connection.execute(rows).first()
        return None if found is None else _row(found)

    def _change(
        self,
        job_id: int,
        values: Mapping[str, Any],
        lease: Lease | None,
        expected: Collection[JobState] = tuple(JobState),
    ) -> bool:
        if lease is not None and lease.job_id != job_id:
            raise ValueError(f"the lease of job {lease.job_id} is not one of job {job_id}")
        which = update(job).where(job.c.id == job_id, job.c.state.in_(expected))
        if lease is not None:
            which = which.where(held(lease))
        with writing(self.engine) as connection:
            values = {**values, "updated_at": datetime.now(UTC)}
            if connection.execute(which.values(values)).rowcount:
                return True
            if lease is not None:
                fence(connection, lease)
            if connection.execute(select(job.c.id).where(job.c.id == job_id)).first() is None:
                raise KeyError(f"there is no job {job_id}")
            return False


def _row(row: Row[Any]) -> JobRow:
    values = dict(row._mapping)
    values["state"] = JobState(row.state)
    values["phase"] = None if row.phase is None else Phase(row.phase)
    return JobRow(**values)
