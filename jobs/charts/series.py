"""What a job measured, trial by trial: its fitness, each metric, and the drift of its baseline."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from jobs.charts import chart
from optimizer.evaluation.baseline import Baseline, MetricNoise
from optimizer.objective.objective import Term
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.workload.metric_table import BYTES, metric_unit

_NAMED = (Phase.SAMPLE, Phase.SEARCH, Phase.CONFIRM)
_NOISE = "Band: two standard deviations of the baseline's own fitness"
_MIB = 2.0**20
_FAR = 6.0  # times the middle half of all values: what is farther out squeezes the rest


def noise_of_fitness(trials: Sequence[Trial], fitness: Mapping[int, float]) -> float | None:
    """Standard deviation of the baseline's own fitness over its runs; None with fewer than two."""
    own = [fitness[t.number] for t in trials if t.is_baseline and t.number in fitness]
    return float(np.std(own, ddof=1)) if len(own) > 1 else None


def convergence_chart(
    trials: Sequence[Trial],
    fitness: Mapping[int, float],
    *,
    breaking: Collection[int] = (),
    baselines: Sequence[Trial] | None = None,
    again: int = 0,
) -> chart.Chart | None:
    """The fitness of trial after trial; None if no new configuration ended well in the limits.

    ``fitness`` is by number, of trials that ended well; those ``breaking`` a limit are never the
    best so far. The noise is that of the runs of the baseline among ``baselines``; None: among
    all. ``again`` runs measured a configuration again; they are in the mean of the first.
    """
    known = [
        (trial.number, fitness[trial.number])
        for trial in trials
        if trial.purpose is Purpose.CANDIDATE and trial.number in fitness
    ]
    points = [point for point in known if point[0] not in breaking]
    if not points:
        return None
    broken = [point for point in known if point[0] in breaking]
    noise = noise_of_fitness(trials if baselines is None else baselines, fitness)
    bands = [] if noise is None else [chart.band(-2 * noise, 2 * noise)]
    floor = chart.lowest_fitness([value for _, value in points])
    last = max(trial.number for trial in trials)
    inside = [point for point in points if point[1] >= floor]
    shown = chart.thinned(inside)
    crossed = chart.thinned([point for point in broken if point[1] >= floor])
    below = [number for number, value in points if value < floor]
    drawn_below = [(number, floor) for number in chart.thinned(below, 500)]
    steps = points[:1]
    for point in points:
        steps += [point] if point[1] > steps[-1][1] else []
    lines, labels = _phases(trials)
    cross = {"color": "@faint", "size": 6, "symbol": "x"}
    triangle = {"color": "@dim", "size": 6, "symbol": "triangle-down"}
    hover = "trial %{x}: %{y:.0f}"
    return chart.Chart(
        name="convergence",
        title=_title(noise, points),
        caption="Dots: single runs of new configurations, times and rates corrected for drift. "
        "Line: best so far. The best of many single runs is partly luck, so the proof decides."
        + chart.again_words(again)
        + ("" if noise is None else f" {_NOISE}, ±{2 * noise:.0f}.")
        + (f" Triangles: {len(below)} below the plot." if below else "")
        + (f" Crosses: {len(broken):,} broke a limit and do not count." if broken else "")
        + chart.thinned_words(len(shown), len(inside)),
        traces=[
            *chart.dots("breaks a limit", crossed, hover, **cross),
            *chart.dots("configuration", shown, hover, color="@accent", size=6, opacity=0.5),
            chart.step_line("best so far", steps, last, "@second", f"best up to {hover}"),
            *chart.dots("far below", drawn_below, "trial %{x}: below the plot", **triangle),
        ],
        x=chart.axis("trial", range=[0, last + 1]),
        y=chart.axis("fitness, 0 = baseline", zeroline=False),
        shapes=[*lines, *bands, chart.line_at(0.0, dash="dash")],
        more={"annotations": labels},
        height=400,
    )


def _title(noise: float | None, points: Sequence[tuple[int, float]]) -> str:
    at, (number, value) = max(enumerate(points, start=1), key=lambda each: each[1][1])
    if noise is not None and value <= 2 * noise:
        return f"No single run rose above the noise of the baseline; the best was trial {number}"
    return f"The best single run was trial {number}, new configuration {at} of {len(points)}"


