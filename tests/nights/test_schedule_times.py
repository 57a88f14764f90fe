"""Cron times in time zones: at the changes of the clock no night is lost and none comes twice."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.schedule import read_times
from sampler.common.errors import InputError, InputErrors

BERLIN, SANTIAGO = "Europe/Berlin", "America/Santiago"


def listed(cron: str, zone: str, begin: str, count: int) -> list[str]:
    """So many times after one, as the clock of the zone shows them."""
    times = read_times(cron, zone)
    moment = datetime.fromisoformat(begin).replace(tzinfo=ZoneInfo(zone))
    shown = []
    for _ in range(count):
        moment = times.after(moment)
        assert moment.tzinfo is UTC
        shown.append(f"{moment.astimezone(times.zone):%m-%d %H:%M %z}")
    return shown


def test_a_night_that_the_clock_leaves_out_comes_when_the_gap_ends() -> None:
    assert listed("30 2 * * *", BERLIN, "2026-03-27 12:00", 3) == [
        "03-28 02:30 +0100", "03-29 03:00 +0200", "03-30 02:30 +0200",
    ]  # fmt: skip
    # Here the day itself begins an hour late.
    assert listed("15 0 * * *", SANTIAGO, "2026-09-05 12:00", 2) == [
        "09-06 01:00 -0300", "09-07 00:15 -0300",
    ]  # fmt: skip


def test_a_night_that_the_clock_repeats_comes_once() -> None:
    assert listed("30 2 * * *", BERLIN, "2026-10-23 12:00", 3) == [
        "10-24 02:30 +0200", "10-25 02:30 +0200", "10-26 02:30 +0100",
    ]  # fmt: skip
    # Asked in the middle of the hour that comes twice.
    times = read_times("30 2 * * *", BERLIN)
    for minute in (31, 45, 59):
        asked = datetime(2026, 10, 25, 2, minute, tzinfo=ZoneInfo(BERLIN))
        assert times.after(asked) == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)
        assert times.after(asked.replace(fold=1)) == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)


def test_every_hour_is_every_hour() -> None:
    assert listed("0 * * * *", BERLIN, "2026-10-25 01:30", 3) == [
        "10-25 02:00 +0200", "10-25 02:00 +0100", "10-25 03:00 +0100",
    ]  # fmt: skip
    assert listed("0 * * * *", BERLIN, "2026-03-29 00:30", 2) == [
        "03-29 01:00 +0100", "03-29 03:00 +0200",
    ]  # fmt: skip


@settings(deadline=None, max_examples=25)
@given(
    zone=st.sampled_from([BERLIN, SANTIAGO, "Australia/Lord_Howe"]),
    hour=st.integers(0, 4),
    minute=st.integers(0, 59),
    begin=st.sampled_from([datetime(2026, 3, 20), datetime(2026, 8, 30), datetime(2026, 10, 1)]),
)
def test_every_day_comes_once(zone: str, hour: int, minute: int, begin: datetime) -> None:
    """Over each change of the clock in these zones."""
    times = read_times(f"{minute} {hour} * * *", zone)
    moment = begin.replace(tzinfo=times.zone) - timedelta(seconds=1)
    days = []
    for _ in range(35):
        moment = times.after(moment)
        assert times.has(moment) and not times.has(moment + timedelta(seconds=30))
        days.append(moment.astimezone(times.zone).date())
    assert days == [(begin + timedelta(days=number)).date() for number in range(35)]


@settings(deadline=None, max_examples=40)
@given(
    cron=st.sampled_from(["*/5 * * * *", "30 2 * * *", "*/20 1-3 * * *", "0 0 1 1 *"]),
    zone=st.sampled_from([BERLIN, SANTIAGO, "UTC"]),
    begin=st.datetimes(datetime(2025, 1, 1), datetime(2026, 12, 31)),
    minutes=st.integers(0, 600),
)
def test_the_latest_is_the_last_of_all(
    cron: str, zone: str, begin: datetime, minutes: int
) -> None:
    times = read_times(cron, zone)
    since = times.after(begin.replace(tzinfo=UTC))
    until = since + timedelta(minutes=minutes)
    last = since
    while (following := times.after(last)) <= until:
        last = following
    assert times.latest(since, until) == last


def test_the_latest_of_years_of_minutes_is_found_at_once() -> None:
    times = read_times("* * * * *", "UTC")
    until = datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC)
    assert times.latest(datetime(2016, 1, 1, tzinfo=UTC), until) == until.replace(second=0)


@pytest.mark.parametrize(
    ("cron", "said"),
    [
        ("30 2 * *", "has 4 fields, not five"),
        ("0 30 2 * * *", "has 6 fields, not five"),
        ("@daily", "has 1 fields, not five"),
        ("61 2 * * *", "cannot be read"),
        ("*/0 2 * * *", "cannot be read"),
        ("30 2 * * xyz", "cannot be read"),
        ("R 2 * * *", "'R' is not a cron field"),
        ("H 2 * * *", "'H' is not a cron field"),
        ("30 2 L * *", "'L' is not a cron field"),
        ("30 2 * * 1#2", "'1#2' is not a cron field"),
        ("30 2 31 2 *", "never occurs"),
        ("30 ٢ * * *", "is not a cron field"),
        ("\0 2 * * *", "is not a cron field"),
        ("1" * 5000 + " 2 * * *", "not five"),
    ],
)
def test_what_is_no_cron_is_refused_with_the_mend(cron: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        read_times(cron, "UTC")
    assert refused.value.field == "cron"
    assert said in refused.value.problem
    assert "30 2 * * * for 02:30 every night" in refused.value.problem
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    "zone",
    ["", "Berlin", "Europe", "../etc/passwd", "/etc/localtime", "a\0b", "\udc80", "x" * 9999],
)
def test_what_is_no_time_zone_is_refused(zone: str) -> None:
    with pytest.raises(InputError, match="write UTC, or such as Europe/Berlin"):
        read_times("30 2 * * *", zone)


def test_both_mistakes_are_told() -> None:
    with pytest.raises(InputErrors) as refused:
        read_times("never", "Nowhere")
    assert [each.field for each in refused.value.errors] == ["time_zone", "cron"]
