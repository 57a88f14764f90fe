"""Drift: the baseline measured again and again, and the level that trials were compared with."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.charts.chart import SERIES, Chart, Trace, axis, line_at, short, thinned, words
from optimizer.baseline.baseline import Baseline
from optimizer.trials.trial import Trial


def drift_chart(
    trials: Sequence[Trial], baseline: Baseline, metrics: Sequence[str]
) -> Chart | None:
    """The baseline's runs over time, in percent of their median.

    Args:
        trials: By number.
        baseline: Its summary over all its runs.
        metrics: In the order of the objective; the first four are drawn.

    Returns:
        The plot; None with fewer than two runs whose time is known.
    """
    runs = [t for t in trials if t.is_baseline and t.done and t.started_at]
    drawn = [m for m in metrics if baseline.metrics.get(m)][: len(SERIES)]
    if len(runs) < 2 or not drawn:
        return None
    drifting = [m for m in baseline.noise if baseline.noise[m].drifting]
    traces = []
    for metric, color in zip(drawn, SERIES, strict=False):
        traces.append(_runs(runs, baseline, metric, color))
        if metric in drifting:
            traces.append(_level(runs, baseline, metric, color))
    return Chart(
        name="drift",
        title=_title(baseline, drifting),
        caption="Dots: runs of the baseline, those of the proof included."
        + (" Lines: the smoothed level that trials are corrected by." if drifting else "")
        + " Byte counters are never corrected.",
        traces=traces,
        layout={
            "xaxis": axis("minutes since the first run", rangemode="tozero"),
            "yaxis": axis("% of the median", zeroline=False),
            "shapes": [line_at(100.0)],
        },
    )


def _title(baseline: Baseline, drifting: Sequence[str]) -> str:
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
    return short((run.started_at - first.started_at).total_seconds() / 60)


def _runs(runs: Sequence[Trial], baseline: Baseline, metric: str, color: str) -> Trace:
    shown = thinned([run for run in runs if metric in run.metrics])
    return {
        "type": "scatter",
        "mode": "markers",
        "name": words(metric),
        "x": [_minutes(run, runs[0]) for run in shown],
        "y": [short(100 * run.metrics[metric] / baseline.metrics[metric]) for run in shown],
        "text": [f"trial {run.number}" for run in shown],
        "marker": {"color": color, "size": 7},
        "hovertemplate": "%{text}: %{y:.1f}%<extra>" + words(metric) + "</extra>",
    }


def _level(runs: Sequence[Trial], baseline: Baseline, metric: str, color: str) -> Trace:
    """The smoothed level: what a value at the median is corrected by, turned round."""
    median = baseline.metrics[metric]
    shown = thinned(runs)
    levels = [
        100 * median / baseline.corrected({metric: median}, run.started_at, run.host)[metric]
        for run in shown
    ]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{words(metric)}, level",
        "x": [_minutes(run, shown[0]) for run in shown],
        "y": [short(level) for level in levels],
        "line": {"color": color, "width": 2},
        "hoverinfo": "skip",
    }
