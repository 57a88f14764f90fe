"""When a schedule is due: cron times in a time zone, each exactly once, and what was missed.

The five fields are computed by croniter on the clock of the zone. At the change to summer time a
time that the clock leaves out comes when the gap ends (02:30 at 03:00), so no night is lost. At
the change back croniter gives both of a repeated time; here an hour that is written as a number
comes once, the first time, and only ``*`` hours come in both: as Vixie's cron does it.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from db.nightly.schedules import ScheduleRow
from sampler.common.errors import InputError, noting, refuse_noted

_FIELDS = 5
_MOST_CHARACTERS = 200
# What croniter knows beyond this (seconds, hashed and random times) is no common cron.
_PART = r"(\*|\d{1,2}|[A-Za-z]{3})(-(\d{1,2}|[A-Za-z]{3}))?(/\d{1,2})?"
_FIELD = re.compile(rf"{_PART}(,{_PART})*", re.ASCII)
_FORM = "write minute, hour, day, month and weekday, as 30 2 * * * for half past two every night"
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
        raise InputError("cron", f"{cron!r} never comes; {_FORM}") from None
    return times


def _require_cron(cron: str) -> None:
    from croniter import croniter

    fields = cron.split()
    if len(cron) > _MOST_CHARACTERS or len(fields) != _FIELDS:
        problem = f"{cron[:_MOST_CHARACTERS]!r} has {len(fields)} fields, not five; {_FORM}"
        raise InputError("cron", problem)
    for field in fields:
        if not _FIELD.fullmatch(field):
            raise InputError("cron", f"{field!r} is no field of cron; {_FORM}")
    try:
        croniter(cron)
    except (ValueError, KeyError) as error:
        raise InputError("cron", f"{cron!r} cannot be read ({error}); {_FORM}") from None


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        problem = f"{name[:100]!r} is no time zone that is known here"
        raise InputError("time_zone", f"{problem}; write UTC, or one as Europe/Berlin") from None


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
    if first < at:
        return [f"nothing ran from {_clock(first)}{f' to {_clock(at)}' if late else ''}"]
    return [f"nothing ran at {_clock(at)}"] if late else []


def _clock(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
