"""A line plot with bands as an SVG text: no library, no script, readable in any browser."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 40, 90
_LEGEND_ROWS = 3  # of two names each; with more the picture is higher
COLOURS = ("#1f5fa8", "#b8530f", "#2f7d4f", "#7a3f94", "#8a6d00", "#a8324a")


@dataclass(frozen=True)
class Line:
    """One line.

    Attributes:
        name: As the legend says it.
        x: Positive, rising.
        y: From 0 to 1; below 0 is drawn at 0.
        low: Lower edge of the band; empty for none.
        high: Upper edge of the band.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


def line_plot(title: str, x_title: str, lines: Sequence[Line]) -> str:
    """Draws lines over a logarithmic x axis and a y axis from 0 to 1.

    The colours begin again with the seventh line, dashed.

    Args:
        title: Above the plot.
        x_title: Below its x axis.
        lines: At least one, with at least one point each.

    Returns:
        The text of an SVG file.
    """
    ticks = sorted({x for line in lines for x in line.x})
    first, last = math.log(ticks[0]), math.log(ticks[-1])

    def at(x: float, y: float) -> str:
        share = (math.log(x) - first) / (last - first) if last > first else 0.5
        right = LEFT + share * (WIDTH - LEFT - RIGHT)
        down = TOP + (1 - min(max(y, 0.0), 1.0)) * (HEIGHT - TOP - BOTTOM)
        return f"{right:.1f},{down:.1f}"

    height = HEIGHT + 15 * max(0, (len(lines) + 1) // 2 - _LEGEND_ROWS)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        _text(WIDTH / 2, 20, title, anchor="middle", size=15),
        _text(WIDTH / 2, HEIGHT - BOTTOM + 36, x_title, anchor="middle"),
    ]
    for step in range(6):
        y = step / 5
        begin, end = at(ticks[0], y), at(ticks[-1], y)
        parts.append(f'<polyline points="{begin} {end}" stroke="#ddd" fill="none"/>')
        parts.append(_text(LEFT - 8, float(begin.split(",")[1]) + 4, f"{y:.1f}", anchor="end"))
    for x in ticks:
        across = float(at(x, 0).split(",")[0])
        parts.append(_text(across, HEIGHT - BOTTOM + 18, f"{x:,.0f}", anchor="middle"))
    for index, line in enumerate(lines):
        colour = COLOURS[index % len(COLOURS)]
        if line.low:
            edge = [at(x, y) for x, y in zip(line.x, line.high, strict=True)]
            back = [at(x, y) for x, y in zip(line.x, line.low, strict=True)]
            around = " ".join([*edge, *reversed(back)])
            parts.append(f'<polygon points="{around}" fill="{colour}" opacity="0.12"/>')
        dashes = ' stroke-dasharray="4 3"' if index >= len(COLOURS) else ""
        points = " ".join(at(x, y) for x, y in zip(line.x, line.y, strict=True))
        parts.append(
            f'<polyline points="{points}" stroke="{colour}" fill="none" stroke-width="2"{dashes}/>'
        )
        row = HEIGHT - BOTTOM + 54 + 15 * (index // 2)
        column = LEFT + (index % 2) * (WIDTH - LEFT) / 2
        parts.append(
            f'<line x1="{column}" y1="{row - 7}" x2="{column + 14}" y2="{row - 7}" '
            f'stroke="{colour}" stroke-width="4"{dashes}/>'
        )
        parts.append(_text(column + 20, row, line.name))
    return "\n".join([*parts, "</svg>", ""])


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">'
        f"{escape(text)}</text>"
    )
