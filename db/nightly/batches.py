"""Batches, many jobs that were begun together, and the schedules that begin them.

A terminal begins batches, too. A schedule says when its batch is due next.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Update,
    case,
    delete,
    exists,
    func,
    insert,
    select,
    update,
)

from db.connection.engine import (
    change,
    insert_into,
    moment_of,
    now,
    read_all,
    read_first,
    writing,
)
from db.schema.job_row import LIVE, JobRow, JobState, job_from_row, new_job
from db.schema.tables import JOB_COLUMNS, batch, job, schedule
from db.schema.types import storable
from db.webhooks import Event, tell, tell_job


class BatchState(StrEnum):
    """How a batch of jobs stands."""

    RUNNING = "running"
    DONE = "done"  # all of its jobs are
    FAILED = "failed"  # at least one failed or was cancelled
    SKIPPED = "skipped"  # a time of a schedule at which nothing was started


BATCH_ENDED = frozenset({BatchState.DONE, BatchState.FAILED})
"""Those that have measured something; a skipped one never began."""

_RUNS = batch.c.state == BatchState.RUNNING
_SCHEDULED = (_RUNS, batch.c.schedule_id.is_not(None))


@dataclass(frozen=True)
class BatchRow:
    """A batch without its result."""

    id: int
    name: str
    state: BatchState
    why: str  # why it is in this state
    # Its name and its items with the digest of each; see ``jobs.batch.batch_plan``.
    document: Mapping[str, Any]
    digest: str  # equal for equal batches
    # schedule_id, due_at: the schedule, and the time of it, that began this; None of a terminal.
    schedule_id: int | None
    due_at: datetime | None
    created_at: datetime
    ended_at: datetime | None


_COLUMNS = [batch.c[name] for name in BatchRow.__dataclass_fields__]


def begin_batch(
    connection: Connection,
    *,
    name: str,
    document: Mapping[str, Any],
    digest: str,
    why: str,
    jobs: Sequence[Mapping[str, Any]] = (),
    schedule_id: int | None = None,
    due_at: datetime | None = None,
    by_service: bool = False,
) -> int | None:
    """Keeps a batch with all of its jobs, in the caller's transaction; see ``BatchRow``.

    ``jobs`` are what ``new_job`` takes of each but the moment, in the order in which they are run.
    The service's worker runs them if there is a schedule, or ``by_service``. Without any the batch
    is skipped.

    Returns:
        The batch's number; None when this time of the schedule has begun or skipped one before.

    Raises:
        ValueError: A number in a document is not finite.
    """
    moment = now(connection)
    new = insert_into(connection.engine, batch).values(
        name=name,
        state=BatchState.RUNNING if jobs else BatchState.SKIPPED,
        why=why,
        document=storable(document, "document"),
        digest=digest,
        schedule_id=schedule_id,
        due_at=due_at,
        created_at=moment,
        ended_at=None if jobs else moment,
    )
    made = new.on_conflict_do_nothing().returning(batch.c.id)
    batch_id: int | None = connection.execute(made).scalar_one_or_none()
    if batch_id is not None and jobs:
        mine: dict[str, Any] = {
            "batch_id": batch_id, "by_service": by_service or schedule_id is not None
        }  # fmt: skip
        connection.execute(insert(job), [new_job(**each, **mine, moment=moment) for each in jobs])
    return batch_id


def schedules_running(connection: Connection) -> dict[int, int]:
    """The batches that have not ended, by the number of their schedule."""
    which = select(batch.c.schedule_id, batch.c.id).where(*_SCHEDULED)
    return {row.schedule_id: row.id for row in connection.execute(which)}


def find_batch(engine: Engine, batch_id: int) -> BatchRow:
    """One batch.

    Raises:
        KeyError: There is none of this number.
    """
    found = _read(engine, batch.c.id == batch_id)
    if not found:
        raise KeyError(f"there is no batch {batch_id}")
    return found[0]


def read_batches(
    engine: Engine,
    *,
    limit: int,
    after: int | None = None,
    name: str | None = None,
    schedule_id: int | None = None,
) -> list[BatchRow]:
    """A page of batches, the newest first, older than the batch ``after``."""
    which = [] if after is None else [batch.c.id < after]
    asked = {"name": name, "schedule_id": schedule_id}
    which += [batch.c[each] == value for each, value in asked.items() if value is not None]
    return _read(engine, *which, limit=limit)


@dataclass(frozen=True)
class LastEnded:
    """The newest batch of a name that has ended in a state, or was skipped."""

    name: str
    state: str  # see ``BatchState``
    ended_at: datetime
    # Whether its night showed a change for the worse; None where a newer one has been judged, or
    # this one could not be.
    worsened: bool | None


def last_ended(engine: Engine) -> list[LastEnded]:
    """Of each name and state the newest; of the results no more is read than one value."""
    numbers = select(func.max(batch.c.id).label("id")).where(~_RUNS)
    newest = numbers.group_by(batch.c.name, batch.c.state).subquery()
    judged = numbers.where(batch.c.state.in_(BATCH_ENDED)).group_by(batch.c.name).correlate(None)
    worsened = case(
        (batch.c.id.in_(judged), batch.c.result[("watch", "worsened")].as_boolean())
    ).label("worsened")
    which = select(batch.c.name, batch.c.state, batch.c.ended_at, worsened)
    rows = read_all(engine, which.join(newest, newest.c.id == batch.c.id))
    return [LastEnded(**row._mapping) for row in rows]


def unfinished(engine: Engine, name: str) -> list[BatchRow]:
    """The batches of a name that have not ended, the newest first."""
    return _read(engine, batch.c.name == name, _RUNS)


def all_ended(engine: Engine) -> list[BatchRow]:
    """The service's batches that have not ended and whose jobs all have, the oldest first.

    One without a job is anybody's: they were deleted, which those that have ended can be.
    """
    mine = job.c.batch_id == batch.c.id
    live = exists().where(mine, job.c.state.in_(LIVE))
    kept = exists().where(mine, job.c.by_service) | ~exists().where(mine)
    served = batch.c.schedule_id.is_not(None) | kept
    return _read(engine, _RUNS, served, ~live)[::-1]


def batch_jobs(engine: Engine, batch_id: int) -> dict[str, JobRow]:
    """The jobs of a batch by item, in the order in which they are run; deleted ones are not."""
    which = select(job.c.batch_item, *JOB_COLUMNS).where(job.c.batch_id == batch_id)
    rows = read_all(engine, which.order_by(job.c.id))
    return {row.batch_item: job_from_row(row._mapping) for row in rows}


def job_states(
    engine: Engine, batch_ids: Sequence[int]
) -> dict[int, dict[str, tuple[int, JobState]]]:
    """The jobs of batches by batch and item: number and state; deleted ones are not there."""
    columns = (job.c.batch_id, job.c.batch_item, job.c.id, job.c.state)
    found: dict[int, dict[str, tuple[int, JobState]]] = {each: {} for each in batch_ids}
    rows = read_all(engine, select(*columns).where(job.c.batch_id.in_(batch_ids)))
    for batch_id, item, number, state in rows:
        found[batch_id][item] = (number, state)
    return found


def batch_result(engine: Engine, batch_id: int) -> Mapping[str, Any] | None:
    """What came of a batch, or None as long as it has not ended."""
    found: tuple[Mapping[str, Any] | None] | None
    found = read_first(engine, select(batch.c.result).where(batch.c.id == batch_id))
    return found and found[0]


def note_batch(engine: Engine, batch_id: int, why: str) -> None:
    """Says how a batch stands that has not ended."""
    change(engine, _batch(batch_id, _RUNS).values(why=why))


def end_batch(
    engine: Engine,
    batch_id: int,
    state: BatchState,
    why: str,
    result: Mapping[str, Any],
    told: Mapping[Event, Mapping[str, Any]] = {},
) -> bool:
    """Ends a batch with what came of it; False when it had ended before.

    ``told`` are the facts of each event that webhooks are told of it.

    Raises:
        ValueError: A number in the result is not finite.
    """
    with writing(engine) as connection:
        values = {"state": state, "why": why, "result": storable(result, "result")}
        ended = _batch(batch_id, _RUNS).values(**values, ended_at=now(connection))
        if not connection.execute(ended).rowcount:
            return False
        for event, about in told.items():
            tell(connection, [event], f"batch {batch_id}", about)
        return True


def give_up_jobs(engine: Engine, batch_id: int, why: str) -> None:
    """Cancels what has not ended of a batch that nobody will go on with."""
    which = update(job).where(job.c.batch_id == batch_id, job.c.state.in_(LIVE))
    with writing(engine) as connection:
        values = {"state": JobState.CANCELLED, "why": why, "updated_at": now(connection)}
        for job_id in connection.execute(which.values(values).returning(job.c.id)).scalars().all():
            tell_job(connection, job_id)


def _read(engine: Engine, *which: ColumnElement[bool], limit: int | None = None) -> list[BatchRow]:
    page = select(*_COLUMNS).where(*which).order_by(batch.c.id.desc()).limit(limit)
    rows = read_all(engine, page)
    return [BatchRow(**{**row._mapping, "state": BatchState(row.state)}) for row in rows]


def _batch(batch_id: int, *which: ColumnElement[bool]) -> Update:
    return update(batch).where(batch.c.id == batch_id, *which)


@dataclass(frozen=True)
class ScheduleRow:
    """A schedule."""

    id: int
    name: str
    cron: str  # five fields
    time_zone: str  # in which they are meant; an IANA name
    missed: str  # ``late`` or ``skip``: what becomes of a time at which nothing ran
    # The batch that it starts; see ``jobs.batch.batch_plan.BatchPlan``.
    document: Mapping[str, Any]
    submitter: str | None  # the name of the token that asked for it
    created_at: datetime
    next_at: datetime  # when it is due


def add_schedule(engine: Engine, *, document: Mapping[str, Any], **about: Any) -> bool:
    """Keeps a new schedule, of the columns of ``ScheduleRow``; False when the name is taken.

    Raises:
        ValueError: A number in the document is not finite.
    """
    kept = {"document": storable(document, "document"), "created_at": moment_of(engine)}
    new = insert_into(engine, schedule).values(**about, **kept)
    with writing(engine) as connection:
        made = connection.execute(new.on_conflict_do_nothing().returning(schedule.c.id))
        return made.first() is not None


def read_schedules(engine: Engine) -> list[ScheduleRow]:
    """All schedules by name."""
    rows = read_all(engine, select(schedule).order_by(schedule.c.name))
    return [ScheduleRow(**row._mapping) for row in rows]


def next_times(engine: Engine) -> dict[str, datetime]:
    """When each schedule is due, by name; their batches are not read."""
    rows = read_all(engine, select(schedule.c.name, schedule.c.next_at))
    return {row.name: row.next_at for row in rows}


def find_schedule(engine: Engine, name: str) -> ScheduleRow | None:
    """The schedule of a name, or None."""
    found = read_first(engine, select(schedule).where(schedule.c.name == name))
    return None if found is None else ScheduleRow(**found._mapping)


def remove_schedule(engine: Engine, name: str) -> bool:
    """Deletes a schedule; its batches stay, and one that runs goes on. False if there is none."""
    return change(engine, delete(schedule).where(schedule.c.name == name)) > 0


def schedules_due(engine: Engine, moment: datetime) -> list[int]:
    """The numbers of those whose time has come."""
    which = select(schedule.c.id).where(schedule.c.next_at <= moment).order_by(schedule.c.id)
    return [row.id for row in read_all(engine, which)]


def hold_schedule(connection: Connection, schedule_id: int) -> ScheduleRow | None:
    """A schedule that nobody else changes until the transaction ends; None if it is gone."""
    which = select(schedule).where(schedule.c.id == schedule_id).with_for_update()
    found = connection.execute(which).first()
    return None if found is None else ScheduleRow(**found._mapping)


def set_next(connection: Connection, schedule_id: int, next_at: datetime) -> None:
    """Says when a schedule is due again."""
    later = update(schedule).where(schedule.c.id == schedule_id).values(next_at=next_at)
    connection.execute(later)
