"""Scatter plots side by side as an SVG text: no library, no script, readable in any browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

_SIDE, _GAP, _TOP, _FOOT = 170, 50, 50, 50


@dataclass(frozen=True)
class Panel:
    """One plot.

    Attributes:
        points: (across, up); the ranges are theirs.
    """

    title: str
    points: Sequence[tuple[float, float]]


def scatter(title: str, across: str, up: str, panels: Sequence[Panel]) -> str:
    """Draws panels in a row; the diagonal of equal values is drawn where it is in range."""
    width, height = _GAP + len(panels) * (_SIDE + _GAP), _TOP + _SIDE + _FOOT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        _text(width / 2, 18, title, size=14),
        _text(width / 2, height - 6, f"across: {across}; up: {up}"),
    ]
    for place, panel in enumerate(panels):
        parts += _panel(panel, _GAP + place * (_SIDE + _GAP))
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel, left: float) -> list[str]:
    xs, ys = zip(*panel.points, strict=True)
    ends = {"x": _ends(xs), "y": _ends(ys)}

    def at(x: float, y: float) -> tuple[float, float]:
        (x0, x1), (y0, y1) = ends["x"], ends["y"]
        return left + (x - x0) / (x1 - x0) * _SIDE, _TOP + (1 - (y - y0) / (y1 - y0)) * _SIDE

    low, high = max(ends["x"][0], ends["y"][0]), min(ends["x"][1], ends["y"][1])
    parts = [
        f'<rect x="{left}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}" fill="none" '
        'stroke="#999"/>',
        _text(left + _SIDE / 2, _TOP - 8, panel.title, size=12),
    ]
    if low < high:
        (x0, y0), (x1, y1) = at(low, low), at(high, high)
        parts.append(
            f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" stroke="#ccc"/>'
        )
    for x, y in panel.points:
        right, down = at(x, y)
        parts.append(
            f'<circle cx="{right:.1f}" cy="{down:.1f}" r="3.5" fill="#1f5fa8" opacity="0.7"/>'
        )
    bottom = _TOP + _SIDE
    parts += [
        _text(left, bottom + 14, _number(ends["x"][0])),
        _text(left + _SIDE, bottom + 14, _number(ends["x"][1])),
        _text(left - 4, bottom, _number(ends["y"][0]), anchor="end"),
        _text(left - 4, _TOP + 9, _number(ends["y"][1]), anchor="end"),
    ]
    return parts


def _ends(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    margin = 0.05 * (high - low) or 0.5
    return low - margin, high + margin


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


def _text(x: float, y: float, text: str, *, anchor: str = "middle", size: int = 11) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">'
        f"{escape(text)}</text>"
    )


def panels_of(
    one: Mapping[str, Mapping[int, float]], other: Mapping[str, Mapping[int, float]]
) -> list[Panel]:
    """A panel for each metric that both have of at least two configurations."""
    panels = []
    for metric in one:
        both = sorted(one[metric].keys() & other.get(metric, {}).keys())
        if len(both) > 1:
            points = [(one[metric][i], other[metric][i]) for i in both]
            panels.append(Panel(metric, points))
    return panels
