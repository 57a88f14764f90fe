"""Detected regressions as one HTML page: no script, no request, readable in any browser."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from markupsafe import Markup

from jobs.charts.svg import Canvas, plain
from jobs.regression.detection import RegressionReport, change_unit, date_of
from jobs.regression.series import Series
from jobs.regression.words import name_of, report_lines
from jobs.results.pages import document_html

_LEAST_RANGE = 1e-3  # of the level: what varies less is drawn flat


@dataclass(frozen=True)
class DrawnSeries:
    """One series as a page shows it.

    Attributes:
        title: Its name, and its unit where that is percent.
        changed: The days of its changes.
        svg: An element without script, its colours those of the page it stands in.
    """

    title: str
    changed: tuple[str, ...]
    svg: Markup


def regression_page(report: RegressionReport, name: str) -> str:
    """The findings in words, then every series with its changes marked.

    Args:
        report: What was found.
        name: The batch's.
    """
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
    """Its nights, the mean level between its changes, its outlier nights."""
    there = np.flatnonzero(np.isfinite(series.shown))
    values = series.shown[there]
    low, high = float(values.min()), float(values.max())
    margin = max(0.08 * (high - low), _LEAST_RANGE * max(abs(low), abs(high)), 1e-9)
    last = len(report.nights) - 1
    canvas = Canvas(
        720, 170, (70, 12, 10, 26), x=(0, max(last, 1)), y=(low - margin, high + margin)
    )
    canvas.grid(np.linspace(low, high, 3), 'class="grid"', ".4g")
    for night, anchor in ((0, "start"), (last, "end")):
        canvas.text(canvas.x(night), 162, date_of(report.nights[night].at), anchor)
    mine = [each for each in report.findings if each.series is series]
    edges = [0, *(each.alarm.since for each in mine), len(report.nights)]
    for begin, end in pairwise(edges):
        within = (there >= begin) & (there < end)
        if within.any():
            level, nights = canvas.y(float(np.median(values[within]))), there[within]
            first, until = canvas.x(nights[0]), canvas.x(nights[-1])
            canvas.parts.append(f'<path class="level" d="M{first:.1f} {level:.1f}H{until:.1f}"/>')
    for found in mine:
        kind, alarm = "worse" if found.worse else "better", found.alarm
        canvas.band(alarm.since_low - 0.5, alarm.since_high - 0.5, f'class="{kind} band"')
        at = canvas.x(alarm.since - 0.5)
        canvas.parts.append(f'<path class="{kind}" d="M{at:.1f} {canvas.top}V{canvas.bottom}"/>')
    outliers = {each.night for each in report.outliers if each.series is series}
    for night, value in zip(there.tolist(), values, strict=True):
        kind = "outlier" if night in outliers else "night"
        title = plain(f"{date_of(report.nights[night].at)}: {value:.6g}")
        canvas.parts.append(
            f'<circle class="{kind}" cx="{canvas.x(night):.1f}" cy="{canvas.y(value):.1f}" r="3">'
            f"<title>{title}</title></circle>"
        )
    unit = ", in percent" if series.kind == "best" and change_unit(series) == "percent" else ""
    label = plain(f"{series.item}: {name_of(series)}{unit}")
    # The drawing is of our own making, and escapes what others named.
    return Markup(canvas.svg(f'aria-label="{label}"'))
