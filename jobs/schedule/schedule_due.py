"""What is due: a pure function of the schedules, the batches that run, and the time."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from db.nightly.schedules import ScheduleRow
from jobs.schedule.schedule_times import read_times

GRACE = timedelta(minutes=5)
"""A time that is noticed later than this was missed: nothing ran when it came."""

AS_SCHEDULED = "as scheduled"
UNREADABLE_AGAIN = timedelta(hours=1)
"""After it a schedule that cannot be read is looked at again."""


@dataclass(frozen=True)
class Due:
    """What becomes of a schedule whose time has come."""

    schedule: ScheduleRow
    at: datetime  # the time that this is about: the last that has come
    starts: bool  # whether its batch starts; else the time is recorded as skipped
    why: str  # in either case
    next_at: datetime  # when it is due again
    # Whether none of its times has come: it could not be read, was looked at again at any moment,
    # and can be read now. Then there is nothing to record.
    waits: bool = False


def due(schedules: Iterable[ScheduleRow], running: Collection[int], now: datetime) -> list[Due]:
    """What is to be done now.

    However many times of a schedule have passed, it is about the last of them: nights that were
    missed are run once, or not at all. ``running`` are the numbers of the schedules whose last
    batch has not ended.
    """
    return [_decided(each, each.id in running, now) for each in schedules if each.next_at <= now]


def _decided(schedule: ScheduleRow, is_running: bool, now: datetime) -> Due:
    times = read_times(schedule.cron, schedule.time_zone)
    at = times.latest(schedule.next_at, now)
    if not times.has(at):  # it could not be read when it was looked at, an hour before that
        looked = schedule.next_at - UNREADABLE_AGAIN
        since = times.latest(looked, now)
        at = since if since > looked else at
    if not times.has(at):
        why = "it can be read again, and waits for its time"
        return Due(schedule, at, False, why, times.after(now), waits=True)
    starts, why = _verdict(schedule, at, is_running, now)
    return Due(schedule, at, starts, why, times.after(max(at, now)))


def _verdict(
    schedule: ScheduleRow, at: datetime, is_running: bool, now: datetime
) -> tuple[bool, str]:
    late = now - at > GRACE
    told = _missed(schedule.next_at, at, late)
    if is_running:
        return False, "; ".join(["the batch before it has not ended", *told])
    if late and schedule.missed == "skip":
        return False, "; ".join([*told, "missed times of this schedule are skipped"])
    if late:
        return True, "; ".join([*told, "it is run late"])
    return True, "; ".join([AS_SCHEDULED, *told])


def _missed(first: datetime, at: datetime, late: bool) -> list[str]:
    """Which times nothing ran at."""
    if first < at:
        return [f"nothing ran from {_clock(first)}{f' to {_clock(at)}' if late else ''}"]
    return [f"nothing ran at {_clock(at)}"] if late else []


def _clock(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
