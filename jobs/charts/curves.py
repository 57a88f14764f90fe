"""Curves over time with shaded spans: for a page, as an SVG text and for pgfplots.

SVG text needs no library and no script, and is readable in any browser: ``Canvas`` draws it, for
files and for small series in the cells of tables.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

import numpy as np
from markupsafe import Markup

from jobs.charts import chart
from jobs.results.pages import document_html, whole_page

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


@dataclass(frozen=True)
class TimeCurve:
    """One curve."""

    name: str  # as the legend says it
    # time and value, by time; None where nothing is known, which leaves a gap
    points: Sequence[tuple[float, float | None]]
    dashed: bool = False  # drawn so, for what is planned or only a bound


@dataclass(frozen=True)
class Span:
    """From when to when something held."""

    begin: float
    end: float


@dataclass(frozen=True)
class Curves:
    """A plot of curves, whatever draws it."""

    name: str  # unique in the page
    title: str  # what to read from it
    caption: str  # what is drawn, in one line
    x_title: str  # with its unit; `y_title` likewise
    y_title: str
    curves: Sequence[TimeCurve]  # at most as many as there are colours in `chart.SERIES`
    shaded: Sequence[Span] = ()  # spans of time

    @property
    def chart(self) -> chart.Chart:
        """The plot for a page."""
        most = max((len(curve.points) for curve in self.curves), default=0)
        shown = len(chart.thinned(range(most)))
        spans = [(chart.short(each.begin), chart.short(each.end)) for each in self.shaded]
        return chart.Chart(
            name=self.name,
            title=self.title,
            caption=self.caption + chart.thinned_words(shown, most),
            traces=[
                _trace(curve, color)
                for curve, color in zip(self.curves, chart.SERIES, strict=False)
            ],
            x=chart.axis(self.x_title, rangemode="tozero"),
            y=chart.axis(self.y_title, rangemode="tozero"),
            shapes=[
                chart.area("@faint", yref="paper", x0=begin, x1=end, y0=0, y1=1)
                for begin, end in spans
            ],
            more={"showlegend": True},
        )


def _trace(curve: TimeCurve, color: str) -> chart.Trace:
    return chart.scatter_trace(
        chart.words(curve.name),
        chart.thinned(curve.points),
        mode="lines",
        line={"color": color, "width": 2, "dash": "dash" if curve.dashed else "solid"},
        hover="%{x:.4g} s: %{y:.4g}",
        extra=chart.words(curve.name),
    )


# Those of the report's light form, in the order of chart.SERIES.
_COLOURS = ("#0072b2", "#c2500a", "#00805c", "#a8487f")
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def curves_svg(plot: Curves) -> str:
    """The text of an SVG file; the axes begin at 0."""
    points = [(x, y) for curve in plot.curves for x, y in curve.points if y is not None]
    last = max((x for x, _ in points), default=0.0) or 1.0
    up = _ticks(max((y for _, y in points), default=1.0))
    canvas = Canvas(720, 380, (64, 16, 48, 78), x=(0.0, last), y=(0.0, up[-1]))
    drawn = [
        # The curve between its gaps.
        (curve, colour, [
            " ".join(f"{canvas.x(x):.1f},{canvas.y(y):.1f}" for x, y in run if y is not None)
            for gap, run in groupby(curve.points, key=lambda point: point[1] is None)
            if not gap
        ])
        for curve, colour in zip(plot.curves, _COLOURS, strict=False)
    ]  # fmt: skip
    across = [x for x in _ticks(last) if x <= last]
    picture = document_html(
        "curves.svg", plot=plot, canvas=canvas, up=up, across=across, drawn=drawn
    )
    return f"{picture}\n"


def _ticks(highest: float) -> Sequence[float]:
    """Round values from 0 to at least the highest, about five of them."""
    if not (math.isfinite(highest) and highest > 0):
        return (0.0, 1.0)
    power = 10.0 ** math.floor(math.log10(highest / 5))
    step = next(s * power for s in _STEPS if s * power * 5 >= highest * (1 - 1e-9))
    return [step * i for i in range(math.ceil(highest / step - 1e-9) + 1)]


_SPECIAL = str.maketrans(
    {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}"}
    | {letter: f"\\{letter}" for letter in "{}%_#&$"}
)


def pgfplots_file(plots: Sequence[Curves]) -> str:
    """A ``tikzpicture`` for each plot, for the package ``pgfplots``."""
    begin, end = "\\begin{tikzpicture}\n", "\\end{tikzpicture}\n"
    return "\n".join(begin + _axis(plot) + end for plot in plots)


def _axis(plot: Curves) -> str:
    """One ``axis`` with an ``addplot`` for each curve, shaded spans first, and its legend."""
    highest = max((y for each in plot.curves for _, y in each.points if y is not None), default=1)
    lines = [
        r"\begin{axis}[",
        f"  title={{{_tex(plot.title)}}},",
        f"  xlabel={{{_tex(plot.x_title)}}},",
        f"  ylabel={{{_tex(plot.y_title)}}},",
        "  xmin=0, ymin=0, ymajorgrids=true, grid style=dashed, unbounded coords=jump,",
        r"  legend style={at={(0.5,-0.2)}, anchor=north, legend columns=2},",
        "]",
    ]
    lines += [
        rf"\draw[draw=none, fill=black!12] (axis cs:{span.begin:.6g},0) "
        rf"rectangle (axis cs:{span.end:.6g},{highest:.6g});"
        for span in plot.shaded
    ]
    for curve in plot.curves:
        points = (f"({x:.6g},{'nan' if y is None else f'{y:.6g}'})" for x, y in curve.points)
        style = "[dashed]" if curve.dashed else ""
        lines += [rf"\addplot{style}", f"  coordinates {{ {' '.join(points)} }};"]
    legend = ", ".join(_tex(curve.name) for curve in plot.curves)
    return "\n".join([*lines, rf"\legend{{{legend}}}", r"\end{axis}", ""])


def _tex(text: str) -> str:
    return text.translate(_SPECIAL)


PageTable = tuple[str, Sequence[Sequence[str]]]  # a title, and rows of cells, the header first


def plot_files(
    name: str,
    title: str,
    plots: Sequence[Curves],
    *,
    lines: Sequence[str] = (),
    tables: Sequence[PageTable] = (),
) -> dict[str, str | bytes]:
    """Plots as files by their names: a page of all, coordinates for pgfplots, an SVG of each.

    On the page stand lines of plain text above the plots, a paragraph each, and tables below.
    """
    charts = [plot.chart for plot in plots]
    page = document_html("charts.html", title=title, lines=lines, charts=charts, tables=tables)
    return {
        name: whole_page(page),
        "coordinates.tex": pgfplots_file(plots),
        **{f"{plot.name}.svg": curves_svg(plot) for plot in plots},
    }
