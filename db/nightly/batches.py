"""Batches: many jobs that were begun together, by a schedule or from a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Engine, Row, exists, insert, select, update

from db.connection.transactions import insert_into, now, reading, writing
from db.schema.job_row import JOB_COLUMNS, LIVE, JobRow, JobState, job_from_row, new_job
from db.schema.tables import batch, job
from db.schema.types import storable


@dataclass(frozen=True)
class BatchRow:
    """A batch without its result.

    Attributes:
        why: Why it is in this state.
        document: Its name and its items with the digest of each; see ``jobs.batch.batch_plan``.
        digest: Equal for equal batches.
        schedule_id, due_at: The schedule, and the time of it, that began this; None of a terminal.
    """

    id: int
    name: str
    state: BatchState
    why: str
    document: Mapping[str, Any]
    digest: str
    schedule_id: int | None
    due_at: datetime | None
    created_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True)
class NewJob:
    """A job that a batch is made of."""

    item: str
    specification: Mapping[str, Any]
    digest: str
    priority: int = 0


_COLUMNS = [batch.c[name] for name in BatchRow.__dataclass_fields__]


def begin_batch(
    connection: Connection,
    *,
    name: str,
    document: Mapping[str, Any],
    digest: str,
    jobs: Sequence[NewJob],
    why: str,
    job_why: str,
    schedule_id: int | None = None,
    due_at: datetime | None = None,
    submitter: str | None = None,
) -> int | None:
    """Keeps a batch with all of its jobs, in the caller's transaction.

    Args:
        connection: The transaction.
        name: The same every night.
        document: Of the batch.
        digest: The same for the same document.
        jobs: Queued in this order; the service's worker runs them if there is a schedule.
        why: Why the batch is begun.
        job_why: What its jobs wait for.
        schedule_id: The schedule that begins it.
        due_at: The time of the schedule.
        submitter: The name of the token that asked for it.

    Returns:
        The batch's number; None when this time of the schedule has begun one before.

    Raises:
        ValueError: A number in a document is not finite.
    """
    moment = now(connection)
    batch_id = _insert(
        connection,
        name=name,
        state=BatchState.RUNNING,
        why=why,
        document=storable(document, "document"),
        digest=digest,
        schedule_id=schedule_id,
        due_at=due_at,
        created_at=moment,
    )
    if batch_id is None:
        return None
    rows = [
        new_job(
            each.specification,
            each.digest,
            moment,
            why=job_why,
            priority=each.priority,
            by_service=schedule_id is not None,
            submitter=submitter,
            batch_id=batch_id,
            batch_item=each.item,
        )
        for each in jobs
    ]
    connection.execute(insert(job), rows)
    return batch_id


def skip_batch(
    connection: Connection,
    *,
    name: str,
    document: Mapping[str, Any],
    digest: str,
    why: str,
    schedule_id: int,
    due_at: datetime,
) -> int | None:
    """Records that a time of a schedule has begun nothing, and why; None if it is recorded."""
    moment = now(connection)
    return _insert(
        connection,
        name=name,
        state=BatchState.SKIPPED,
        why=why,
        document=storable(document, "document"),
        digest=digest,
        schedule_id=schedule_id,
        due_at=due_at,
        created_at=moment,
        ended_at=moment,
    )


def _insert(connection: Connection, **values: Any) -> int | None:
    new = insert_into(connection.engine, batch).values(**values).on_conflict_do_nothing()
    made: int | None = connection.execute(new.returning(batch.c.id)).scalar_one_or_none()
    return made


def schedules_running(connection: Connection) -> set[int]:
    """The numbers of the schedules that have a batch which has not ended."""
    which = select(batch.c.schedule_id).where(
        batch.c.state == BatchState.RUNNING, batch.c.schedule_id.is_not(None)
    )
    return set(connection.execute(which).scalars())


def unfinished_of(connection: Connection, schedule_id: int) -> int | None:
    """The batch of a schedule that has not ended, or None."""
    which = select(batch.c.id).where(
        batch.c.schedule_id == schedule_id, batch.c.state == BatchState.RUNNING
    )
    found: int | None = connection.execute(which.limit(1)).scalar_one_or_none()
    return found


def find_batch(engine: Engine, batch_id: int) -> BatchRow:
    """One batch.

    Raises:
        KeyError: There is none of this number.
    """
    with reading(engine) as connection:
        found = connection.execute(select(*_COLUMNS).where(batch.c.id == batch_id)).first()
    if found is None:
        raise KeyError(f"there is no batch {batch_id}")
    return _batch(found)


def read_batches(
    engine: Engine,
    *,
    limit: int,
    after: int | None = None,
    name: str | None = None,
    schedule_id: int | None = None,
) -> list[BatchRow]:
    """A page of batches, the newest first.

    Args:
        engine: The database.
        limit: How many at most.
        after: The last batch of the page before; the page goes on with older ones.
        name: Only those of this name.
        schedule_id: Only those of this schedule.
    """
    page = select(*_COLUMNS).order_by(batch.c.id.desc()).limit(limit)
    if after is not None:
        page = page.where(batch.c.id < after)
    if name is not None:
        page = page.where(batch.c.name == name)
    if schedule_id is not None:
        page = page.where(batch.c.schedule_id == schedule_id)
    with reading(engine) as connection:
        return [_batch(row) for row in connection.execute(page)]


def unfinished(engine: Engine, name: str) -> list[BatchRow]:
    """The batches of a name that have not ended, the newest first."""
    which = (
        select(*_COLUMNS)
        .where(batch.c.name == name, batch.c.state == BatchState.RUNNING)
        .order_by(batch.c.id.desc())
    )
    with reading(engine) as connection:
        return [_batch(row) for row in connection.execute(which)]


def all_ended(engine: Engine) -> list[BatchRow]:
    """The service's batches that have not ended and whose jobs all have."""
    live = exists().where(job.c.batch_id == batch.c.id, job.c.state.in_(LIVE))
    which = (
        select(*_COLUMNS)
        .where(
            batch.c.state == BatchState.RUNNING,
            batch.c.schedule_id.is_not(None),
            ~live,
        )
        .order_by(batch.c.id)
    )
    with reading(engine) as connection:
        return [_batch(row) for row in connection.execute(which)]


