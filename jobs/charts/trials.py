"""What the trials of a job show: fitness, metrics, drift, fitness and memory, Pareto fronts."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import accumulate
from operator import itemgetter
from typing import Any

import numpy as np

from jobs.charts import chart
from optimizer.evaluation.baseline import Baseline, MetricNoise
from optimizer.objective.objective import Term, pareto_front
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.common.text import format_bytes
from sampler.workload.metric_table import BYTES, better, metric_unit

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
    steps = [*dict.fromkeys(accumulate(points, partial(max, key=itemgetter(1))))]
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


Points = Mapping[int, Mapping[str, float]]


def front_chart(
    points: Points,
    kept: Collection[int],
    numbers: Collection[int],
    terms: Sequence[Term],
    *,
    again: int = 0,
    name: str = "front",
    about: str = "",
) -> chart.Chart | None:
    """All configurations in two metrics; None with one metric, or nothing on the front.

    ``points`` are the metrics of each new configuration that was measured whole, by number;
    ``kept`` are those that keep the limits, ``numbers`` those of the front. The first and the last
    of the terms are drawn; ``about`` says what they are, where they are not the objective's.
    ``again`` runs measured a configuration again; they are in the mean of the first.
    """
    if len(terms) < 2:
        return None
    across, up = terms[0].metric, terms[-1].metric
    places = {n: (m[across], m[up]) for n, m in points.items() if across in m and up in m}
    on = [n for n in places if n in numbers]
    if not on:
        return None
    off = [n for n in places if n in kept and n not in on]
    broken = [n for n in places if n not in kept]
    shown, crossed = chart.thinned(off), chart.thinned(broken)
    better = " and ".join(
        f"{'lower' if term.direction == 'min' else 'higher'} {term.metric}"
        for term in (terms[0], terms[-1])
    )
    title = f"{len(on)} of {len(on) + len(off):,} configurations are on the Pareto front"
    drawn_words = (
        f"Better is {better}."
        if about
        else f"Two of {len(terms)} metrics are drawn; better is {better}. "
        "A trial of the front that looks worse here is better in another metric."
    )
    kinds = [("others", shown, {"color": "@faint", "size": 6})]
    if broken:
        kinds.append(("breaks a limit", crossed, {"color": "@faint", "size": 6, "symbol": "x"}))
    kinds.append(("front", on, {"color": "@accent", "size": 9, "symbol": "diamond"}))
    return chart.Chart(
        name=name,
        title=f"{about}: {title}" if about else f"{title}: no other is better in all metrics",
        caption=f"Single runs, times and rates corrected for drift. {drawn_words}"
        + (f" Crosses: {len(broken):,} that break a limit do not count." if broken else "")
        + chart.again_words(again)
        + chart.thinned_words(len(shown) + len(crossed), len(off) + len(broken)),
        traces=[
            chart.trial_dots(kind, {n: places[n] for n in those}, "%{x:.4g}, %{y:.4g}", **marker)
            for kind, those, marker in kinds
        ],
        x=chart.axis(chart.words(across)),
        y=chart.axis(chart.words(up)),
    )


def front_growth_chart(
    growth: Sequence[tuple[int, float]], terms: Sequence[Term], last: int
) -> chart.Chart | None:
    """How the front grew up to the job's last trial, which has the number ``last``.

    ``growth`` is (trial's number, hypervolume) of each trial that enlarged the front. None with
    one metric, or where nothing reached the reference.
    """
    if len(terms) < 2 or not growth:
        return None
    number, value = growth[-1]
    shown = chart.thinned(growth)
    return chart.Chart(
        name="front-growth",
        title=f"The front grew until trial {number}, to {value:.3g} times the hypervolume of the "
        "baseline",
        caption="Hypervolume: the volume of metric values that the front dominates; the baseline "
        "alone is 1 (dashed). Reference point: twice the baseline where less is better, 0 where "
        "more is better. Single runs, times and rates corrected for drift; runs that break a "
        "limit do not count. Noise raises the hypervolume: the luckiest runs stay on the front."
        + chart.thinned_words(len(shown), len(growth)),
        traces=[
            chart.step_line("hypervolume", shown, last, "@accent", "up to trial %{x}: %{y:.3g}")
        ],
        x=chart.axis("trial", range=[0, last + 1]),
        y=chart.axis("hypervolume, 1 = baseline", rangemode="tozero"),
        shapes=[chart.line_at(1.0, dash="dash")],
    )


_PAIRS = {
    ("rate", "write_p99"): "Throughput against the 99th percentile of writes",
    ("rate", "read_p99"): "Throughput against the 99th percentile of reads",
    ("rate", "update_p99"): "Throughput against the 99th percentile of updates",
    ("cpu_percent", "rate"): "CPU use against throughput",
}
_LEAST_POINTS = 3  # fewer show no front


def two_metric_front_charts(
    points: Points, kept: Collection[int], *, again: int = 0
) -> list[chart.Chart]:
    """Throughput against each kind of latency, CPU use against throughput: what was measured.

    Arguments as of ``front_chart``.
    """
    charts = []
    for names, about in _PAIRS.items():
        pair = tuple(Term(name, better(name) or "min") for name in names)
        drawn = {n: found for n, found in points.items() if all(name in found for name in names)}
        if len(drawn) < _LEAST_POINTS:
            continue
        within = {number: drawn[number] for number in drawn if number in kept}
        on, name = pareto_front(within, pair), "-".join(["front", *names])
        charts.append(front_chart(drawn, within, on, pair, again=again, name=name, about=about))
    return chart.drawable(charts)


def best_within(
    trials: Sequence[Trial], fitness: Mapping[int, float], baseline: float
) -> Trial | None:
    """The fittest new configuration within the baseline's memory; None if there is none."""
    found = [t for t in _candidates(trials, fitness) if t.metrics["memory"] <= baseline]
    return max(found, key=lambda trial: fitness[trial.number], default=None)


def memory_chart(
    trials: Sequence[Trial],
    fitness: Mapping[int, float],
    *,
    baseline: float | None,
    budget: float | None,
    winner: int | None,
) -> chart.Chart | None:
    """Fitness over memory of all new configurations: one that needs more is no free victory.

    None where the benchmark tells no memory. ``baseline`` is in bytes, None if unknown; so is the
    ``budget``, None: as much as the baseline. ``winner`` is the number of the trial that went into
    the proof.
    """
    candidates = _candidates(trials, fitness)
    if not candidates or not baseline:
        return None
    shown = chart.thinned(candidates)
    values = [fitness[trial.number] for trial in candidates]
    high, low = max(*values, 100.0), chart.lowest_fitness(values)
    bounds = [low - 0.05 * (high - low), high + 0.08 * (high - low)]
    below = sum(value < bounds[0] for value in values)
    marks = [chart.line_at(baseline / _MIB, across="x", dash="dash", color="@ink")]
    if budget is not None and budget != baseline:
        marks.append(chart.line_at(budget / _MIB, across="x", dash="dot", color="@second"))
    others = [t for t in shown if t.number != winner]
    traces = [_dots(others, fitness, "configuration", color="@accent", size=7, opacity=0.5)]
    if won := [t for t in candidates if t.number == winner]:
        diamond = {"color": "@second", "size": 13, "symbol": "diamond"}
        traces.append(_dots(won, fitness, "tested in the proof", **diamond))
    return chart.Chart(
        name="memory",
        title=_memory_title(best_within(trials, fitness, baseline), candidates, fitness),
        caption=f"Memtables and block cache at full scale. Dashed: the baseline's "
        f"{format_bytes(baseline)}."
        + (f" Dotted: the budget, {format_bytes(budget)}." if len(marks) > 1 and budget else "")
        + (f" Trials below the plot: {below}." if below else "")
        + chart.thinned_words(len(shown), len(candidates)),
        traces=traces,
        x=chart.axis("memory, MiB", rangemode="tozero"),
        y=chart.axis("fitness, 0 = baseline", zeroline=False, range=bounds),
        shapes=[*marks, chart.line_at(0.0, dash="dash")],
    )


def _candidates(trials: Sequence[Trial], fitness: Mapping[int, float]) -> list[Trial]:
    new = (trial for trial in trials if trial.purpose is Purpose.CANDIDATE)
    return [trial for trial in new if trial.number in fitness and "memory" in trial.metrics]


def _memory_title(
    within: Trial | None, candidates: Sequence[Trial], fitness: Mapping[int, float]
) -> str:
    if within is None:
        return "No configuration stayed within the baseline's memory"
    fittest = max(candidates, key=lambda trial: fitness[trial.number])
    if fittest is within:
        return (
            f"The best single run, trial {fittest.number}, needs no more memory than the baseline"
        )
    return (
        f"Within the baseline's memory trial {within.number} is best "
        f"({fitness[within.number]:.0f}); trial {fittest.number} reaches "
        f"{fitness[fittest.number]:.0f} with {format_bytes(fittest.metrics['memory'])}"
    )


def _dots(
    trials: Sequence[Trial], fitness: Mapping[int, float], name: str, **marker: object
) -> chart.Trace:
    places = {t.number: (t.metrics["memory"] / _MIB, fitness[t.number]) for t in trials}
    return chart.trial_dots(name, places, "%{y:.0f} with %{x:.4g} MiB", **marker)