def _phases(trials: Sequence[Trial]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    lines, labels = [], []
    for phase in _NAMED:
        numbers = [trial.number for trial in trials if trial.phase is phase]
        if numbers:
            first, last = min(numbers), max(numbers)
            lines.append(chart.line_at(first - 0.5, across="x", color="@line", dash="solid"))
            at = {"yref": "paper", "yanchor": "bottom"}
            labels.append(chart.text_at(phase.value, (first + last) / 2, 0, **at))
    return lines, labels


def metric_series_chart(
    term: Term,
    trials: Sequence[Trial],
    values: Mapping[int, float],
    noise: MetricNoise,
    best: int | None,
) -> chart.Chart | None:
    """A metric of each trial beside the baseline; None before a new configuration was measured.

    ``values`` are by trial's number, clocks corrected for drift. ``best``, the number of the
    fittest trial so far, is always drawn.
    """
    numbers = [t.number for t in trials if t.purpose is Purpose.CANDIDATE and t.number in values]
    if not numbers:
        return None
    unit, scale = metric_unit(term.metric), 1.0
    if unit == BYTES:
        unit, scale = "MiB", _MIB
    others = [number for number in numbers if number != best]
    shown = chart.thinned(others)
    level, value = noise.median, values.get(best or 0)
    low, high = _range([values[number] for number in numbers], level, value)
    title, band, told = term.metric, [], ""
    if value is not None and level:
        title += f": best run so far {100 * (value - level) / abs(level):+.1f}%"
    if noise.spread is not None:
        reach = 2 * noise.spread * abs(level)
        band = [chart.band((level - reach) / scale, (level + reach) / scale)]
        told = f" Band: two standard deviations of baseline runs, ±{200 * noise.spread:.1f}%."
    places = {number: (number, values[number] / scale) for number in numbers}
    best_places = [places[number] for number in numbers if number == best]
    hover, diamond = "trial %{x}: %{y}", {"color": "@second", "size": 11, "symbol": "diamond"}
    dot = {"color": "@accent", "size": 5, "opacity": 0.5}
    return chart.Chart(
        name=f"course-{chart.words(term.metric)}",
        title=title,
        caption=f"{'Lower' if term.direction == 'min' else 'Higher'} is better. Dashed: the "
        f"baseline.{told}{chart.thinned_words(len(shown), len(others))}",
        traces=[
            *chart.dots("configuration", [places[n] for n in shown], hover, **dot),
            *chart.dots("best so far", best_places, hover, **diamond),
        ],
        x=chart.axis("trial", rangemode="tozero"),
        y=chart.axis(
            chart.words(term.metric) + (f", {unit}" if unit else ""),
            range=[chart.short(low / scale), chart.short(high / scale)],
        ),
        shapes=[*band, chart.line_at(level / scale, dash="dash")],
        more={"showlegend": False},
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
        caption="Dots: runs of the baseline, including those of the proof."
        + (" Lines: the smoothed level by which trials are corrected." if drifting else "")
        + " Byte counters are never corrected.",
        traces=traces,
        x=chart.axis("minutes since the first run", rangemode="tozero"),
        y=chart.axis("% of the median", zeroline=False),
        shapes=[chart.line_at(100.0)],
    )


def _drift_title(baseline: Baseline, drifting: Sequence[str]) -> str:
    if drifting:
        return (
            f"The machine drifted: {', '.join(drifting)} compared with the baseline at the time "
            "of each trial"
        )
    if all(noise.drift_p is None for noise in baseline.noise.values()):
        return "Drift could not be tested: too few runs of the baseline. Nothing was corrected"
    return "No drift was detected, so nothing was corrected"


def _minutes(run: Trial, first: Trial) -> float:
    assert run.started_at and first.started_at
    return (run.started_at - first.started_at).total_seconds() / 60


def _runs(runs: Sequence[Trial], baseline: Baseline, metric: str, color: str) -> chart.Trace:
    shown = chart.thinned([run for run in runs if metric in run.metrics])
    # As they would have been in the usual state of their machine.
    usual = [baseline.hosts[run.host].machine.corrected(run.metrics)[metric] for run in shown]
    median = baseline.metrics[metric]
    return chart.scatter_trace(
        chart.words(metric),
        [
            (_minutes(run, runs[0]), 100 * value / median)
            for run, value in zip(shown, usual, strict=True)
        ],
        text=[f"trial {run.number}" for run in shown],
        marker={"color": color, "size": 7},
        hover="%{text}: %{y:.1f}%",
        extra=chart.words(metric),
    )


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
