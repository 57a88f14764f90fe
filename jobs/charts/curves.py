"""Curves over time, with the spans of time in which something held shaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jobs.charts.chart import SERIES, Chart, Trace, axis, short, thinned, thinned_words, words


@dataclass(frozen=True)
class Curve:
    """One curve.

    Attributes:
        name: As the legend says it.
        points: Time and value, by time; None where nothing is known, which leaves a gap.
        dashed: Drawn so, for what is planned or only a bound.
    """

    name: str
    points: Sequence[tuple[float, float | None]]
    dashed: bool = False


@dataclass(frozen=True)
class Span:
    """From when to when something held."""

    begin: float
    end: float


@dataclass(frozen=True)
class Curves:
    """A plot of curves, whatever draws it.

    Attributes:
        name: Unique in the page.
        title: What to read from it.
        caption: What is drawn, in one line.
        x_title: With its unit; ``y_title`` likewise.
        curves: At most as many as there are colours in ``chart.SERIES``.
        shaded: Spans of time.
    """

    name: str
    title: str
    caption: str
    x_title: str
    y_title: str
    curves: Sequence[Curve]
    shaded: Sequence[Span] = ()

    @property
    def chart(self) -> Chart:
        """The plot for a page."""
        most = max((len(curve.points) for curve in self.curves), default=0)
        shown = len(thinned(range(most)))
        return Chart(
            name=self.name,
            title=self.title,
            caption=self.caption + thinned_words(shown, most),
            traces=[
                _trace(curve, color) for curve, color in zip(self.curves, SERIES, strict=False)
            ],
            layout={
                "xaxis": axis(self.x_title, rangemode="tozero"),
                "yaxis": axis(self.y_title, rangemode="tozero"),
                "shapes": [_shape(span) for span in self.shaded],
                "showlegend": True,
            },
        )


def _trace(curve: Curve, color: str) -> Trace:
    points = thinned(curve.points)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": words(curve.name),
        "x": [short(x) for x, _ in points],
        "y": [None if y is None else short(y) for _, y in points],
        "line": {"color": color, "width": 2, "dash": "dash" if curve.dashed else "solid"},
        "hovertemplate": "%{x:.4g} s: %{y:.4g}<extra>" + words(curve.name) + "</extra>",
    }


def _shape(span: Span) -> dict[str, Any]:
    return {
        "type": "rect",
        "yref": "paper",
        "x0": short(span.begin),
        "x1": short(span.end),
        "y0": 0,
        "y1": 1,
        "fillcolor": "@faint",
        "line": {"width": 0},
        "layer": "below",
    }
