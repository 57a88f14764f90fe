"""A regression watch as one HTML page: no script, no request, readable in any browser."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise

import numpy as np

from jobs.regression.detection import RegressionReport, change_unit, date_of
from jobs.regression.series import Series
from jobs.regression.words import name_of, report_lines

_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --dim: #5c6670; --line: #d8dde2;
  --accent: #0072b2; --worse: #c2500a; --better: #00805c; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181d; --ink: #e4e8ec; --dim: #9aa5b0;
  --line: #343c45; --accent: #5cb8ee; --worse: #f09a4a; --better: #37c79a; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem;
  background: var(--paper); color: var(--ink); overflow-wrap: break-word; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.4rem; } h3 { font-size: 1rem; margin-bottom: 0; }
svg { width: 100%; height: auto; } svg text { font-size: 11px; fill: var(--dim); }
path { fill: none; } .grid { stroke: var(--line); } .level { stroke: var(--accent); stroke-width: 1.5; }
.night { fill: var(--accent); } .outlier { fill: none; stroke: var(--worse); stroke-width: 2; }
.worse { stroke: var(--worse); stroke-width: 2; } .better { stroke: var(--better); stroke-width: 2; }
.band { stroke: none; opacity: .18; } rect.worse { fill: var(--worse); } rect.better { fill: var(--better); }
li { margin: .4rem 0; } .dim { color: var(--dim); font-size: .88rem; }
"""  # noqa: E501
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def regression_page(watch: RegressionReport, name: str) -> str:
    """The findings in words, then every series with its changes marked.

    Args:
        watch: What was found.
        name: The batch's.
    """
    first, *rest = _lines(watch)
    items = sorted({each.item for each in watch.series})
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            f"<title>Rocktune: the nights of {escape(name)}</title>",
            f"<style>{_STYLE}</style></head><body>",
            f"<h1>The nights of {escape(name)}</h1>",
            f"<p>{escape(first)}</p>",
            *(["<ul>", *(f"<li>{escape(line)}</li>" for line in rest), "</ul>"] if rest else []),
            '<p class="dim">A dot is a night; a horizontal line the median between changes; a '
            "vertical line the night of a change, with its 95% interval as a band; a ring a "
            "night that stands out by itself. The best is each night's own winner against the "
            "default of the same night.</p>",
            *(_item(watch, item) for item in items),
            "</body></html>",
            "",
        ]
    )


def _lines(watch: RegressionReport) -> Sequence[str]:
    """The basis first, then what was found."""
    *found, basis = report_lines(watch)
    return [basis, *found]


def _item(watch: RegressionReport, item: str) -> str:
    mine = [each for each in watch.series if each.item == item]
    return "\n".join([f"<h2>{escape(item)}</h2>", *(_plot(watch, each) for each in mine)])


def _plot(watch: RegressionReport, series: Series) -> str:
    percent = series.kind == "best" and series.logarithmic
    title = f"{name_of(series)}{', %' if percent else ''}"
    found = [each for each in watch.findings if each.series is series]
    since = ", ".join(date_of(watch.nights[each.alarm.since].at) for each in found)
    changed = f": changed {since}" if found else ""
    return f"<h3>{escape(title + changed)}</h3>\n{series_plot(watch, series)}"


WIDTH, HEIGHT = 720, 170
LEFT, RIGHT, TOP, BOTTOM = 70, 12, 10, 26
_LEAST_RANGE = 1e-3  # of the level: what varies less is drawn flat


def series_plot(watch: RegressionReport, series: Series) -> str:
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
    unit = ", in percent" if series.kind == "best" and change_unit(series) == "percent" else ""
    return escape(f"{series.item}: {name_of(series)}{unit}", quote=True)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
