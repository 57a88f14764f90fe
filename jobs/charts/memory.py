"""Gain against memory: a configuration that needs more memory is no free victory."""

from collections.abc import Mapping, Sequence

from jobs.charts import chart
from optimizer.trials.trial import Purpose, Trial
from sampler.common.byte_size import format_bytes

_MIB = 2.0**20


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
    """Fitness over memory of all new configurations; None where the benchmark tells no memory.

    ``baseline`` is in bytes, None if unknown; so is the ``budget``, None: as much as the baseline.
    ``winner`` is the number of the trial that went into the proof.
    """
    candidates = _candidates(trials, fitness)
    if not candidates or not baseline:
        return None
    shown = chart.thinned(candidates)
    bounds = _range(candidates, fitness)
    below = sum(fitness[trial.number] < bounds[0] for trial in candidates)
    marks = [chart.line_at(baseline / _MIB, across="x", dash="dash", color="@ink")]
    if budget is not None and budget != baseline:
        marks.append(chart.line_at(budget / _MIB, across="x", dash="dot", color="@second"))
    others = [t for t in shown if t.number != winner]
    traces = [_dots(others, fitness, "configuration", color="@accent", size=7, opacity=0.5)]
    if won := [t for t in candidates if t.number == winner]:
        diamond = {"color": "@second", "size": 13, "symbol": "diamond"}
        traces.append(_dots(won, fitness, "went into the proof", **diamond))
    return chart.Chart(
        name="memory",
        title=_title(best_within(trials, fitness, baseline), candidates, fitness),
        caption=f"Memtables and block cache at full scale. Dashed: the baseline's "
        f"{format_bytes(baseline)}."
        + (f" Dotted: the budget, {format_bytes(budget)}." if len(marks) > 1 and budget else "")
        + (f" {below} lie below the plot." if below else "")
        + chart.thinned_words(len(shown), len(candidates)),
        traces=traces,
        layout={
            "xaxis": chart.axis("memory, MiB", rangemode="tozero"),
            "yaxis": chart.axis("fitness, 0 = baseline", zeroline=False, range=bounds),
            "shapes": [*marks, chart.line_at(0.0, dash="dash")],
        },
    )


def _candidates(trials: Sequence[Trial], fitness: Mapping[int, float]) -> list[Trial]:
    return [
        trial
        for trial in trials
        if trial.purpose is Purpose.CANDIDATE
        and trial.number in fitness
        and "memory" in trial.metrics
    ]


def _range(candidates: Sequence[Trial], fitness: Mapping[int, float]) -> list[float]:
    values = [fitness[trial.number] for trial in candidates]
    high, low = max(*values, 100.0), chart.lowest_fitness(values)
    return [low - 0.05 * (high - low), high + 0.08 * (high - low)]


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
    return chart.trial_dots(name, places, "%{text}: %{y:.0f} with %{x:.4g} MiB", **marker)
