"""The jobs: what was asked for, how each stands, what came of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, Select, delete, insert, select, update

from db.connection.transactions import reading, writing
from db.leases.lease import Lease, fence, held
from db.schema.job_row import ENDED, JOB_COLUMNS, JobRow, JobState, job_from_row, new_job
from db.schema.tables import document, job, trial
from db.schema.types import storable
from db.trials.trial_log import recall_document
from db.trials.trial_rows import (
    count_trials,
    proposal,
    read_points,
    read_trials,
    read_trials_ended,
)
from optimizer.trials.trial import Trial
from sampler.runner.outcome import TrialState

if TYPE_CHECKING:
    from optimizer.run.progress import RunProgress


class JobStore:
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
        new = insert(job).values(new_job(specification, digest, datetime.now(UTC)))
        with writing(self.engine) as connection:
            return int(connection.execute(new.returning(job.c.id)).scalar_one())

    def job(self, job_id: int) -> JobRow:
        """One job.

        Raises:
            KeyError: There is none of this number.
        """
        found = self._first(select(*JOB_COLUMNS).where(job.c.id == job_id))
        if found is None:
            raise KeyError(f"there is no job {job_id}")
        return found

    def newest_job_with(self, digest: str) -> JobRow | None:
        """The newest job of the same specification, in whatever state, or None."""
        same = select(*JOB_COLUMNS).where(job.c.specification_digest == digest)
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
        page = select(*JOB_COLUMNS).order_by(job.c.id.desc()).limit(limit)
        if after is not None:
            page = page.where(job.c.id < after)
        if state is not None:
            page = page.where(job.c.state == state)
        with reading(self.engine) as connection:
            return [job_from_row(row) for row in connection.execute(page)]

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
        self._change(job_id, {"environment": storable(environment, "environment")}, lease)

    def save_result(
        self, job_id: int, result: Mapping[str, Any], *, lease: Lease | None = None
    ) -> None:
        """Keeps what came of the job.

        Raises:
            KeyError: There is no such job.
            LeaseLost: The lease given no longer holds.
            ValueError: A number in it is not finite.
        """
        self._change(job_id, {"result": storable(result, "result")}, lease)

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
            return recall_document(connection, job_id, name)

    def trials(self, job_id: int, *, after: int = 0, limit: int | None = None) -> list[Trial]:
        """A page of a job's trials by number, from the one after ``after``; all by default."""
        with reading(self.engine) as connection:
            return read_trials(connection, job_id, after=after, limit=limit)

    def points(
        self, job_id: int, numbers: Collection[int]
    ) -> list[tuple[int, Mapping[str, Any], Mapping[str, float]]]:
        """Number, configuration and metrics of some of a job's trials, by number."""
        with reading(self.engine) as connection:
            return read_points(connection, job_id, numbers)

    def trials_ended(
        self, job_id: int, *, after: datetime | None, number: int, limit: int
    ) -> list[Trial]:
        """A job's ended trials in the order in which they ended; see ``read_trials_ended``."""
        with reading(self.engine) as connection:
            return read_trials_ended(connection, job_id, after=after, number=number, limit=limit)

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
        return None if found is None else job_from_row(found)

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


def restore_job(
    engine: Engine,
    specification: Mapping[str, Any],
    digest: str,
    environment: Mapping[str, Any] | None,
    trials: Sequence[Trial],
    standing: RunProgress | None = None,
    documents: Mapping[str, Mapping[str, Any]] | None = None,
) -> int:
    """Keeps a job with the trials that it has made so far, all or nothing; returns its number.

    It stands as one that was cancelled: nobody takes it up until it is resumed.

    Args:
        engine: The database.
        specification: What was asked for.
        digest: Of the specification.
        environment: What it was measured on, once known.
        trials: By number.
        standing: How it stands after them.
        documents: What it has remembered, by name.

    Raises:
        ValueError: A number in it is not finite, or two trials share a number.
    """
    numbers = [each.number for each in trials]
    if len(set(numbers)) < len(numbers):
        raise ValueError("two trials share a number")
    now = datetime.now(UTC)
    new = new_job(
        specification,
        digest,
        now,
        state=JobState.CANCELLED,
        why=f"restored with {len(trials)} trials; resume it to go on",
        environment=None if environment is None else storable(environment, "environment"),
        standing=None if standing is None else storable(standing.document(), "standing"),
    )
    rows = [proposal(each) for each in trials]
    kept = [
        {"name": name, "body": storable(body, name), "updated_at": now}
        for name, body in (documents or {}).items()
    ]
    with writing(engine) as connection:
        job_id = int(connection.execute(insert(job).values(new).returning(job.c.id)).scalar_one())
        if rows:
            about = {"job_id": job_id, "lease_epoch": 0}
            connection.execute(insert(trial), [row | about for row in rows])
        if kept:
            connection.execute(insert(document), [row | {"job_id": job_id} for row in kept])
    return job_id
