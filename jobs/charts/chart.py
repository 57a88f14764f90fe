"""A plot as data: what Plotly draws, and the words around it.

Colours are roles such as ``"@accent"``: the page puts in those of the light, the dark or the
printed form. Plotly reads tags and entities in every text, so names that others chose pass
through ``words``.
"""

import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sampler.workload.metric_table import BYTES, METRICS, metric_unit

Trace = dict[str, Any]
_Point = TypeVar("_Point")
# Okabe and Ito's colours, which all kinds of eyes tell apart; in the order of a plot's series.
SERIES = ("@accent", "@second", "@third", "@fourth")
_MOST_POINTS = 3000
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


@dataclass(frozen=True)
class Chart:
    """One plot."""

    name: str  # unique in the page
    title: str  # what to read from it
    caption: str  # what is drawn, in one line
    traces: Sequence[Trace]  # Plotly's
    # x, y: Plotly's axes
    x: Mapping[str, Any]
    y: Mapping[str, Any]
    shapes: Sequence[Mapping[str, Any]] = ()  # Plotly's
    more: Mapping[str, Any] = field(default_factory=dict)  # of Plotly's layout
    height: int = 340  # in pixels

    @property
    def layout(self) -> dict[str, Any]:
        """Plotly's, beside what all plots share."""
        return {"xaxis": self.x, "yaxis": self.y, "shapes": self.shapes, **self.more}

    @property
    def figure(self) -> dict[str, Any]:
        """What the page's script draws."""
        return {"data": list(self.traces), "layout": {**self.layout, "height": self.height}}


def drawable(charts: Iterable[Chart | None]) -> list[Chart]:
    """Those that have something to draw."""
    return [chart for chart in charts if chart is not None]


def words(text: object, most: int = 60) -> str:
    """A text that Plotly shows as it is, cut to so many characters."""
    plain = _CONTROLS.sub(" ", str(text))
    return html.escape(plain if len(plain) <= most else plain[: most - 1] + "…", quote=False)


def with_unit(metric: str) -> str:
    """A metric with its unit, as the title of an axis; one of a name not known without."""
    unit = metric_unit(metric) or ("ratio" if metric in METRICS else "")
    unit = "bytes" if unit == BYTES else unit
    return words(metric) + (f", {unit}" if unit else "")


def short(value: float) -> float | None:
    """Five significant digits, which is more than a plot shows; None for what is no number."""
    return float(f"{value:.5g}") if math.isfinite(value) else None


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis with its title, unit included."""
    return {"title": {"text": title}, **more}


def rows_axis(names: Sequence[str]) -> dict[str, Any]:
    """An axis of names, the first at the top."""
    return {
        "tickmode": "array",
        "tickvals": list(range(len(names))),
        "ticktext": [words(name, 40) for name in names],
        "range": [len(names) - 0.4, -0.6],
        "showgrid": False,
        "zeroline": False,
    }


def line_at(
    value: float, *, across: str = "y", dash: str = "dot", color: str = "@dim"
) -> dict[str, Any]:
    """A straight line through the whole plot at a value of the axis ``across``."""
    along = "x" if across == "y" else "y"
    ends = {f"{across}0": value, f"{across}1": value, f"{along}0": 0, f"{along}1": 1}
    line = {"color": color, "width": 1.5, "dash": dash}
    return {"type": "line", **ends, f"{along}ref": "paper", "line": line, "layer": "below"}


def scatter_trace(
    name: str,
    points: Iterable[tuple[Any, Any]],
    *,
    mode: str = "markers",
    hover: str | None = None,
    extra: str = "",
    **more: Any,
) -> Trace:
    """A series of points, or a line through them, which None as a place parts.

    ``mode`` and further fields are Plotly's, as is the template ``hover`` of what is told of a
    point; ``extra`` stands beside that.
    """
    drawn = [(_shortened(x), _shortened(y)) for x, y in points]
    found: Trace = {"type": "scatter", "mode": mode, "name": name}
    found |= {"x": [x for x, _ in drawn], "y": [y for _, y in drawn]}
    if hover is not None:
        found["hovertemplate"] = f"{hover}<extra>{extra}</extra>"
    return found | more


def trial_dots(
    name: str, places: Mapping[int, tuple[float, float]], hover: str, **marker: object
) -> Trace:
    """A dot for each trial by its number, which is told before what ``hover`` says."""
    text, told = [f"trial {number}" for number in places], f"%{{text}}: {hover}"
    return scatter_trace(name, places.values(), hover=told, text=text, marker=marker)


def dots(
    name: str, points: Sequence[tuple[Any, Any]], hover: str, **marker: object
) -> list[Trace]:
    """A dot for each point; no trace at all without one."""
    return [scatter_trace(name, points, hover=hover, marker=marker)] if points else []


def _shortened(value: Any) -> Any:
    return short(value) if isinstance(value, float) else value


def step_line(
    name: str, steps: Sequence[tuple[int, float]], last: int, color: str, hover: str
) -> Trace:
    """What holds from each trial on, up to the last one."""
    line = {"color": color, "width": 2.5, "shape": "hv"}
    return scatter_trace(
        name, [*steps, (last, steps[-1][1])], mode="lines", line=line, hover=hover
    )


def bar_trace(name: str, lengths: Iterable[float | None], color: Any, **more: Any) -> Trace:
    """Horizontal bars, one a row."""
    drawn = [_shortened(length) for length in lengths]
    places = {"x": drawn, "y": list(range(len(drawn))), "marker": {"color": color}}
    return {"type": "bar", "orientation": "h", "name": name, **places, **more}


def interval_bars(
    values: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    *,
    color: str,
    thickness: float = 1.5,
) -> dict[str, Any]:
    """The error bars from each low to each high around its value, which may lie outside."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [short(max(high - value, 0)) for value, high in zip(values, highs, strict=True)],
        "arrayminus": [
            short(max(value - low, 0)) for value, low in zip(values, lows, strict=True)
        ],
        "thickness": thickness,
        "color": color,
    }


def text_at(text: str, x: float, y: float, color: str = "@dim", **more: Any) -> dict[str, Any]:
    """A small text within a plot."""
    font = {"color": color, "size": 11}
    return {"text": text, "x": x, "y": y, "showarrow": False, "font": font, **more}


def area(fill: str = "@band", **edges: Any) -> dict[str, Any]:
    """A shaded rectangle below the traces, by Plotly's ``x0``, ``x1``, ``y0``, ``y1``."""
    return {"type": "rect", "fillcolor": fill, "line": {"width": 0}, "layer": "below", **edges}


def band(low: float, high: float) -> dict[str, Any]:
    """A shaded band between two values, through the whole plot."""
    return area(xref="paper", x0=0, x1=1, y0=low, y1=high)


def thinned(points: Sequence[_Point], most: int = _MOST_POINTS) -> Sequence[_Point]:
    """All points, or every second, third, ... of them where there are more than ``most``."""
    return points[:: -(-len(points) // most)] if len(points) > most else points


def lowest_fitness(values: Sequence[float]) -> float:
    """Where a plot of fitness ends below: what is far worse would squeeze the rest to a line."""
    best = max(values)
    return max(min(values), min(best, 0.0) - max(1000.0, 1.5 * abs(best)))


def again_words(again: int) -> str:
    """What a caption says where configurations were measured several times."""
    if not again:
        return ""
    runs = "run repeats" if again == 1 else "runs repeat"
    return f" {again} {runs} doubtful results: dots are means."


def thinned_words(shown: int, of: int) -> str:
    """What the caption says of points that are left out."""
    return "" if shown == of else f" {shown:,} of {of:,} points are drawn, evenly spaced."
