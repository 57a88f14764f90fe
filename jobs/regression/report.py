"""Detected regressions in lines of text, as one HTML page, and for a CI.

The page has neither script nor request. For a CI each job is a suite and each series a case, in
JUnit XML and in Markdown.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, Literal

import numpy as np
from markupsafe import Markup

from jobs.charts import chart
from jobs.charts.chart import Chart
from jobs.charts.curves import sparkline
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
from jobs.results.pages import document_html, whole_page
from models.change_points import LEAST_VALUES
from optimizer.budget.power import p_words
from sampler.bench.installed import short_digest
from sampler.common.text import printable

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


LEGEND = (
    "Dot: a night. Horizontal line: the median between changes. Vertical line: the night of a "
    "change, with its 95% interval as a band. Ring: a single outlying night. The best compares "
    "each night's winner with the default of the same night."
)
_COLOURS = {"worse": "@second", "better": "@third"}


def regression_page(report: RegressionReport, name: str) -> bytes:
    """The findings in words, then every series with its changes marked."""
    *found, basis = report_lines(report)
    charts = [each for drawn in series_charts(report).values() for each in drawn]
    lines = [basis, *found, LEGEND]
    title = f"Nights of {name}"
    return whole_page(
        document_html("charts.html", title=title, lines=lines, charts=charts, tables=())
    )


def series_charts(report: RegressionReport) -> dict[str, list[Chart]]:
    """Every series as a plot, by its item."""
    drawn: dict[str, list[Chart]] = {}
    for number, series in enumerate(report.series):
        drawn.setdefault(series.item, []).append(_series_chart(report, series, number))
    return drawn


def _series_chart(report: RegressionReport, series: Series, number: int) -> Chart:
    nights = np.flatnonzero(np.isfinite(series.shown))
    days = [date_of(night.at) for night in report.nights]
    mine = [found for found in report.findings if found.series is series]
    changes = [found.alarm.since for found in mine]
    levels: list[tuple[int | None, float | None]] = []
    for begin, end in pairwise([0, *changes, len(days)]):
        within = nights[(nights >= begin) & (nights < end)]
        if within.size:
            level = float(np.median(series.shown[within]))
            levels += [(int(within[0]), level), (int(within[-1]), level), (None, None)]
    outliers = {each.night for each in report.outliers if each.series is series}
    alone, usual = (
        [n for n in nights.tolist() if (n in outliers) is out] for out in (True, False)
    )
    shapes = []
    for found in mine:
        color, alarm = _COLOURS[_kind(found)], found.alarm
        ends = {"x0": alarm.since_low - 0.5, "x1": alarm.since_high - 0.5, "y0": 0, "y1": 1}
        shapes.append(chart.area(color, yref="paper", opacity=0.18, **ends))
        shapes.append(chart.line_at(alarm.since - 0.5, across="x", dash="solid", color=color))
    percent = ", %" if series.kind == "best" and series.logarithmic else ""
    changed = f": changed {', '.join(days[night] for night in changes)}" if changes else ""
    ring = {"color": "@second", "size": 9, "symbol": "circle-open"}
    return Chart(
        name=f"nights-{number}",
        title=f"{series.item}: {name_of(series)}{percent}{changed}",
        caption=f"{len(nights)} nights, {days[0]} to {days[-1]}.",
        traces=[
            chart.scatter_trace(
                "level", levels, mode="lines", line={"color": "@accent"}, hoverinfo="skip"
            ),
            *(
                chart.scatter_trace(
                    name,
                    [(night, float(series.shown[night])) for night in shown],
                    hover="%{text}: %{y:.6g}",
                    text=[days[night] for night in shown],
                    marker=marker,
                )
                for name, shown, marker in (
                    ("night", usual, {"color": "@accent", "size": 6}),
                    ("outlier", alone, ring),
                )
                if shown
            ),
        ],
        x=chart.axis(
            "", tickmode="array", tickvals=[0, len(days) - 1], ticktext=[days[0], days[-1]]
        ),
        y=chart.axis("", zeroline=False),
        shapes=shapes,
        more={"showlegend": False},
        height=270,
    )


@dataclass(frozen=True)
class Check:
    """One thing that a night was asked: whether a job ended well, or a series is as before."""

    name: str
    kind: Literal["passed", "failure", "error", "skipped"]
    words: str = ""  # why; of one that passed the last change of the series, if there was any


Suites = Mapping[str, list[Check]]


def checks_of_night(
    document: Mapping[str, Any], watch: RegressionReport
) -> dict[str, list[Check]]:
    """The checks of each job of a batch by item: of the job itself, then of its series.

    ``document`` is that of batch.json, ``watch`` the regression watch whose newest night it is. A
    series fails on the night on which a change for the worse is found, as `rocktune nights` does.
    """
    lines = map(printable, report_lines(watch))
    told = dict(zip((each.series for each in watch.findings), lines, strict=False))
    failed = {each.series for each in watch.found_tonight if each.worse}
    suites = {item["item"]: [_of_job(item)] for item in document["items"]}
    for series in watch.newest_series:
        if series.item in suites:
            words = told.get(series, "")
            suites[series.item].append(_of_series(watch, series, series in failed, words))
    return suites


def _of_job(item: Mapping[str, Any]) -> Check:
    if item["state"] == "done":
        return Check("job", "passed")
    why = printable(f"{item['state']}: {item['error'] or 'no reason recorded'}")
    return Check("job", "error", why)


def _of_series(watch: RegressionReport, series: Series, failed: bool, words: str) -> Check:
    name, nights = name_of(series), watch.nights_of_level(series)
    if failed:
        return Check(name, "failure", words)
    if not nights:
        return Check(name, "skipped", "no value this night")
    if nights < LEAST_VALUES:
        few = f"{nights} of {LEAST_VALUES} nights needed for a comparison"
        return Check(name, "skipped", few)
    return Check(name, "passed", words)


def junit_text(document: Mapping[str, Any], suites: Suites) -> str:
    """The checks as JUnit XML."""
    began = document["began_at"][:19]
    return document_html("junit.xml", name=document["name"], began=began, suites=suites)


def markdown_text(document: Mapping[str, Any], watch: RegressionReport, suites: Suites) -> str:
    """What the night came to in Markdown, for the summary of a CI's run."""
    verdict = "no regression found" if watch.tested else "nothing to compare yet"
    name, lines = document["name"], report_lines(watch)
    told = zip(watch.findings, lines, strict=False)
    tonight = [line for found, line in told if found in watch.found_tonight]
    tonight += [
        f"{item}: {check.words}" for item, (check, *_) in suites.items() if check.kind == "error"
    ]
    rows = []
    for item, (job, *series) in suites.items():
        kinds = [check.kind for check in series]
        worse = ", ".join(check.name for check in series if check.kind == "failure")
        few = kinds.count("skipped")
        ended = "done" if job.kind == "passed" else "failed"
        rows.append((_safe(item), ended, _safe(worse), str(len(kinds) - few), str(few)))
    head = ("job", "ended", "worse", "compared", "not compared"), ("---",) * 3 + ("--:",) * 2
    return "\n".join(
        [
            f"## {_safe(name)}: {'**regression**' if watch.worsened else verdict}\n",
            *(f"- {_safe(line)}" for line in tonight),
            "",
            *(f"| {' | '.join(row)} |" for row in (*head, *rows)),
            f"\n{_safe(lines[-1])}. `rocktune nights {name}` shows all nights.\n",
        ]
    )


def _safe(text: str) -> str:
    """Text that is nothing but text in Markdown: no entity opens a table, a link or a tag."""
    return re.sub(r"[^A-Za-z0-9 .,:;%+()/-]", lambda m: f"&#{ord(m[0])};", printable(text))
