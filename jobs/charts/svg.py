"""A plotting area as SVG text: no library, no script, readable in any browser."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

import numpy as np
from markupsafe import Markup

_LEAST_RANGE = 1e-3  # of the level: what varies less is drawn flat
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


class Canvas:
    """Places of values within an area, and what is drawn so far.

    Width and height are those of the whole picture with its margins: left, right, top and bottom.
    ``x`` is what the left and the right edge of the area mean, ``y`` the lower and the upper one.
    """

    def __init__(
        self,
        width: int,
        height: int,
        margins: tuple[int, int, int, int],
        *,
        x: tuple[float, float],
        y: tuple[float, float],
    ) -> None:
        self.width, self.height = width, height
        self.left, right, self.top, bottom = margins
        self.right, self.bottom = width - right, height - bottom
        self._x, self._y = x, y
        self.parts: list[str] = []

    def x(self, value: float) -> float:
        """From the left; what lies outside of the area is drawn at its edge."""
        return self.left + _share(value, self._x) * (self.right - self.left)

    def y(self, value: float) -> float:
        """From the top; what lies outside of the area is drawn at its edge."""
        return self.bottom - _share(value, self._y) * (self.bottom - self.top)

    def text(self, x: float, y: float, text: str, anchor: str, style: str = "") -> None:
        """A text as it is."""
        where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
        self.parts.append(f"<text {where}{style}>{svg_escape(text)}</text>")

    def grid(self, values: Iterable[float], style: str, form: str) -> None:
        """Lines across the area, each with its value beside it."""
        for value in values:
            level = self.y(value)
            self.parts.append(f'<path {style} d="M{self.left} {level:.1f}H{self.right}"/>')
            self.text(self.left - 7, level + 4, format(value, form), "end")

    def band(self, begin: float, end: float, style: str) -> None:
        """An area from top to bottom."""
        left, width = self.x(begin), self.x(end) - self.x(begin)
        self.parts.append(
            f'<rect {style} x="{left:.1f}" y="{self.top}" width="{width:.1f}" '
            f'height="{self.bottom - self.top}"/>'
        )

    def svg(self, attributes: str) -> str:
        """The picture."""
        begin = f'<svg {attributes} viewBox="0 0 {self.width} {self.height}" role="img">'
        return "\n".join([begin, *self.parts, "</svg>"])


def value_range(values: Iterable[float]) -> tuple[float, float]:
    """The lower and the upper edge of an area that shows these values, with a margin."""
    known = list(values)
    low, high = min(known), max(known)
    margin = max(0.08 * (high - low), _LEAST_RANGE * max(abs(low), abs(high)), 1e-9)
    return low - margin, high + margin


def sparkline(values: Sequence[float], marks: Mapping[int, str], label: str) -> Markup:
    """A series in a cell of a table: its values in order, NaN where it has none.

    ``marks`` gives the places of values from which on the level is another one, each with its
    class, ``worse`` or ``better``. The colours are those of the page. Empty without any value.
    """
    there = np.flatnonzero(np.isfinite(values)).tolist()
    if not there:
        return Markup()
    edges = value_range(values[place] for place in there)
    canvas = Canvas(160, 36, (4, 4, 4, 4), x=(0, max(len(values) - 1, 1)), y=edges)
    for place, kind in sorted(marks.items()):
        at = canvas.x(place - 0.5)
        canvas.parts.append(f'<path class="{kind}" d="M{at:.1f} 0V{canvas.height}"/>')
    points = [f"{canvas.x(place):.1f} {canvas.y(values[place]):.1f}" for place in there]
    canvas.parts.append(f'<path class="level" d="M{"L".join(points)}"/>')
    x, y = points[-1].split()
    canvas.parts.append(f'<circle class="night" cx="{x}" cy="{y}" r="3"/>')
    return Markup(canvas.svg(f'aria-label="{svg_escape(label)}"'))


def svg_escape(text: str) -> str:
    """A text of others, as it may stand in a picture."""
    return escape(_CONTROLS.sub(" ", text), quote=True)


def _share(value: float, ends: tuple[float, float]) -> float:
    low, high = ends
    return min(max((value - low) / (high - low), 0.0), 1.0)
