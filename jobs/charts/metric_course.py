"""The course of one metric: trial after trial beside the baseline and its noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jobs.charts.chart import Chart, axis, line_at, short, thinned, thinned_words, words
from optimizer.baseline.baseline import MetricNoise
from optimizer.objective.objective import Term
from optimizer.trials.trial import Purpose, Trial
from sampler.workload.metric_units import BYTES, metric_unit

_MIB = 2.0**20
_FAR = 6.0  # times the middle half of all values: what is farther out squeezes the rest


def metric_course(
    term: Term,
    trials: Sequence[Trial],
    values: Mapping[int, float],
    noise: MetricNoise,
    best: int | None,
) -> Chart | None:
    """The plot of a metric.

    Args:
        term: The metric, and which way is better.
        trials: By number.
        values: By trial's number, clocks corrected for drift.
        noise: The baseline's level and scatter.
        best: The fittest trial so far, which is always drawn; None: there is none yet.

    Returns:
        The plot; None before a new configuration was measured.
    """
    candidates = [t for t in trials if t.purpose is Purpose.CANDIDATE and t.number in values]
    if not candidates:
        return None
    unit, scale = metric_unit(term.metric), 1.0
    if unit == BYTES:
        unit, scale = "MiB", _MIB
    others = [t for t in candidates if t.number != best]
    shown = thinned(others)
    traces = [_dots(shown, values, scale, "configuration", {"size": 5, "opacity": 0.5})]
    if best in values:
        first = [t for t in candidates if t.number == best]
        traces.append(_dots(first, values, scale, "best so far", _DIAMOND))
    low, high = _range([values[t.number] for t in candidates], noise.median, values.get(best or 0))
    return Chart(
        name=f"course-{words(term.metric)}",
        title=_title(term, values.get(best or 0), noise.median),
        caption=f"{'Lower' if term.direction == 'min' else 'Higher'} is better. Dashed: the "
        "baseline." + _noise_words(noise) + thinned_words(len(shown), len(others)),
        traces=traces,
        layout={
            "xaxis": axis("trial", rangemode="tozero"),
            "yaxis": axis(
                words(term.metric) + (f", {unit}" if unit else ""),
                range=[short(low / scale), short(high / scale)],
            ),
            "shapes": [*_band(noise, scale), line_at(noise.median / scale, dash="dash")],
            "showlegend": False,
        },
        height=280,
    )


_DIAMOND = {"color": "@second", "size": 11, "symbol": "diamond"}


def _title(term: Term, value: float | None, level: float) -> str:
    if value is None or not level:
        return term.metric
    return f"{term.metric}: the fittest run so far {100 * (value - level) / abs(level):+.1f}%"


def _noise_words(noise: MetricNoise) -> str:
    if noise.spread is None:
        return ""
    return f" Band: two standard deviations of its runs, ±{200 * noise.spread:.1f}%."


def _range(values: Sequence[float], level: float, best: float | None) -> tuple[float, float]:
    """What the axis shows: the baseline, the best, and all that is not far out."""
    low, high = (float(each) for each in np.percentile(values, (25, 75)))
    reach = _FAR * max(high - low, 0.02 * abs(level))
    kept = [value for value in values if low - reach <= value <= high + reach]
    kept += [level] if best is None else [level, best]
    margin = 0.06 * (max(kept) - min(kept)) or 0.06 * abs(level) or 1.0
    return min(kept) - margin, max(kept) + margin


def _dots(
    trials: Sequence[Trial],
    values: Mapping[int, float],
    scale: float,
    name: str,
    marker: Mapping[str, Any],
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [trial.number for trial in trials],
        "y": [short(values[trial.number] / scale) for trial in trials],
        "marker": {"color": "@accent", **marker},
        "hovertemplate": "trial %{x}: %{y}<extra></extra>",
    }


def _band(noise: MetricNoise, scale: float) -> list[dict[str, Any]]:
    if noise.spread is None:
        return []
    reach = 2 * noise.spread * abs(noise.median)
    return [
        {
            "type": "rect", "xref": "paper", "x0": 0, "x1": 1,
            "y0": (noise.median - reach) / scale, "y1": (noise.median + reach) / scale,
            "fillcolor": "@band", "line": {"width": 0}, "layer": "below",
        }
    ]  # fmt: skip
