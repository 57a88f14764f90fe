"""What the settings of parameters do: box plots of their groups, dependence, where the best lie.

Box plots are those of figure 7 of Jin et al. (JIPS 18(3), 2022): the two most and the two least
important parameters, each for the metric for which it is most, or least, important. Parallel
coordinates are drawn as ordinary lines: Plotly's own kind needs a graphics processor and prints
blank. Their axes lie across, so that long names fit on a narrow screen.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jobs.charts import chart
from jobs.results.figures import figure
from models.anova import group_labels
from optimizer.budget.power import p_words
from optimizer.evaluation.evaluation import COMPARABLE
from optimizer.explained import DependenceCurve, PairTogether
from optimizer.results.ranking import ParameterImportance, ParameterRanking
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.common.text import format_bytes
from sampler.rocksdb.parameters import Parameter, Value
from sampler.workload.metric_table import TIME_BASED

_EACH = 2
_CLOCK = " The test uses logarithms corrected for drift; runs cut off count with their bound."


def boxed(
    parameters: Sequence[ParameterImportance],
) -> list[tuple[ParameterImportance, str, bool]]:
    """The most and the least important parameters, each with its metric; fewer of few.

    ``parameters``: the most important first. True: one of the most important.
    """
    tested = [(row, weights) for row in parameters if (weights := _tested(row))]
    return [
        (row, (max if place < _EACH else min)(weights, key=weights.__getitem__), place < _EACH)
        for place, (row, weights) in enumerate([*tested[:_EACH], *tested[_EACH:][-_EACH:]])
    ]


def _tested(row: ParameterImportance) -> dict[str, float]:
    """The importance for each metric of which a test is known, too."""
    return {
        metric: found.permutation
        for metric, found in row.importance.items()
        if found.permutation is not None and (test := row.anova.get(metric)) and test.p is not None
    }


def box_charts(
    ranking: ParameterRanking, space: Mapping[str, Parameter], trials: Sequence[Trial]
) -> list[chart.Chart]:
    """The box plots of the most and the least important parameters of a space."""
    return chart.drawable(
        groups_chart(row, metric, trials, space.get(row.name), top=top)
        for row, metric, top in boxed(ranking.sorted_by(None))
    )


def groups_chart(
    row: ParameterImportance,
    metric: str,
    trials: Sequence[Trial],
    known: Parameter | None = None,
    *,
    top: bool = True,
) -> chart.Chart | None:
    """Whether a parameter matters for a metric, as a box plot; None with fewer than two groups.

    The drawn trials are compared, as the analysis of variance does: those that ended well, and
    with their bounds those that were cut off. Starting points are no draws.
    """
    drawn = [
        t
        for t in trials
        if t.purpose is Purpose.CANDIDATE and t.phase is Phase.SAMPLE and t.state in COMPARABLE
        if not t.is_start
    ]
    boxes = _boxes(row.name, metric, drawn, known.special if known else ())
    if len(boxes) < 2:
        return None
    fences = [_fences(box) for _, box in boxes]
    rank, color = ("most", "@accent") if top else ("least", "@dim")
    p, eta = row.anova[metric].p_holm, row.anova[metric].eta_squared
    is_bytes = known is not None and known.is_bytes
    effect = "" if eta is None else f", eta squared {eta:.2f}"
    found = "differs between its values" if p is not None and p < 0.05 else "shows no difference"
    return chart.Chart(
        name=f"groups-{row.name}-{metric}",
        title=f"{row.name}, one of the {rank} important: {metric} {found}",
        caption=f"{p_words(p)} (Holm){effect}. Boxes: quartiles, dashed: mean; whiskers: the "
        "farthest within 1.5 interquartile ranges; n random configurations in each."
        + (_CLOCK if metric in TIME_BASED else ""),
        traces=[
            {
                "type": "box",
                "orientation": "h",
                "y": [_group_label(label, len(box), is_bytes) for label, box in boxes],
                **{name: [chart.short(each[name]) for each in fences] for name in fences[0]},
                "marker": {"color": color},
                "line": {"color": color, "width": 1.5},
                "fillcolor": "@band",
                "showlegend": False,
            }
        ],
        x=chart.axis(chart.with_unit(metric), zeroline=False),
        y={"type": "category", "autorange": "reversed", "showgrid": False},
        height=130 + 44 * len(boxes),
    )


def _fences(values: NDArray[np.float64]) -> dict[str, float]:
    q1, median, q3 = (float(q) for q in np.percentile(values, [25, 50, 75]))
    reach = 1.5 * (q3 - q1)
    inside = values[(values >= q1 - reach) & (values <= q3 + reach)].tolist()
    ends = {"lowerfence": min([*inside, q1]), "upperfence": max([*inside, q3])}
    return {"q1": q1, "median": median, "q3": q3, **ends, "mean": float(values.mean())}


def _boxes(
    parameter: str, metric: str, trials: Sequence[Trial], special: Sequence[Value]
) -> list[tuple[str, NDArray[np.float64]]]:
    """The groups of at least two trials, by the least value in each."""
    values = [trial.features.get(parameter) for trial in trials]
    numbers = [value for value in special if not isinstance(value, str)]
    labels = group_labels(values, special=numbers)
    members: dict[str, list[tuple[tuple[bool, float], float]]] = {}
    for label, value, trial in zip(labels, values, trials, strict=True):
        if label is None or value is None or metric not in trial.metrics:
            continue
        key = (False, float(value)) if isinstance(value, int | float) else (True, 0.0)
        members.setdefault(label, []).append((key, trial.metrics[metric]))
    order = sorted((min(key for key, _ in each), label) for label, each in members.items())
    boxes = ((label, np.array([found for _, found in members[label]])) for _, label in order)
    return [(label, box) for label, box in boxes if len(box) > 1]


def _group_label(label: str, size: int, is_bytes: bool) -> str:
    parts = [
        format_bytes(float(part)) if is_bytes else _number(part) for part in label.split(" to ")
    ]
    return f"{chart.words(' to '.join(parts), 30)}<br>n = {size}"


def _number(text: str) -> str:
    try:
        return text if len(text) < 7 else f"{float(text):.4g}"
    except ValueError:
        return text


_TICKS = 6
_STEPS = 12  # settings: of fewer each is a kind of its own, and has its name on the axis


def dependence_chart(
    parameter: str, curves: Sequence[DependenceCurve], values: Sequence[Value], *, is_bytes: bool
) -> chart.Chart | None:
    """The partial dependence of the first four metrics on one parameter; None without a curve.

    ``values`` are its settings, and ``is_bytes`` says whether they are sizes.
    """
    shown = list(curves[: len(chart.SERIES)])
    if not shown:
        return None
    labels = [_label(value, is_bytes) for value in values]
    most = max(shown, key=lambda curve: float(np.ptp(curve.effect)))
    traces: list[chart.Trace] = []
    for curve, color in zip(shown, chart.SERIES, strict=False):
        traces += [_band(curve, color)] if len(labels) > _STEPS else []
        traces.append(_line(curve, labels, color))
    return chart.Chart(
        name=f"dependence-{parameter}",
        title=f"{parameter} changes {most.metric} by {np.ptp(most.effect):.1f} percentage points",
        caption="Predicted by models of all trials, averaged over all settings of the other "
        f"parameters; 0 is the mean over the settings of {parameter}. 95% intervals, if the "
        "models are right. Values are those with all other parameters at the baseline.",
        traces=traces,
        x=chart.axis(chart.words(parameter), zeroline=False, **_ticks(labels)),
        y=chart.axis("effect on the metric, %"),
    )


def pair_effect_chart(
    pair: PairTogether,
    values: tuple[Sequence[Value], Sequence[Value]],
    *,
    is_bytes: tuple[bool, bool],
) -> chart.Chart:
    """What a pair does beyond the effects of its two parameters, over the settings of both."""
    one, other = pair.parameters
    across, up = (
        [_label(value, size) for value in each]
        for each, size in zip(values, is_bytes, strict=True)
    )
    beyond = np.array(pair.beyond)
    most = float(np.abs(beyond).max()) or 1.0
    return chart.Chart(
        name=f"pair-{one}-{other}-{pair.metric}",
        title=f"{pair.metric}: the interaction of {one} and {other} is {100 * pair.share:.1f}% of "
        "the variance",
        caption="Effect of both beyond the sum of their separate effects, in percent of the "
        "metric, as predicted by models of all trials. Pale: no interaction.",
        traces=[
            {
                "type": "contour" if min(len(across), len(up)) > _STEPS else "heatmap",
                "z": [[chart.short(value) for value in row] for row in beyond.T.tolist()],
                "x": list(range(len(across))),
                "y": list(range(len(up))),
                "zmin": -most,
                "zmax": most,
                "zmid": 0,
                "colorscale": "RdBu",
                "reversescale": True,
                "text": [[f"{a}, {b}" for a in across] for b in up],
                "hovertemplate": "%{text}: %{z:+.2f}%<extra></extra>",
                "colorbar": {"title": {"text": "%"}, "thickness": 12},
            }
        ],
        x=chart.axis(chart.words(one), zeroline=False, **_ticks(across)),
        y=chart.axis(chart.words(other), zeroline=False, **_ticks(up)),
        height=360,
    )


def _line(curve: DependenceCurve, labels: Sequence[str], color: str) -> chart.Trace:
    """A line within its band; of kinds points with bars."""
    ordered = len(labels) > _STEPS
    bounds = (curve.effect, curve.low, curve.high)
    bars: dict[str, Any] = (
        {} if ordered else {"error_y": chart.interval_bars(*bounds, color=color)}
    )
    return chart.scatter_trace(
        chart.words(curve.metric),
        enumerate(bounds[0]),
        mode="lines+markers" if ordered else "markers",
        text=list(labels),
        hover=f"{chart.words(curve.metric)}, %{{text}}: %{{y:+.1f}}%",
        line={"color": color, "width": 2},
        marker={"color": color, "size": 5 if ordered else 8},
        **bars,
    )


def _band(curve: DependenceCurve, color: str) -> chart.Trace:
    return chart.scatter_trace(
        "",
        [*enumerate(curve.high), *[*enumerate(curve.low)][::-1]],
        mode="lines",
        fill="toself",
        fillcolor=color,
        opacity=0.14,
        line={"width": 0, "color": color},
        hoverinfo="skip",
        showlegend=False,
    )


def _ticks(labels: Sequence[str]) -> dict[str, Any]:
    """The names of some settings, of kinds all."""
    step = -(-len(labels) // _TICKS) if len(labels) > _STEPS else 1
    places = list(range(0, len(labels), step))
    return {"tickmode": "array", "tickvals": places, "ticktext": [labels[p] for p in places]}


def _label(value: Value, is_bytes: bool) -> str:
    if is_bytes and isinstance(value, int | float) and value >= 1024:
        return format_bytes(float(value))
    return f"{value:.4g}" if isinstance(value, float) else chart.words(value, 24)


_MOST, _BEST, _AXES = 200, 15, 8
_WIDE = 20.0  # numbers that span more than this factor are placed by their logarithm


def parallel_chart(
    trials: Sequence[Trial],
    fitness: Mapping[int, float],
    names: Sequence[str],
    *,
    byte_sized: frozenset[str] = frozenset(),
) -> chart.Chart | None:
    """At most 200 configurations as lines through the first eight parameters that vary.

    ``names`` are parameters, the most important first; values of the ``byte_sized`` are bytes.
    None with fewer than two configurations or axes.
    """
    candidates = [t for t in trials if t.purpose is Purpose.CANDIDATE and t.number in fitness]
    order = sorted(candidates, key=lambda trial: -fitness[trial.number])
    best, others = order[:_BEST], chart.thinned(order[_BEST:], _MOST - _BEST)
    placed = (
        _axis(name, {t.number: t.features.get(name) for t in candidates}, name in byte_sized)
        for name in names
    )
    axes = [axis for axis in placed if axis is not None][:_AXES]
    if len(candidates) < 2 or len(axes) < 2:
        return None
    shown = len(best) + len(others)
    line = {"type": "line", "line": {"color": "@line", "width": 1}, "layer": "below"}
    return chart.Chart(
        name="parallel",
        title=f"Where the {len(best)} best of {len(candidates):,} configurations lie",
        caption=f"Each line is a configuration; the {len(best)} best are coloured, the very best "
        "is thick. Where the best meet on an axis, the value matters; where they spread, it "
        "hardly does."
        + (f" {shown} of {len(candidates):,} are drawn." if shown < len(candidates) else ""),
        traces=[
            _lines(others, axes, "others", {"color": "@faint", "width": 1}),
            _lines(best[1:], axes, f"best {len(best)}", {"color": "@accent", "width": 1.5}),
            _lines(best[:1], axes, "very best", {"color": "@second", "width": 3.5}),
        ],
        x={"range": [-0.04, 1.04], "visible": False},
        y={"range": [len(axes) - 0.55, -0.6], "visible": False},
        shapes=[{**line, "x0": 0, "x1": 1, "y0": y, "y1": y} for y in range(len(axes))],
        more={
            "annotations": [label for row, axis in enumerate(axes) for label in axis.labels(row)]
        },
        height=110 + 62 * len(axes),
    )


@dataclass(frozen=True)
class _Axis:
    """The values of one parameter, placed from 0 to 1."""

    title: str
    ends: tuple[str, str]  # the least and the greatest value
    places: Mapping[int, float]  # by trial's number; of those where the parameter was active

    def labels(self, row: int) -> list[dict[str, Any]]:
        """Above the axis its name, below its ends the least and the greatest value."""
        above: dict[str, Any] = {"yanchor": "bottom", "yshift": 3, "bgcolor": "@veil"}
        below: dict[str, Any] = {"yanchor": "top", "yshift": -3, "bgcolor": "@veil"}
        low, high = self.ends
        return [
            chart.text_at(f"<b>{self.title}</b>", 0.5, row, "@ink", xanchor="center", **above),
            chart.text_at(low, 0.0, row, xanchor="left", **below),
            chart.text_at(high, 1.0, row, xanchor="right", **below),
        ]


def _axis(name: str, values: Mapping[int, Value | None], is_bytes: bool) -> _Axis | None:
    """None where there are not two values to tell apart."""
    known = {number: v for number, v in values.items() if v is not None and v == v}
    choices, title = sorted({str(v) for v in known.values()}), chart.words(name, 38)
    if len(choices) < 2:
        return None
    numbers = {n: float(v) for n, v in known.items() if isinstance(v, int | float)}
    if len(numbers) < len(known) or all(isinstance(v, bool) for v in known.values()):
        title += f" ({len(choices)} values)" if len(choices) > 2 else ""
        last = len(choices) - 1
        places = {n: round(choices.index(str(v)) / last, 4) for n, v in known.items()}
        return _Axis(title, (chart.words(choices[0], 14), chart.words(choices[-1], 14)), places)
    said, low, high = format_bytes if is_bytes else figure, *_ends(numbers)
    ends = (said(low), said(high))
    if low > 0 and high / low > _WIDE:
        numbers = {number: math.log(value) for number, value in numbers.items()}
        low, high = _ends(numbers)
    places = {n: round((value - low) / (high - low), 4) for n, value in numbers.items()}
    return _Axis(title, ends, places)


def _ends(numbers: Mapping[int, float]) -> tuple[float, float]:
    return min(numbers.values()), max(numbers.values())


def _lines(
    trials: Sequence[Trial], axes: Sequence[_Axis], name: str, line: Mapping[str, Any]
) -> chart.Trace:
    points: list[tuple[float | None, int | None]] = []
    for trial in trials:
        points += [(axis.places.get(trial.number), row) for row, axis in enumerate(axes)]
        points.append((None, None))
    return chart.scatter_trace(
        name, points, mode="lines", line=line, hoverinfo="skip", connectgaps=False
    )
