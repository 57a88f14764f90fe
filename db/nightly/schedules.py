"""Schedules: batches that start by themselves, and when each is due next."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, delete, select, update

from db.connection.transactions import (
    change,
    insert_into,
    moment_of,
    read_all,
    read_first,
    writing,
)
from db.schema.tables import schedule
from db.schema.types import storable


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


def add_schedule(
    engine: Engine,
    *,
    name: str,
    cron: str,
    time_zone: str,
    missed: str,
    document: Mapping[str, Any],
    next_at: datetime,
    submitter: str | None = None,
) -> bool:
    """Keeps a new schedule; False when the name is taken.

    Raises:
        ValueError: A number in the document is not finite.
    """
    new = insert_into(engine, schedule).values(
        name=name,
        cron=cron,
        time_zone=time_zone,
        missed=missed,
        document=storable(document, "document"),
        submitter=submitter,
        created_at=moment_of(engine),
        next_at=next_at,
    )
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
