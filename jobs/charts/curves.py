"""Curves over time with shaded spans: for a page, as an SVG text and for pgfplots.

SVG text needs no library and no script, and is readable in any browser. It is drawn for files and
for small series in the cells of tables.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from itertools import groupby

import numpy as np
from markupsafe import Markup

from jobs.charts import chart
from jobs.results.pages import document_html, whole_page

_LEAST_RANGE = 1e-3  # of the level: what varies less is drawn flat
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


def _scale(values: Sequence[float], places: Sequence[float]) -> Callable[[float], float]:
    """From values to places in a picture; what lies outside is drawn at its edge."""
    return partial(np.interp, xp=values, fp=places)


def sparkline(values: Sequence[float], marks: Mapping[int, str], label: str) -> Markup:
    """A series in a cell of a table: its values in order, NaN where it has none.

    ``marks`` gives the places of values from which on the level is another one, each with its
    class, ``worse`` or ``better``. The colours are those of the page. Empty without any value.
    """
    there = np.flatnonzero(np.isfinite(values)).tolist()
    if not there:
        return Markup()
    known = [values[place] for place in there]
    low, high = min(known), max(known)
    margin = max(0.08 * (high - low), _LEAST_RANGE * max(abs(low), abs(high)), 1e-9)
    across = _scale((0, max(len(values) - 1, 1)), (4, 156))
    up = _scale((low - margin, high + margin), (32, 4))
    points = [f"{across(place):.1f} {up(values[place]):.1f}" for place in there]
    x, y = points[-1].split()
    picture = [
        f'<svg aria-label="{escape(_CONTROLS.sub(" ", label))}" viewBox="0 0 160 36" role="img">',
        *(
            f'<path class="{kind}" d="M{across(place - 0.5):.1f} 0V36"/>'
            for place, kind in sorted(marks.items())
        ),
        f'<path class="level" d="M{"L".join(points)}"/>',
        f'<circle class="night" cx="{x}" cy="{y}" r="3"/>',
        "</svg>",
    ]
    return Markup("\n".join(picture))


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
    x_of, y_of = _scale((0.0, last), (64, 704)), _scale((0.0, up[-1]), (302, 48))
    drawn = [
        # The curve between its gaps.
        (curve, colour, [
            " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in run if y is not None)
            for gap, run in groupby(curve.points, key=lambda point: point[1] is None)
            if not gap
        ])
        for curve, colour in zip(plot.curves, _COLOURS, strict=False)
    ]  # fmt: skip
    across = [x for x in _ticks(last) if x <= last]
    content = {"plot": plot, "x": x_of, "y": y_of, "up": up, "across": across, "drawn": drawn}
    return document_html("curves.svg", **content) + "\n"


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
