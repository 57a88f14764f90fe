"""What the settings of one parameter do to each metric, and what two do together."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jobs.charts import chart
from optimizer.ranking.dependence import EffectCurve, Together
from sampler.common.byte_size import format_bytes
from sampler.parameters.parameter import Value

_TICKS = 6
_STEPS = 12  # settings: of fewer each is a kind of its own, and has its name on the axis


def dependence_chart(
    parameter: str, curves: Sequence[EffectCurve], values: Sequence[Value], *, is_bytes: bool
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
        traces += [_band(curve, color)] if _ordered(labels) else []
        traces.append(_line(curve, labels, color))
    return chart.Chart(
        name=f"dependence-{parameter}",
        title=f"{parameter} moves {most.metric} by {np.ptp(most.effect):.1f} points of percent",
        caption="Expected by models of all trials, in the mean over all settings of the other "
        "parameters; 0 is the mean of this one's own settings. With 95% intervals, if the "
        "models are right. Values are those with all others at the baseline.",
        traces=traces,
        layout={
            "xaxis": chart.axis(chart.words(parameter), zeroline=False, **_ticks(labels)),
            "yaxis": chart.axis("effect on the metric, %"),
        },
    )


def pair_effect_chart(
    pair: Together, values: tuple[Sequence[Value], Sequence[Value]], *, is_bytes: tuple[bool, bool]
) -> chart.Chart:
    """What a pair does beyond the effects of its two parameters, over the settings of both."""
    one, other = pair.parameters
    across, up = (
        [_label(value, size) for value in each]
        for each, size in zip(values, is_bytes, strict=True)
    )
    most = float(np.abs(pair.beyond).max()) or 1.0
    return chart.Chart(
        name=f"pair-{one}-{other}-{pair.metric}",
        title=f"{pair.metric}: {one} and {other} together make {100 * pair.share:.1f}% of the "
        "variance",
        caption="What both do together beyond what each does alone, in percent of the metric, as "
        "models of all trials expect it. Pale: nothing beyond the sum of the two.",
        traces=[
            {
                "type": "contour" if _ordered(across) and _ordered(up) else "heatmap",
                "z": [[chart.short(float(value)) for value in row] for row in pair.beyond.T],
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
        layout={
            "xaxis": chart.axis(chart.words(one), zeroline=False, **_ticks(across)),
            "yaxis": chart.axis(chart.words(other), zeroline=False, **_ticks(up)),
        },
        height=360,
    )


def _line(curve: EffectCurve, labels: Sequence[str], color: str) -> chart.Trace:
    """A line within its band; of kinds points with bars."""
    ordered = _ordered(labels)
    bounds = (curve.effect.tolist(), curve.low.tolist(), curve.high.tolist())
    bars: dict[str, Any] = {} if ordered else {"error_y": chart.interval_bars(*bounds, color)}
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


def _band(curve: EffectCurve, color: str) -> chart.Trace:
    return chart.scatter_trace(
        "",
        [*enumerate(curve.high.tolist()), *[*enumerate(curve.low.tolist())][::-1]],
        mode="lines",
        fill="toself",
        fillcolor=color,
        opacity=0.14,
        line={"width": 0, "color": color},
        hoverinfo="skip",
        showlegend=False,
    )


def _ordered(labels: Sequence[str]) -> bool:
    return len(labels) > _STEPS


def _ticks(labels: Sequence[str]) -> dict[str, Any]:
    """The names of some settings, of kinds all."""
    step = -(-len(labels) // _TICKS) if _ordered(labels) else 1
    places = list(range(0, len(labels), step))
    return {"tickmode": "array", "tickvals": places, "ticktext": [labels[p] for p in places]}


def _label(value: Value, is_bytes: bool) -> str:
    if is_bytes and isinstance(value, int | float) and value >= 1024:
        return format_bytes(float(value))
    return f"{value:.4g}" if isinstance(value, float) else chart.words(value, 24)
