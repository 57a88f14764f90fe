"""Detected regressions in lines of text, and as one HTML page without script or request."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np
from markupsafe import Markup

from jobs.charts.curves import Canvas, sparkline, svg_escape, value_range
from jobs.regression.detection import (
    Amount,
    EnvironmentDifference,
    LevelChange,
    OutlierNight,
    RegressionReport,
    Series,
    date_of,
)
from jobs.results.figures import amount_with_unit, figure, share_percent
from jobs.results.pages import document_html
from models.change_points.change_point import LEAST_VALUES
from optimizer.budget.power import p_words
from sampler.bench.installed import short_digest

# What is told of a build, by the job and by each host beside it.
_OF_BUILD = re.compile(r"build\.|rocksdb$|db_bench$|hosts\..*\.builds$")
_RECENT = 7  # nights; older outliers are in the document


def report_lines(watch: RegressionReport) -> list[str]:
    """What was found, a line each, and by what test.

    Example:
        ``load/default: since 2026-11-12 TIME of the default +12.3% (+9.1% to +15.6%), worse;
        p < 0.001, found 2026-11-14; kernel changed from A to B on that night``
    """
    lines = [_finding(watch, each) for each in watch.findings]
    recent = [o for o in watch.outliers if o.night >= len(watch.nights) - _RECENT]
    lines += [_outlier(watch, each) for each in recent]
    return [*lines, _basis(watch)]


@dataclass(frozen=True)
class SeriesRow:
    """One series in the list of all: how it went, where it stands, what was found last."""

    series: Series
    title: str  # as ``name_of`` has it
    newest: str  # its last value with its unit
    drawn: Markup  # a sparkline with its changes
    state: str  # `worse`, `better`, `outlier`, `steady` or `untested`
    verdict: str  # how so, in words
    night: int | None  # the batch that the last change began with


def series_rows(report: RegressionReport, nights: str = "nights") -> list[SeriesRow]:
    """A row for each series, in these words."""
    return [_row(report, series, nights) for series in report.newest_series]


def _row(report: RegressionReport, series: Series, nights: str) -> SeriesRow:
    newest = len(report.nights) - 1
    mine = [each for each in report.findings if each.series is series]
    title, there = name_of(series), np.flatnonzero(np.isfinite(series.shown))
    night = None
    if mine:
        found, state = mine[-1], _kind(mine[-1])
        since = report.nights[found.alarm.since]
        verdict = f"since {date_of(since.at)}: {amount_words(found.amount)}"
        night = since.batch_id
    elif any(each.series is series and each.night == newest for each in report.outliers):
        state, verdict = "outlier", f"the newest of {len(there)} {nights} is an outlier"
    elif len(there) < LEAST_VALUES:
        state, verdict = "untested", f"{len(there)} of {LEAST_VALUES} {nights} needed for a test"
    else:
        state, verdict = "steady", f"no change in {len(there)} {nights}"
    marks = {each.alarm.since: _kind(each) for each in mine}
    label = f"{series.item}: {title}, {len(there)} {nights}, {state} {verdict}"
    drawn = sparkline(series.shown.tolist(), marks, label)
    value = _value(series, float(series.shown[there[-1]]))
    return SeriesRow(series, title, value, drawn, state, verdict, night)


def _value(series: Series, value: float) -> str:
    if series.kind == "best":
        return f"{value:+.3g}%" if series.logarithmic else figure(value)
    if series.kind == "noise":
        return share_percent(value)
    return amount_with_unit(value, series.metric)


def _kind(found: LevelChange) -> str:
    return "worse" if found.worse else "better"


def name_of(series: Series) -> str:
    """A series in a few words."""
    if series.kind == "default":
        return f"{series.metric.upper()} of the default"
    if series.kind != "best":
        return f"noise of {series.metric.upper()}" if series.kind == "noise" else series.metric
    if series.metric == "fitness":
        return "fitness of the best"
    return f"{series.metric.upper()} of the best against the default"


def amount_words(amount: Amount) -> str:
    """A change with its interval."""
    change, low, high = (_number(amount, e) for e in (amount.change, amount.low, amount.high))
    return f"{change} ({low} to {high})"


def _number(amount: Amount, value: float) -> str:
    return f"{value:+.3g}%" if amount.unit == "percent" else f"{value:+.4g}"


def _finding(watch: RegressionReport, found: LevelChange) -> str:
    alarm, nights = found.alarm, watch.nights
    since, low, high, on = (
        date_of(nights[night].at)
        for night in (alarm.since, alarm.since_low, alarm.since_high, alarm.reported)
    )
    dated = since if low == high else f"{since} ({low} to {high})"
    return (
        f"{found.series.item}: since {dated} {name_of(found.series)} "
        f"{amount_words(found.amount)}, {_kind(found)}; "
        f"{p_words(alarm.p)}, found {on}; {_changed(watch, found)}"
    )


def _changed(watch: RegressionReport, found: LevelChange) -> str:
    if not found.differences:
        return "no recorded property of the machine or RocksDB changed"
    words = []
    for night, there in groupby(found.differences, key=lambda each: each.night):
        since = night == found.alarm.since
        when = "on that night" if since else f"on {date_of(watch.nights[night].at)}"
        words += [f"{each} {when}" for each in _of_one_night(list(there))]
    return "; ".join(words)


def _of_one_night(differences: Sequence[EnvironmentDifference]) -> list[str]:
    """What changed, another build in one phrase: all that is known of it would fill a screen."""
    named = {each.name: each for each in differences}
    if (digest := named.get("build.digest")) is None:
        return [each.words() for each in differences]
    files = (short_digest(each) if each else "unknown" for each in (digest.before, digest.after))
    build = "the build of RocksDB changed"
    if version := named.get("rocksdb"):
        build = f"RocksDB changed from {version.before or 'unknown'} to {version.after}"
    rest = [each.words() for each in differences if not _OF_BUILD.match(each.name)]
    return [f"{build} (SHA-256 {' to '.join(files)})", *rest]


def _outlier(watch: RegressionReport, found: OutlierNight) -> str:
    return (
        f"{found.series.item}: {date_of(watch.nights[found.night].at)} is an outlier: "
        f"{name_of(found.series)} {_number(found.distance, found.distance.change)} from the "
        f"nights before, {p_words(found.p)}; one night alone is not a change of level"
    )


def _basis(watch: RegressionReport) -> str:
    if not watch.tested:
        return (
            f"{len(watch.nights)} nights, none tested: a series needs {LEAST_VALUES} nights, "
            "including the newest"
        )
    alike = ""
    if watch.autocorrelation > 0.15:
        alike = "; neighbouring nights are correlated "
        alike += f"(autocorrelation {watch.autocorrelation:.2f}), which is partly corrected for"
    return (
        f"{len(watch.nights)} nights, {watch.tested} series tested on the newest; thresholds "
        f"allow {watch.per_100_nights:g} false alarms per 100 nights of the whole batch{alike}"
    )


@dataclass(frozen=True)
class DrawnSeries:
    """One series as a page shows it."""

    title: str  # its name, and its unit where that is percent
    changed: tuple[str, ...]  # the days of its changes
    svg: Markup  # an element without script, its colours those of the page it stands in


def regression_page(report: RegressionReport, name: str) -> str:
    """The findings in words, then every series with its changes marked."""
    *found, basis = report_lines(report)
    return document_html(
        "regression.html", name=name, basis=basis, found=found, series=drawn_series(report)
    )


def drawn_series(report: RegressionReport) -> dict[str, list[DrawnSeries]]:
    """Every series by its item."""
    drawn: dict[str, list[DrawnSeries]] = {}
    for each in report.series:
        percent = ", %" if each.kind == "best" and each.logarithmic else ""
        changes = [found.alarm.since for found in report.findings if found.series is each]
        changed = tuple(date_of(report.nights[night].at) for night in changes)
        picture = DrawnSeries(f"{name_of(each)}{percent}", changed, _svg(report, each))
        drawn.setdefault(each.item, []).append(picture)
    return drawn


def _svg(report: RegressionReport, series: Series) -> Markup:
    there = np.flatnonzero(np.isfinite(series.shown))
    values, last = series.shown[there], len(report.nights) - 1
    canvas = Canvas(720, 170, (70, 12, 10, 26), x=(0, max(last, 1)), y=value_range(values))
    canvas.grid(np.linspace(values.min(), values.max(), 3), 'class="grid"', ".4g")
    for night, anchor in ((0, "start"), (last, "end")):
        canvas.text(canvas.x(night), 162, date_of(report.nights[night].at), anchor)
    mine = [each for each in report.findings if each.series is series]
    begins = [0, *(each.alarm.since for each in mine), len(report.nights)]
    for begin, end in pairwise(begins):
        within = (there >= begin) & (there < end)
        if within.any():
            level, nights = canvas.y(float(np.median(values[within]))), there[within]
            first, until = canvas.x(nights[0]), canvas.x(nights[-1])
            canvas.parts.append(f'<path class="level" d="M{first:.1f} {level:.1f}H{until:.1f}"/>')
    for found in mine:
        kind, alarm = _kind(found), found.alarm
        canvas.band(alarm.since_low - 0.5, alarm.since_high - 0.5, f'class="{kind} band"')
        at = canvas.x(alarm.since - 0.5)
        canvas.parts.append(f'<path class="{kind}" d="M{at:.1f} {canvas.top}V{canvas.bottom}"/>')
    outliers = {each.night for each in report.outliers if each.series is series}
    for night, value in zip(there.tolist(), values, strict=True):
        kind = "outlier" if night in outliers else "night"
        title = svg_escape(f"{date_of(report.nights[night].at)}: {value:.6g}")
        canvas.parts.append(
            f'<circle class="{kind}" cx="{canvas.x(night):.1f}" cy="{canvas.y(value):.1f}" r="3">'
            f"<title>{title}</title></circle>"
        )
    unit = ", in percent" if series.kind == "best" and series.logarithmic else ""
    label = svg_escape(f"{series.item}: {name_of(series)}{unit}")
    # The drawing is of our own making, and escapes what others named.
    return Markup(canvas.svg(f'aria-label="{label}"'))
