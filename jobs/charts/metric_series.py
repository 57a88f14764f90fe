"""Metrics over the time of a job: each trial beside the baseline, and the baseline's drift."""

from collections.abc import Mapping, Sequence

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

    ``values`` are by trial's number, clocks corrected for drift. ``best``, the number of the
    fittest trial so far, is always drawn.
    """
    candidates = [t for t in trials if t.purpose is Purpose.CANDIDATE and t.number in values]
    if not candidates:
        return None
    unit, scale = metric_unit(term.metric), 1.0
    if unit == BYTES:
        unit, scale = "MiB", _MIB
    others = [t for t in candidates if t.number != best]
    shown = chart.thinned(others)
    traces = [_dots(shown, values, scale, "configuration", color="@accent", size=5, opacity=0.5)]
    if best in values:
        first = [t for t in candidates if t.number == best]
        diamond = {"color": "@second", "size": 11, "symbol": "diamond"}
        traces.append(_dots(first, values, scale, "best so far", **diamond))
    level, value = noise.median, values.get(best or 0)
    low, high = _range([values[t.number] for t in candidates], level, value)
    title, band, told = term.metric, [], ""
    if value is not None and level:
        title += f": the fittest run so far {100 * (value - level) / abs(level):+.1f}%"
    if noise.spread is not None:
        reach = 2 * noise.spread * abs(level)
        band = [chart.band((level - reach) / scale, (level + reach) / scale)]
        told = f" Band: two standard deviations of its runs, ±{200 * noise.spread:.1f}%."
    return chart.Chart(
        name=f"course-{chart.words(term.metric)}",
        title=title,
        caption=f"{'Lower' if term.direction == 'min' else 'Higher'} is better. Dashed: the "
        f"baseline.{told}{chart.thinned_words(len(shown), len(others))}",
        traces=traces,
        layout={
            "xaxis": chart.axis("trial", rangemode="tozero"),
            "yaxis": chart.axis(
                chart.words(term.metric) + (f", {unit}" if unit else ""),
                range=[chart.short(low / scale), chart.short(high / scale)],
            ),
            "shapes": [*band, chart.line_at(level / scale, dash="dash")],
            "showlegend": False,
        },
        height=280,
    )


def _range(values: Sequence[float], level: float, best: float | None) -> tuple[float, float]:
    """What the axis shows: the baseline, the best, and all that is not far out."""
    low, high = (float(each) for each in np.percentile(values, (25, 75)))
    reach = _FAR * max(high - low, 0.02 * abs(level))
    kept = [value for value in values if low - reach <= value <= high + reach]
    kept += [level] if best is None else [level, best]
    margin = 0.06 * (max(kept) - min(kept)) or 0.06 * abs(level) or 1.0
    return min(kept) - margin, max(kept) + margin


def _dots(
    trials: Sequence[Trial], values: Mapping[int, float], scale: float, name: str, **marker: object
) -> chart.Trace:
    points = [(trial.number, values[trial.number] / scale) for trial in trials]
    return chart.scatter_trace(name, points, marker=marker, hover="trial %{x}: %{y}")


def drift_chart(
    trials: Sequence[Trial], baseline: Baseline, metrics: Sequence[str]
) -> chart.Chart | None:
    """The baseline's runs over time, in percent of their median, by the first four metrics.

    None with fewer than two runs whose time is known.
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
        return "Drift could not be tested on so few runs of the baseline, and none was corrected"
    return "No drift was seen, and none was corrected"


def _minutes(run: Trial, first: Trial) -> float:
    assert run.started_at and first.started_at
    return (run.started_at - first.started_at).total_seconds() / 60


def _runs(runs: Sequence[Trial], baseline: Baseline, metric: str, color: str) -> chart.Trace:
    shown = chart.thinned([run for run in runs if metric in run.metrics])
    median = baseline.metrics[metric]
    return chart.scatter_trace(
        chart.words(metric),
        [(_minutes(run, runs[0]), 100 * _usual(run, baseline)[metric] / median) for run in shown],
        text=[f"trial {run.number}" for run in shown],
        marker={"color": color, "size": 7},
        hover="%{text}: %{y:.1f}%",
        extra=chart.words(metric),
    )


def _usual(run: Trial, baseline: Baseline) -> Mapping[str, float]:
    """A run's metrics as they would have been in the usual state of its machine."""
    return baseline.hosts[run.host].machine.corrected(run.metrics)


def _level(runs: Sequence[Trial], baseline: Baseline, metric: str, color: str) -> chart.Trace:
    """The smoothed level: what a value at the median is corrected by, turned round."""
    level = {metric: baseline.metrics[metric]}
    points = [
        (
            _minutes(run, runs[0]),
            100 * level[metric] / baseline.corrected(level, run.started_at, run.host)[metric],
        )
        for run in chart.thinned(runs)
    ]
    line = {"color": color, "width": 2}
    name = f"{chart.words(metric)}, level"
    return chart.scatter_trace(name, points, mode="lines", line=line, hoverinfo="skip")
