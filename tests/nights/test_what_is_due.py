"""What is due, as a function of the schedules, the batches that run, and the time."""

from datetime import UTC, datetime, timedelta

import pytest

from db.nightly.batches import ScheduleRow
from jobs.schedule import GRACE, UNREADABLE_AGAIN, Due, due

DUE = datetime(2026, 3, 28, 1, 30, tzinfo=UTC)
DAY = timedelta(days=1)


def schedule(*, missed: str = "late", next_at: datetime = DUE) -> ScheduleRow:
    return ScheduleRow(
        id=1, name="n", cron="30 1 * * *", time_zone="UTC", missed=missed,
        document={}, submitter=None, created_at=DUE - DAY, next_at=next_at,
    )  # fmt: skip


def decided(given: ScheduleRow, now: datetime, *, is_running: bool = False) -> Due:
    found = due(given, is_running, now)
    assert found is not None
    return found


def test_nothing_is_due_before_its_time() -> None:
    assert due(schedule(), False, DUE - timedelta(microseconds=1)) is None


@pytest.mark.parametrize("missed", ["late", "skip"])
@pytest.mark.parametrize("after", [timedelta(0), GRACE])
def test_on_time_it_starts(missed: str, after: timedelta) -> None:
    found = decided(schedule(missed=missed), DUE + after)
    assert (found.starts, found.at, found.next_at) == (True, DUE, DUE + DAY)
    assert found.why == "as scheduled"


def test_a_missed_time_is_run_late_or_skipped_as_asked() -> None:
    now = DUE + GRACE + timedelta(seconds=1)
    late, skipped = (decided(schedule(missed=each), now) for each in ("late", "skip"))
    assert (late.starts, late.at, late.next_at) == (True, DUE, DUE + DAY)
    assert late.why == "nothing ran at 2026-03-28 01:30 UTC; it runs late"
    assert (skipped.starts, skipped.at, skipped.next_at) == (False, DUE, DUE + DAY)


@pytest.mark.parametrize(("missed", "starts"), [("late", True), ("skip", False)])
def test_however_many_were_missed_it_is_about_the_last(missed: str, starts: bool) -> None:
    now = DUE + 40 * DAY + timedelta(hours=3)
    found = decided(schedule(missed=missed), now)
    assert (found.starts, found.at, found.next_at) == (starts, DUE + 40 * DAY, DUE + 41 * DAY)
    assert "from 2026-03-28 01:30 UTC to 2026-05-07 01:30 UTC" in found.why


def test_noticed_on_time_it_starts_whatever_was_missed_before() -> None:
    found = decided(schedule(missed="skip"), DUE + 3 * DAY)
    assert (found.starts, found.at) == (True, DUE + 3 * DAY)
    assert found.why == "as scheduled; nothing ran from 2026-03-28 01:30 UTC"


@pytest.mark.parametrize("now", [DUE, DUE + timedelta(hours=5)])
def test_a_batch_that_has_not_ended_is_not_started_again(now: datetime) -> None:
    first = decided(schedule(), now, is_running=True)
    assert not first.starts
    assert first.why.startswith("the previous batch has not ended")
    assert first.next_at == DUE + DAY


def test_a_schedule_that_can_be_read_again_waits_for_its_time() -> None:
    again = DUE + timedelta(hours=7, seconds=13)  # whenever it was found that it could not be read
    found = decided(schedule(next_at=again), again)
    assert (found.starts, found.waits, found.next_at) == (False, True, DUE + DAY)
    found = decided(schedule(next_at=again), DUE + DAY + timedelta(minutes=1))
    assert (found.starts, found.waits, found.at) == (True, False, DUE + DAY)


def test_a_time_that_came_before_the_next_look_at_an_unreadable_schedule_is_not_lost() -> None:
    looked = DUE - timedelta(minutes=50)  # it could not be read then, and was mended before DUE
    again = looked + UNREADABLE_AGAIN
    late, skipped = (
        decided(schedule(missed=each, next_at=again), again) for each in ("late", "skip")
    )
    assert (late.starts, late.waits, late.at, late.next_at) == (True, False, DUE, DUE + DAY)
    assert (skipped.starts, skipped.waits, skipped.at) == (False, False, DUE)
