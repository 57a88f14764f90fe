"""Metrics over the time of a job: each trial beside the baseline, and the baseline's drift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jobs.charts import chart
from optimizer.baseline.baseline import Baseline, MetricNoise
from optimizer.objective.objective import Term
from optimizer.trials.trial import Purpose, Trial
from sampler.workload.metric_units import BYTES, metric_unit

_MIB = 2.0**20
_FAR = 6.0  # times the middle half of all values: what is farther out squeezes the rest


def metric_series_chart(
    term: Term,
    trials: Sequence[Trial],
    values: Mapping[int, float],
    noise: MetricNoise,
    best: int | None,
) -> chart.Chart | None:
    """The plot of a metric; None before a new configuration was measured.

    Args:
        term: The metric, and which way is better.
        trials: By number.
        values: By trial's number, clocks corrected for drift.
        noise: The baseline's level and scatter.
        best: The fittest trial so far, which is always drawn; None: there is none yet.
    """
    candidates = [t for t in trials if t.purpose is Purpose.CANDIDATE and t.number in values]
    if not candidates:
        return None
    unit, scale = metric_unit(term.metric), 1.0
    if unit == BYTES:
        unit, scale = "MiB", _MIB
    others = [t for t in candidates if t.number != best]
    shown = chart.thinned(others)
    traces = [_dots(shown, values, scale, "configuration", {"size": 5, "opacity": 0.5})]
    if best in values:
        first = [t for t in candidates if t.number == best]
        traces.append(_dots(first, values, scale, "best so far", _DIAMOND))
    low, high = _range([values[t.number] for t in candidates], noise.median, values.get(best or 0))
    return chart.Chart(
        name=f"course-{chart.words(term.metric)}",
        title=_title(term, values.get(best or 0), noise.median),
        caption=f"{'Lower' if term.direction == 'min' else 'Higher'} is better. Dashed: the "
        "baseline." + _noise_words(noise) + chart.thinned_words(len(shown), len(others)),
        traces=traces,
        layout={
            "xaxis": chart.axis("trial", rangemode="tozero"),
            "yaxis": chart.axis(
                chart.words(term.metric) + (f", {unit}" if unit else ""),
                range=[chart.short(low / scale), chart.short(high / scale)],
            ),
            "shapes": [*_band(noise, scale), chart.line_at(noise.median / scale, dash="dash")],
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
    return chart.scatter_trace(
        name,
        [trial.number for trial in trials],
        [chart.short(values[trial.number] / scale) for trial in trials],
        marker={"color": "@accent", **marker},
        hover="trial %{x}: %{y}",
    )


def _band(noise: MetricNoise, scale: float) -> list[dict[str, Any]]:
    if noise.spread is None:
        return []
    reach = 2 * noise.spread * abs(noise.median)
    low, high = (noise.median - reach) / scale, (noise.median + reach) / scale
    return [chart.area(xref="paper", x0=0, x1=1, y0=low, y1=high)]


def drift_chart(
    trials: Sequence[Trial], baseline: Baseline, metrics: Sequence[str]
) -> chart.Chart | None:
    """The baseline's runs over time, in percent of their median.

    Args:
        trials: By number.
        baseline: Its summary over all its runs.
        metrics: In the order of the objective; the first four are drawn.

    Returns:
        The plot; None with fewer than two runs whose time is known.
    """
    runs = [t for t in trials if t.is_baseline and t.done and t.started_at]
    drawn = [m for m in metrics if baseline.metrics.get(m)][: len(chart.SERIES)]
    if len(runs) < 2 or not drawn:
        return None
    drifting = [m for m in baseline.noise if baseline.noise[m].drifting]
    traces = []
    for metric, color in zip(drawn, chart.SERIES, strict=False):
        traces.append(_runs(runs, baseline, metric, color))
        if metric in drifting:
            traces.append(_level(runs, baseline, metric, color))
    return chart.Chart(
        name="drift",
        title=_drift_title(baseline, drifting),
        caption="Dots: runs of the baseline, those of the proof included."
        + (" Lines: the smoothed level that trials are corrected by." if drifting else "")
        + " Byte counters are never corrected.",
        traces=traces,
        layout={
            "xaxis": chart.axis("minutes since the first run", rangemode="tozero"),
            "yaxis": chart.axis("% of the median", zeroline=False),
            "shapes": [chart.line_at(100.0)],
        },
    )


def _drift_title(baseline: Baseline, drifting: Sequence[str]) -> str:
    if drifting:
        return (
            f"The machine drifted: of each trial, {', '.join(drifting)} compared with the "
            "baseline of that time"
        )
    if all(noise.drift_p is None for noise in baseline.noise.values()):
        return (
            "Drift could not be tested on so few runs of the baseline, and nothing was corrected"
        )
    return "No drift was seen, and nothing was corrected"


def _minutes(run: Trial, first: Trial) -> float | None:
    assert run.started_at and first.started_at
    return chart.short((run.started_at - first.started_at).total_seconds() / 60)


def _runs(runs: Sequence[Trial], baseline: Baseline, metric: str, color: str) -> chart.Trace:
    shown = chart.thinned([run for run in runs if metric in run.metrics])
    return chart.scatter_trace(
        chart.words(metric),
        [_minutes(run, runs[0]) for run in shown],
        [chart.short(100 * run.metrics[metric] / baseline.metrics[metric]) for run in shown],
        text=[f"trial {run.number}" for run in shown],
        marker={"color": color, "size": 7},
        hovertemplate="%{text}: %{y:.1f}%<extra>" + chart.words(metric) + "</extra>",
    )


def _level(runs: Sequence[Trial], baseline: Baseline, metric: str, color: str) -> chart.Trace:
    """The smoothed level: what a value at the median is corrected by, turned round."""
    median = baseline.metrics[metric]
    shown = chart.thinned(runs)
    levels = [
        100 * median / baseline.corrected({metric: median}, run.started_at, run.host)[metric]
        for run in shown
    ]
    return chart.scatter_trace(
        f"{chart.words(metric)}, level",
        [_minutes(run, shown[0]) for run in shown],
        [chart.short(level) for level in levels],
        mode="lines",
        line={"color": color, "width": 2},
        hoverinfo="skip",
    )