def batch_jobs(engine: Engine, batch_id: int) -> dict[str, JobRow]:
    """The jobs of a batch by item, in the order in which they are run; deleted ones are not."""
    of_batch = job.c.batch_id == batch_id
    with reading(engine) as connection:
        items = connection.execute(select(job.c.id, job.c.batch_item).where(of_batch))
        named = {row.id: row.batch_item for row in items}
        rows = connection.execute(select(*JOB_COLUMNS).where(of_batch).order_by(job.c.id))
        return {named[row.id]: job_from_row(row) for row in rows if row.id in named}


def batch_result(engine: Engine, batch_id: int) -> Mapping[str, Any] | None:
    """What came of a batch, or None as long as it has not ended."""
    with reading(engine) as connection:
        found = connection.execute(select(batch.c.result).where(batch.c.id == batch_id)).first()
    kept: Mapping[str, Any] | None = None if found is None else found[0]
    return kept


def note_batch(engine: Engine, batch_id: int, why: str) -> None:
    """Says how a batch stands that has not ended."""
    which = update(batch).where(batch.c.id == batch_id, batch.c.state == BatchState.RUNNING)
    with writing(engine) as connection:
        connection.execute(which.values(why=why))


def end_batch(
    engine: Engine, batch_id: int, state: BatchState, why: str, result: Mapping[str, Any]
) -> bool:
    """Ends a batch with what came of it; False when it had ended before.

    Raises:
        ValueError: A number in the result is not finite.
    """
    which = update(batch).where(batch.c.id == batch_id, batch.c.state == BatchState.RUNNING)
    with writing(engine) as connection:
        values = {"state": state, "why": why, "result": storable(result, "result")}
        change = which.values(**values, ended_at=now(connection))
        return bool(connection.execute(change).rowcount)


def add_to_result(engine: Engine, batch_id: int, result: Mapping[str, Any]) -> None:
    """Keeps more of what came of a batch that has ended.

    Raises:
        ValueError: A number in the result is not finite.
    """
    which = update(batch).where(batch.c.id == batch_id)
    with writing(engine) as connection:
        connection.execute(which.values(result=storable(result, "result")))


def give_up_jobs(engine: Engine, batch_id: int, why: str) -> None:
    """Cancels what has not ended of a batch that nobody will go on with."""
    which = update(job).where(job.c.batch_id == batch_id, job.c.state.in_(LIVE))
    with writing(engine) as connection:
        values = {"state": JobState.CANCELLED, "why": why, "updated_at": now(connection)}
        connection.execute(which.values(values))


def _batch(row: Row[Any]) -> BatchRow:
    values = dict(row._mapping)
    values["state"] = BatchState(row.state)
    return BatchRow(**values)


class BatchState(StrEnum):
    """How a batch of jobs stands."""

    RUNNING = "running"
    DONE = "done"  # all of its jobs are
    FAILED = "failed"  # at least one failed or was cancelled
    SKIPPED = "skipped"  # a time of a schedule at which nothing was started


BATCH_ENDED = frozenset({BatchState.DONE, BatchState.FAILED})
"""Those that have measured something; a skipped one never began."""
