"""Schedules: kept when they are sound, and their batches started at cron times in a time zone.

The five fields are computed by croniter on the clock of the zone, each time exactly once. At the
change to summer time a time that the clock leaves out comes when the gap ends (02:30 at 03:00), so
no night is lost. At the change back croniter gives both of a repeated time; here an hour that is
written as a number comes once, the first time, and only ``*`` hours come in both: as Vixie's cron
does it.

A batch, its jobs and the schedule's next time are one transaction.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import structlog
from sqlalchemy import Connection, Engine

from db.access.tokens import may_submit
from db.connection.engine import now, present, writing
from db.jobs.job_queue import QueueFullError
from db.nightly.batches import (
    ScheduleRow,
    add_schedule,
    all_ended,
    begin_batch,
    hold_schedule,
    schedules_due,
    schedules_running,
    set_next,
)
from db.webhooks import tell
from jobs.batch.batch_plan import BatchPlan, findings_of, plan_from_document
from jobs.batch.batch_run import end_batch_now
from jobs.queue.lifecycle import WAITS
from jobs.specification.resolved_job import resolve
from jobs.specification.specification import Specification
from sampler.common.errors import InputError, noting, refuse_noted

MISSED = ("late", "skip")
_log = structlog.get_logger("schedule")
_FIELDS = 5
_MOST_CHARACTERS = 200
# What croniter knows beyond this (seconds, hashed and random times) is no common cron.
_PART = r"(\*|\d{1,2}|[A-Za-z]{3})(-(\d{1,2}|[A-Za-z]{3}))?(/\d{1,2})?"
_FIELD = re.compile(rf"{_PART}(,{_PART})*", re.ASCII)
_FORM = "write minute, hour, day, month and weekday, such as 30 2 * * * for 02:30 every night"
_FIRST_WINDOW = timedelta(hours=1)


@dataclass(frozen=True)
class Times:
    """The times of a schedule; made by ``read_times``."""

    cron: str
    zone: ZoneInfo

    def after(self, moment: datetime) -> datetime:
        """The first time that is later than a moment, in UTC."""
        from croniter import croniter

        local, every_hour = moment.astimezone(self.zone), self.cron.split()[1].startswith("*")
        while True:
            found: datetime = croniter(self.cron, local).get_next(datetime).astimezone(UTC)
            local = found.astimezone(self.zone)
            if not local.fold or every_hour:
                return found

    def has(self, moment: datetime) -> bool:
        """Whether a moment is one of the times."""
        return self.after(moment - timedelta(seconds=1)) == moment

    def latest(self, since: datetime, until: datetime) -> datetime:
        """The last time that is not after ``until``; ``since``, which is one, if there is none.

        It looks back in windows that double: years of minutes would take long to count.
        """
        window = _FIRST_WINDOW
        while True:
            begin = last = max(since, until - window)
            while (found := self.after(last)) <= until:
                last = found
            if last != begin or begin == since:
                return last
            window *= 2


def read_times(cron: str, time_zone: str) -> Times:
    """Checks a cron expression and a time zone; an InputError if one is none, or never due."""
    found: list[InputError] = []
    zone = ZoneInfo("UTC")
    with noting(found):
        zone = _zone(time_zone)
    with noting(found):
        _require_cron(cron)
    refuse_noted(found)
    times = Times(" ".join(cron.split()), zone)
    try:
        times.after(datetime.now(UTC))
    except ValueError:  # croniter's, for a 30th of February
        raise InputError("cron", f"{cron!r} never occurs; {_FORM}") from None
    return times


def _require_cron(cron: str) -> None:
    from croniter import croniter

    fields = cron.split()
    if len(cron) > _MOST_CHARACTERS or len(fields) != _FIELDS:
        problem = f"{cron[:_MOST_CHARACTERS]!r} has {len(fields)} fields, not five; {_FORM}"
        raise InputError("cron", problem)
    for field in fields:
        if not _FIELD.fullmatch(field):
            raise InputError("cron", f"{field!r} is not a cron field; {_FORM}")
    try:
        croniter(cron)
    except (ValueError, KeyError) as error:
        raise InputError("cron", f"{cron!r} cannot be read ({error}); {_FORM}") from None


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        problem = f"{name[:100]!r} is not a known time zone"
        raise InputError("time_zone", f"{problem}; write UTC, or such as Europe/Berlin") from None


GRACE = timedelta(minutes=5)
"""A time that is noticed later than this was missed: nothing ran when it came."""

AS_SCHEDULED = "as scheduled"
UNREADABLE_AGAIN = timedelta(hours=1)
"""After it a schedule that cannot be read is looked at again."""


@dataclass(frozen=True)
class Due:
    """What becomes of a schedule whose time has come."""

    at: datetime  # the time that this is about: the last that has come
    starts: bool  # whether its batch starts; else the time is recorded as skipped
    why: str  # in either case
    next_at: datetime  # when it is due again
    # Whether none of its times has come: it could not be read, was looked at again at any moment,
    # and can be read now. Then there is nothing to record.
    waits: bool = False


def due(schedule: ScheduleRow, is_running: bool, now: datetime) -> Due | None:
    """What is to be done now for a schedule; None as long as it is not due.

    However many times of a schedule have passed, it is about the last of them: nights that were
    missed are run once, or not at all. ``is_running``: whether its last batch has not ended.
    """
    if schedule.next_at > now:
        return None
    times = read_times(schedule.cron, schedule.time_zone)
    at = times.latest(schedule.next_at, now)
    if not times.has(at):  # it could not be read when it was looked at, an hour before that
        looked = schedule.next_at - UNREADABLE_AGAIN
        since = times.latest(looked, now)
        at = since if since > looked else at
    if not times.has(at):
        why = "readable again; waits for its time"
        return Due(at, False, why, times.after(now), waits=True)
    late = now - at > GRACE
    told = [f"nothing ran at {_clock(at)}"] if late else []
    if schedule.next_at < at:
        told = [
            f"nothing ran from {_clock(schedule.next_at)}{f' to {_clock(at)}' if late else ''}"
        ]
    starts = not is_running and not (late and schedule.missed == "skip")
    if is_running:
        told.insert(0, "the previous batch has not ended")
    elif not late:
        told.insert(0, AS_SCHEDULED)
    else:
        told.append("it runs late" if starts else "missed times of this schedule are skipped")
    return Due(at, starts, "; ".join(told), times.after(max(at, now)))


def _clock(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


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
    when = {"cron": times.cron, "time_zone": time_zone, "next_at": times.after(present(engine))}
    about = {"name": name, "missed": missed, "submitter": submitter}
    if not add_schedule(engine, document=plan.document(), **about, **when):
        raise ScheduleTaken(f"a schedule {name!r} already exists; delete it first")


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


def keep_schedules(engine: Engine, *, most_queued: int | None = None) -> list[str]:
    """A worker's round: ends batches, whose names it returns, then starts what is due.

    The queue takes ``most_queued`` jobs; None: any number.
    """
    ended = all_ended(engine)
    for row in ended:
        end_batch_now(engine, row.id)
        _log.info("batch ended", batch=row.name)
    fire_due(engine, most_queued=most_queued)
    return [row.name for row in ended]


def fire_due(engine: Engine, *, most_queued: int | None = None) -> list[int]:
    """Starts the batches whose time has come; several workers at once start each once.

    One is skipped, and says why, where the queue has no room for it, or the token that added its
    schedule is no longer valid. Returned are the numbers of those that this call has recorded, the
    skipped ones too.
    """
    moment = present(engine)
    recorded = []
    for schedule_id in schedules_due(engine, moment):
        with writing(engine) as connection:
            batch_id = _fire(connection, schedule_id, moment, most_queued)
        if batch_id is not None:
            recorded.append(batch_id)
    return recorded


def _fire(
    connection: Connection, schedule_id: int, moment: datetime, most_queued: int | None
) -> int | None:
    schedule = hold_schedule(connection, schedule_id)
    if schedule is None:
        return None
    try:
        each = due(schedule, schedule.id in schedules_running(connection), moment)
        if each is None:  # another worker has fired it meanwhile
            return None
        set_next(connection, schedule.id, each.next_at)
        if each.waits:
            _log.info("schedule waits", schedule=schedule.name, why=each.why)
            return None
        stopped = stopped_because(connection, schedule) if each.starts else each.why
        if stopped is not None:
            return _skipped(connection, schedule, each.at, stopped)
        try:
            began = _begun(connection, schedule, each.why, each.at, most_queued)
        except QueueFullError as full:
            return _skipped(connection, schedule, each.at, str(full))
        if each.why != AS_SCHEDULED:
            _tell_missed(connection, schedule, each.at, each.why, began)
        _log.info("batch started", schedule=schedule.name, why=each.why)
        return began
    except InputError as error:  # a time zone may go with an update of the system
        set_next(connection, schedule.id, moment + UNREADABLE_AGAIN)
        why = f"the schedule cannot be read: {error}"
        return _skipped(connection, schedule, schedule.next_at, why)


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


def stopped_because(connection: Connection, schedule: ScheduleRow) -> str | None:
    """Why a schedule starts nothing though it is due; None: it does.

    Who may no longer submit jobs has none submitted for them at night either.
    """
    name = schedule.submitter
    if name is None or may_submit(connection, name):  # None: a terminal on the database itself
        return None
    return (
        f"token {name!r}, which added the schedule, is revoked; make a token of this name, or "
        "delete the schedule and add it again"
    )


def _begun(
    connection: Connection,
    schedule: ScheduleRow,
    why: str,
    at: datetime,
    most_queued: int | None,
    submitter: str | None = None,
) -> int | None:
    return plan_from_document(schedule.document).begin(
        connection,
        why=why,
        job_why=WAITS,
        schedule_id=schedule.id,
        due_at=at,
        submitter=submitter or schedule.submitter,
        most_queued=most_queued,
    )


def begin_now(
    engine: Engine, plan: BatchPlan, *, submitter: str | None, most_queued: int | None = None
) -> int:
    """Begins a batch of no schedule, which the service's worker runs; returns its number.

    Raises:
        QueueFullError: The queue has no room for its jobs.
    """
    with writing(engine) as connection:
        batch_id = plan.begin(
            connection,
            why="run on request",
            job_why=WAITS,
            submitter=submitter,
            by_service=True,
            most_queued=most_queued,
        )
        assert batch_id is not None  # it is of no schedule, so there is no time to be taken
        return batch_id


def run_now(
    engine: Engine,
    schedule_id: int,
    *,
    submitter: str | None = None,
    most_queued: int | None = None,
) -> int:
    """Starts a schedule's batch now, whenever it is due; returns the batch's number.

    ``submitter`` is who asks for it; None: who added the schedule.

    Raises:
        KeyError: There is no such schedule.
        BatchGoesOn: The batch before it has not ended.
        QueueFullError: The queue has no room for its jobs.
        InputError: Another version has written the schedule.
    """
    with writing(engine) as connection:
        schedule = hold_schedule(connection, schedule_id)
        if schedule is None:
            raise KeyError(f"there is no schedule {schedule_id}")
        if (going := schedules_running(connection).get(schedule_id)) is not None:
            raise BatchGoesOn(f"batch {going} of this schedule has not ended")
        batch_id = _begun(
            connection, schedule, "run on request", now(connection), most_queued, submitter
        )
        assert batch_id is not None  # nobody else has begun one at this microsecond
        return batch_id
