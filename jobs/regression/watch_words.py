"""A regression watch in lines of text."""

from __future__ import annotations

from jobs.regression.watch import Amount, Finding, OutlierNight, Watch, date_of
from jobs.regression.watch_series import Series
from models.change_points.change_point import LEAST_VALUES

_RECENT = 7  # nights; older outliers are in the document


def told(watch: Watch) -> list[str]:
    """What was found, a line each, and by what test.

    Example:
        ``load/default: since 2026-11-12 TIME of the default +12.3% (+9.1% to +15.6%), worse;
        p = 2e-05, found 2026-11-14; kernel changed from A to B on that night``
    """
    lines = [_finding(watch, each) for each in watch.findings]
    recent = [o for o in watch.outliers if o.night >= len(watch.nights) - _RECENT]
    lines += [_outlier(watch, each) for each in recent]
    return [*lines, _basis(watch)]


def name_of(series: Series) -> str:
    """A series in a few words."""
    if series.kind == "default":
        return f"{series.metric.upper()} of the default"
    if series.metric == "fitness":
        return "fitness of the best"
    return f"{series.metric.upper()} of the best against the default"


def amount_words(amount: Amount) -> str:
    """A change with its interval."""
    return f"{_number(amount, amount.change)} ({_number(amount, amount.low)} to " + (
        f"{_number(amount, amount.high)})"
    )


def _number(amount: Amount, value: float) -> str:
    return f"{value:+.3g}%" if amount.unit == "percent" else f"{value:+.4g}"


def _finding(watch: Watch, found: Finding) -> str:
    alarm, nights = found.alarm, watch.nights
    since, low, high, on = (
        date_of(nights[night].at)
        for night in (alarm.since, alarm.since_low, alarm.since_high, alarm.reported)
    )
    dated = since if low == high else f"{since} ({low} to {high})"
    return (
        f"{found.series.item}: since {dated} {name_of(found.series)} "
        f"{amount_words(found.amount)}, {'worse' if found.worse else 'better'}; "
        f"p = {alarm.p:.1g}, found {on}; {_changed(watch, found)}"
    )


def _changed(watch: Watch, found: Finding) -> str:
    if not found.differences:
        return "nothing that is recorded of the machine and RocksDB changed then"
    words = []
    for each in found.differences:
        there = each.night == found.alarm.since
        when = "on that night" if there else f"on {date_of(watch.nights[each.night].at)}"
        words.append(f"{each.words()} {when}")
    return "; ".join(words)


def _outlier(watch: Watch, found: OutlierNight) -> str:
    return (
        f"{found.series.item}: {date_of(watch.nights[found.night].at)} stands out: "
        f"{name_of(found.series)} {_number(found.distance, found.distance.change)} from the "
        f"nights before, p = {found.p:.1g}; one night is no change of level"
    )


def _basis(watch: Watch) -> str:
    if not watch.tested:
        return (
            f"{len(watch.nights)} nights: nothing was tested; a series needs {LEAST_VALUES} "
            "nights, that of the newest included"
        )
    alike = (
        "; neighbouring nights resemble each other "
        f"(autocorrelation {watch.autocorrelation:.2f}), which is allowed for in part"
        if watch.autocorrelation > 0.15
        else ""
    )
    return (
        f"{len(watch.nights)} nights, {watch.tested} series tested on the newest, limits set for "
        f"{watch.per_100_nights:g} false alarms per 100 nights of the whole batch{alike}"
    )
