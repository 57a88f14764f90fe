"""Schedules: kept when they are sound, and their batches started when they are due.

A batch, its jobs and the schedule's next time are one transaction.
"""

from datetime import datetime

import structlog
from sqlalchemy import Connection, Engine

from db.connection.transactions import now, present, writing
from db.nightly.batches import all_ended, begin_batch, schedules_running
from db.nightly.schedules import ScheduleRow, add_schedule, hold_schedule, schedules_due, set_next
from db.webhooks import tell
from jobs.batch.batch_file import findings_of
from jobs.batch.batch_plan import BatchPlan, plan_from_document
from jobs.batch.batch_result import end_batch_now
from jobs.queue.lifecycle import WAITS
from jobs.schedule.schedule_times import AS_SCHEDULED, UNREADABLE_AGAIN, due, read_times
from jobs.specification.resolved_job import resolve
from jobs.specification.specification import Specification
from sampler.common.errors import InputError, refuse_noted

MISSED = ("late", "skip")
_log = structlog.get_logger("schedule")


class ScheduleTaken(ValueError):
    """There is a schedule of this name."""


def keep_schedule(
    engine: Engine,
    plan: BatchPlan,
    *,
    name: str,
    cron: str,
    time_zone: str,
    missed: str,
    submitter: str | None = None,
) -> None:
    """Keeps a schedule, see ``ScheduleRow``; it is due the first time after now.

    An InputError of a wrong time or time zone, ScheduleTaken of a name that is there.
    """
    times = read_times(cron, time_zone)
    if missed not in MISSED:
        raise InputError("missed", f"{missed!r} is neither late nor skip")
    kept = add_schedule(
        engine,
        name=name,
        cron=times.cron,
        time_zone=time_zone,
        missed=missed,
        document=plan.document(),
        next_at=times.after(present(engine)),
        submitter=submitter,
    )
    if not kept:
        raise ScheduleTaken(f"there is a schedule {name!r} already; delete it first")


def require_sound(plan: BatchPlan) -> None:
    """Checks each job of a batch as a whole, away from the bench host; an InputError names one."""
    found: list[InputError] = []
    for item in plan.items:
        assert isinstance(item.specification, Specification)  # a terminal's file has no others
        try:
            resolve(item.specification, None)
        except InputError as error:
            found += findings_of(item.name, error)
    refuse_noted(found)


class BatchGoesOn(RuntimeError):
    """The schedule's last batch has not ended."""


def keep_schedules(engine: Engine) -> list[str]:
    """A worker's round: ends batches, whose names it returns, then starts what is due."""
    ended = all_ended(engine)
    for row in ended:
        end_batch_now(engine, row.id)
        _log.info("batch has ended", batch=row.name)
    fire_due(engine)
    return [row.name for row in ended]


def fire_due(engine: Engine) -> list[int]:
    """Starts the batches whose time has come; several workers at once start each once.

    Returned are the numbers of those that this call has recorded, the skipped ones too.
    """
    moment = present(engine)
    recorded = []
    for schedule_id in schedules_due(engine, moment):
        with writing(engine) as connection:
            batch_id = _fire(connection, schedule_id, moment)
        if batch_id is not None:
            recorded.append(batch_id)
    return recorded


def _fire(connection: Connection, schedule_id: int, moment: datetime) -> int | None:
    schedule = hold_schedule(connection, schedule_id)
    if schedule is None:
        return None
    try:
        # What another worker has fired meanwhile has a later next_at, and is not due.
        for each in due([schedule], schedules_running(connection).keys(), moment):
            set_next(connection, schedule.id, each.next_at)
            if each.waits:
                _log.info("schedule waits", schedule=schedule.name, why=each.why)
                return None
            if not each.starts:
                return _skipped(connection, schedule, each.at, each.why)
            began = _begun(connection, schedule, each.why, each.at)
            if each.why != AS_SCHEDULED:
                _tell_missed(connection, schedule, each.at, each.why, began)
            _log.info("batch begins", schedule=schedule.name, why=each.why)
            return began
    except InputError as error:  # a time zone may go with an update of the system
        set_next(connection, schedule.id, moment + UNREADABLE_AGAIN)
        why = f"the schedule cannot be read: {error}"
        return _skipped(connection, schedule, schedule.next_at, why)
    return None


def _skipped(connection: Connection, schedule: ScheduleRow, at: datetime, why: str) -> int | None:
    _log.warning("batch skipped", schedule=schedule.name, why=why)
    _tell_missed(connection, schedule, at, why, None)
    name = schedule.document["name"]
    return begin_batch(
        connection,
        name=name,
        document={"name": name, "items": []},
        digest="",
        why=why,
        schedule_id=schedule.id,
        due_at=at,
    )


def _tell_missed(
    connection: Connection, schedule: ScheduleRow, at: datetime, why: str, batch: int | None
) -> None:
    """Tells webhooks of a time at which nothing ran; ``batch`` is the one that runs late."""
    about = {"name": schedule.name, "at": at.isoformat(), "why": why, "batch": batch}
    subject = f"schedule {schedule.id}, {at.isoformat()}"
    tell(connection, ["schedule_missed"], subject, {"schedule": about})


def _begun(connection: Connection, schedule: ScheduleRow, why: str, at: datetime) -> int | None:
    return plan_from_document(schedule.document).begin(
        connection,
        why=why,
        job_why=WAITS,
        schedule_id=schedule.id,
        due_at=at,
        submitter=schedule.submitter,
    )


def begin_now(engine: Engine, plan: BatchPlan, *, submitter: str | None) -> int:
    """Begins a batch of no schedule, which the service's worker runs; returns its number."""
    with writing(engine) as connection:
        batch_id = plan.begin(
            connection, why="asked for", job_why=WAITS, submitter=submitter, by_service=True
        )
        assert batch_id is not None  # it is of no schedule, so there is no time to be taken
        return batch_id


def run_now(engine: Engine, schedule_id: int) -> int:
    """Starts a schedule's batch now, whenever it is due; returns the batch's number.

    Raises:
        KeyError: There is no such schedule.
        BatchGoesOn: The batch before it has not ended.
        InputError: Another version has written the schedule.
    """
    with writing(engine) as connection:
        schedule = hold_schedule(connection, schedule_id)
        if schedule is None:
            raise KeyError(f"there is no schedule {schedule_id}")
        if (going := schedules_running(connection).get(schedule_id)) is not None:
            raise BatchGoesOn(f"batch {going} of this schedule has not ended")
        batch_id = _begun(connection, schedule, "asked for", now(connection))
        assert batch_id is not None  # nobody else has begun one at this microsecond
        return batch_id
