"""One series of a regression watch as an SVG text: its nights, its levels, its changes."""

from __future__ import annotations

from html import escape
from itertools import pairwise

import numpy as np

from jobs.regression.watch import Watch, date_of, unit_of
from jobs.regression.watch_series import Series
from jobs.regression.watch_words import name_of

WIDTH, HEIGHT = 720, 170
LEFT, RIGHT, TOP, BOTTOM = 70, 12, 10, 26
_LEAST_RANGE = 1e-3  # of the level: what varies less is drawn flat


def series_plot(watch: Watch, series: Series) -> str:
    """Draws a series, with the mean level between its changes and its outlier nights.

    Args:
        watch: Whose series it is.
        series: One of ``watch.series``.

    Returns:
        An ``<svg>`` element without script, its colours those of the page it stands in.
    """
    there = np.flatnonzero(np.isfinite(series.shown))
    values = series.shown[there]
    low, high = float(values.min()), float(values.max())
    margin = max(0.08 * (high - low), _LEAST_RANGE * max(abs(low), abs(high)), 1e-9)
    low, high, last = low - margin, high + margin, max(len(watch.nights) - 1, 1)

    def x(night: float) -> float:
        return LEFT + night / last * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{_label(series)}">']
    for value in np.linspace(low + margin, high - margin, 3):
        parts.append(f'<path class="grid" d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}"/>')
        parts.append(_text(LEFT - 6, y(value) + 4, f"{value:.4g}", "end"))
    for night, anchor in ((0, "start"), (len(watch.nights) - 1, "end")):
        parts.append(_text(x(night), HEIGHT - 8, date_of(watch.nights[night].at), anchor))
    mine = [each for each in watch.findings if each.series is series]
    edges = [0, *(each.alarm.since for each in mine), len(watch.nights)]
    for begin, end in pairwise(edges):
        within = (there >= begin) & (there < end)
        if within.any():
            level, nights = float(np.median(values[within])), there[within]
            parts.append(
                f'<path class="level" d="M{x(nights[0]):.1f} {y(level):.1f}H{x(nights[-1]):.1f}"/>'
            )
    for found in mine:
        alarm = found.alarm
        left, right = x(alarm.since_low - 0.5), x(alarm.since_high - 0.5)
        kind = "worse" if found.worse else "better"
        parts.append(
            f'<rect class="{kind} band" x="{left:.1f}" y="{TOP}" width="{right - left:.1f}" '
            f'height="{HEIGHT - TOP - BOTTOM}"/>'
            f'<path class="{kind}" d="M{x(alarm.since - 0.5):.1f} {TOP}V{HEIGHT - BOTTOM}"/>'
        )
    outliers = {each.night for each in watch.outliers if each.series is series}
    for night, value in zip(there.tolist(), values, strict=True):
        kind = "outlier" if night in outliers else "night"
        title = f"{date_of(watch.nights[night].at)}: {value:.6g}"
        parts.append(
            f'<circle class="{kind}" cx="{x(night):.1f}" cy="{y(value):.1f}" r="3">'
            f"<title>{escape(title)}</title></circle>"
        )
    return "\n".join([*parts, "</svg>"])


def _label(series: Series) -> str:
    unit = ", in percent" if series.kind == "best" and unit_of(series) == "percent" else ""
    return escape(f"{series.item}: {name_of(series)}{unit}", quote=True)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
