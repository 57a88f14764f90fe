"""Curves over time as an SVG text: no library, no script, readable in any browser."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape

from jobs.charts.curves import Curve, Curves

WIDTH, HEIGHT = 720, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 48, 78
# Those of the report's light form, in the order of chart.SERIES.
_COLOURS = ("#0072b2", "#c2500a", "#00805c", "#a8487f")
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


def curves_svg(plot: Curves) -> str:
    """Draws the plot from zero up.

    Returns:
        The text of an SVG file.
    """
    points = [(x, y) for curve in plot.curves for x, y in curve.points if y is not None]
    last = max((x for x, _ in points), default=0.0) or 1.0
    up = _ticks(max((y for _, y in points), default=1.0))

    def x_of(x: float) -> float:
        return _LEFT + min(max(x / last, 0.0), 1.0) * (WIDTH - _LEFT - _RIGHT)

    def y_of(y: float) -> float:
        return _TOP + (1 - min(max(y / up[-1], 0.0), 1.0)) * (HEIGHT - _TOP - _BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="12">',
        f"<title>{_plain(plot.title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
    ]
    for span in plot.shaded:
        left, right = x_of(span.begin), x_of(span.end)
        parts.append(
            f'<rect class="shaded" x="{left:.1f}" y="{_TOP}" width="{right - left:.1f}" '
            f'height="{HEIGHT - _TOP - _BOTTOM}" fill="#d8dde2"/>'
        )
    for y in up:
        parts.append(f'<path d="M{_LEFT} {y_of(y):.1f}H{WIDTH - _RIGHT}" stroke="#ccc"/>')
        parts.append(_text(_LEFT - 8, y_of(y) + 4, f"{y:g}", "end"))
    parts += [_text(x_of(x), HEIGHT - _BOTTOM + 18, f"{x:g}", "middle")
              for x in _ticks(last) if x <= last]  # fmt: skip
    parts.append(_text(WIDTH / 2, HEIGHT - _BOTTOM + 36, plot.x_title, "middle"))
    parts.append(_text(WIDTH / 2, 18, plot.title, "middle", size=15))
    parts.append(_text(8, 34, plot.y_title, "start"))
    for place, (curve, colour) in enumerate(zip(plot.curves, _COLOURS, strict=False)):
        dash = ' stroke-dasharray="6 4"' if curve.dashed else ""
        parts += [
            f'<polyline points="{" ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in piece)}" '
            f'fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
            for piece in _pieces(curve)
        ]
        column = _LEFT + place * (WIDTH - _LEFT) / max(len(plot.curves), 3)
        parts.append(
            f'<path d="M{column:.0f} {HEIGHT - 18}h18" stroke="{colour}" stroke-width="3"{dash}/>'
        )
        parts.append(_text(column + 24, HEIGHT - 14, curve.name, "start"))
    return "\n".join([*parts, "</svg>", ""])


def _pieces(curve: Curve) -> list[list[tuple[float, float]]]:
    """The curve between its gaps."""
    pieces: list[list[tuple[float, float]]] = [[]]
    for x, y in curve.points:
        if y is None:
            pieces.append([])
        else:
            pieces[-1].append((x, y))
    return [piece for piece in pieces if piece]


def _ticks(highest: float) -> Sequence[float]:
    """Round values from 0 to at least the highest, about five of them."""
    if not (math.isfinite(highest) and highest > 0):
        return (0.0, 1.0)
    power = 10.0 ** math.floor(math.log10(highest / 5))
    step = next(s * power for s in _STEPS if s * power * 5 >= highest * (1 - 1e-9))
    return [step * i for i in range(math.ceil(highest / step - 1e-9) + 1)]


def _plain(text: str) -> str:
    return escape(_CONTROLS.sub(" ", text), quote=False)


def _text(x: float, y: float, text: str, anchor: str, *, size: int = 12) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">'
        f"{_plain(text)}</text>"
    )
