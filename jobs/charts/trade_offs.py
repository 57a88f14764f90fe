"""What is won against what is paid: the Pareto front, its growth, and gain against memory."""

from collections.abc import Collection, Mapping, Sequence

from jobs.charts import chart
from optimizer.objective.objective import Term, pareto_front
from optimizer.trials.trial import Purpose, Trial
from sampler.common.byte_size import format_bytes
from sampler.workload.metric_table import better

Points = Mapping[int, Mapping[str, float]]
_MIB = 2.0**20


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
        title=_title(best_within(trials, fitness, baseline), candidates, fitness),
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
    return [
        trial
        for trial in trials
        if trial.purpose is Purpose.CANDIDATE
        and trial.number in fitness
        and "memory" in trial.metrics
    ]


def _title(within: Trial | None, candidates: Sequence[Trial], fitness: Mapping[int, float]) -> str:
    if within is None:
        return "No configuration stayed within the baseline's memory"
    best = max(candidates, key=lambda trial: fitness[trial.number])
    if best is within:
        return f"The best single run, trial {best.number}, needs no more memory than the baseline"
    return (
        f"Within the baseline's memory trial {within.number} is best "
        f"({fitness[within.number]:.0f}); trial {best.number} reaches "
        f"{fitness[best.number]:.0f} with {format_bytes(best.metrics['memory'])}"
    )


def _dots(
    trials: Sequence[Trial], fitness: Mapping[int, float], name: str, **marker: object
) -> chart.Trace:
    places = {t.number: (t.metrics["memory"] / _MIB, fitness[t.number]) for t in trials}
    return chart.trial_dots(name, places, "%{y:.0f} with %{x:.4g} MiB", **marker)
