"""Points with intervals over memory as an SVG text: readable in any browser, no script."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from studies.line_plot import COLOURS

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 400, 76, 20, 34, 84


@dataclass(frozen=True)
class Point:
    """A value with its 95% interval, at a multiple of the default's memory."""

    multiple: float
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Series:
    """What is drawn in one colour: intervals where they are known, else a line.

    Attributes:
        name: As the legend says it.
        points: With intervals.
        steps: (multiple, value) of a line that rises in steps.
    """

    name: str
    points: Sequence[Point] = ()
    steps: Sequence[tuple[float, float]] = ()


def memory_plot(title: str, y_title: str, series: Sequence[Series]) -> str:
    """Draws values over a logarithmic axis of memory, 0 as a dashed line.

    Args:
        title: Above the plot.
        y_title: Left of it.
        series: With at least one point in all.

    Returns:
        The text of an SVG file.
    """
    across = [p.multiple for s in series for p in s.points] + [
        x for s in series for x, _ in s.steps
    ]
    up = [0.0, *(v for s in series for p in s.points for v in (p.value, p.low, p.high))]
    up += [y for s in series for _, y in s.steps]
    first, last = math.log(min(across) / 1.15), math.log(max(across) * 1.15)
    ticks = nice_ticks(min(up), max(up))
    low, high = min(ticks[0], *up), max(ticks[-1], *up)

    def x(multiple: float) -> float:
        share = (math.log(multiple) - first) / (last - first)
        return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(value: float) -> float:
        return round(_TOP + (high - value) / (high - low) * (_HEIGHT - _TOP - _BOTTOM), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="12"><title>{escape(title)}</title>',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        _text(_WIDTH / 2, 20, title, "middle", 15),
        _text(_WIDTH / 2, _HEIGHT - _BOTTOM + 34, "times the default's memory", "middle"),
        f'<text x="16" y="{(_TOP + _HEIGHT - _BOTTOM) / 2}" text-anchor="middle" '
        f'transform="rotate(-90 16 {(_TOP + _HEIGHT - _BOTTOM) / 2})">{escape(y_title)}</text>',
    ]
    for tick in ticks:
        dash = ' stroke-dasharray="5 4"' if tick == 0 else ""
        colour = "#888" if tick == 0 else "#ddd"
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(tick)}" y2="{y(tick)}" '
            f'stroke="{colour}"{dash}/>'
        )
        parts.append(_text(_LEFT - 8, y(tick) + 4, f"{tick:,.10g}", "end"))
    whole = sorted({p.multiple for s in series for p in s.points} or set(across))
    parts += [_text(x(m), _HEIGHT - _BOTTOM + 16, f"{m:g}x", "middle") for m in whole]
    for index, each in enumerate(series):
        colour = COLOURS[index % len(COLOURS)]
        aside = 7 * (index - (len(series) - 1) / 2)
        for p in each.points:
            at = x(p.multiple) + aside
            parts.append(
                f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{y(p.low)}" y2="{y(p.high)}" '
                f'stroke="{colour}" stroke-width="2"/>'
                f'<circle cx="{at:.1f}" cy="{y(p.value)}" r="4" fill="{colour}"/>'
            )
        if each.steps:
            parts.append(_stairs([(x(m), y(v)) for m, v in each.steps], _WIDTH - _RIGHT, colour))
        row, column = _HEIGHT - 32 + 16 * (index // 2), _LEFT + (index % 2) * 310
        parts.append(f'<rect x="{column}" y="{row - 8}" width="14" height="5" fill="{colour}"/>')
        parts.append(_text(column + 20, row, each.name))
    return "\n".join([*parts, "</svg>", ""])


def nice_ticks(low: float, high: float) -> list[float]:
    """Round values around a range, 0 among them where it lies in it."""
    rough = (high - low or 1.0) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    return [round(k * step, 10) for k in range(math.floor(low / step), math.ceil(high / step) + 1)]


def _stairs(points: Sequence[tuple[float, float]], end: float, colour: str) -> str:
    corners = [points[0]]
    for before, after in pairwise(points):
        corners += [(after[0], before[1]), after]
    corners.append((end, points[-1][1]))
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in corners)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'


def _text(x: float, y: float, text: str, anchor: str = "start", size: int = 12) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">'
        f"{escape(text)}</text>"
    )
