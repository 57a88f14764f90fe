"""The genetic algorithm's curve as an SVG that a browser and a code forge show alike."""

from __future__ import annotations

from collections.abc import Sequence

from studies.reproduction.study import Generation

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 720, 300, 64, 44, 16


def curve(generations: Sequence[Generation], *, mark: tuple[int, float] | None, title: str) -> str:
    """Best fitness so far by generation, each generation's best as a dot.

    Args:
        generations: In order; those without a measurement leave a gap.
        mark: A generation and a fitness to compare with, shown as a cross; None for none.
        title: Read out where the picture cannot be seen.
    """
    dots = [(each.number, each.best) for each in generations if each.best is not None]
    line = [(each.number, each.so_far) for each in generations if each.so_far is not None]
    values = [0.0, *(v for _, v in dots), *(v for _, v in line), *([mark[1]] if mark else [])]
    low, high = min(values), max(values)
    last = max([1, *(n for n, _ in dots), *([mark[0]] if mark else [])])

    def x(number: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - 16) * number / last, 1)

    def y(value: float) -> float:
        share = (value - low) / ((high - low) or 1.0)
        return round(_HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * share, 1)

    def label(place: float, across: float, text: str, anchor: str) -> str:
        return f'<text x="{across}" y="{place}" text-anchor="{anchor}">{text}</text>'

    parts = [
        f'<line x1="{_LEFT}" x2="{_WIDTH - 16}" y1="{y(0)}" y2="{y(0)}" stroke="#888" '
        'stroke-dasharray="4 4"/>',
        *(label(y(v) + 4, _LEFT - 8, f"{v:,.0f}", "end") for v in sorted({low, 0.0, high})),
        label(_HEIGHT - 12, _WIDTH - 16, f"generation {last}", "end"),
        label(_HEIGHT - 12, _LEFT, "fitness, 0 is the baseline", "start"),
        *(f'<circle cx="{x(n)}" cy="{y(v)}" r="4" fill="#2a78d6"/>' for n, v in dots),
        '<polyline fill="none" stroke="#2a78d6" stroke-width="2" points="'
        + " ".join(f"{x(n)},{y(v)}" for n, v in line)
        + '"/>',
    ]
    if mark:
        across, down = x(mark[0]), y(mark[1])
        parts.append(
            f'<path d="M{across - 6},{down - 6}l12,12m0,-12l-12,12" stroke="#d6762a" '
            'stroke-width="2.5"/>'
        )
        parts.append(label(down - 10, across, "the paper", "middle"))
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="13" fill="#777"><title>{title}</title>\n{body}\n'
        "</svg>\n"
    )
