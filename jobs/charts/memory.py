"""Gain against memory: a configuration that needs more memory is no free victory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jobs.charts import chart
from optimizer.trials.trial import Purpose, Trial
from sampler.common.byte_size import format_bytes

_MIB = 2.0**20


@dataclass(frozen=True)
class WithinMemory:
    """The best single run that uses no more memory than the baseline."""

    trial: int
    fitness: float
    memory: float


def best_within(
    trials: Sequence[Trial], fitness: Mapping[int, float], baseline: float
) -> WithinMemory | None:
    """The fittest new configuration within the baseline's memory; None if there is none."""
    found = [
        WithinMemory(t.number, fitness[t.number], t.metrics["memory"])
        for t in _candidates(trials, fitness)
        if t.metrics["memory"] <= baseline
    ]
    return max(found, key=lambda each: each.fitness, default=None)


def memory_chart(
    trials: Sequence[Trial],
    fitness: Mapping[int, float],
    *,
    baseline: float | None,
    budget: float | None,
    winner: int | None,
) -> chart.Chart | None:
    """Fitness over memory of all new configurations; None where the benchmark tells no memory.

    Args:
        trials: By number.
        fitness: By trial's number.
        baseline: Bytes that the baseline may hold; None if unknown.
        budget: Bytes that were allowed; None: as much as the baseline.
        winner: The number of the trial that went into the proof.
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
    traces = [_dots([t for t in shown if t.number != winner], fitness, "configuration")]
    won = [t for t in candidates if t.number == winner]
    if won:
        dots = _dots(won, fitness, "went into the proof")
        traces.append(dots | {"marker": {"color": "@second", "size": 13, "symbol": "diamond"}})
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
    high = max(*values, 100.0)
    best = max(values)
    low = max(min(values), min(best, 0.0) - max(1000.0, 1.5 * abs(best)))
    return [low - 0.05 * (high - low), high + 0.08 * (high - low)]


def _title(
    within: WithinMemory | None, candidates: Sequence[Trial], fitness: Mapping[int, float]
) -> str:
    if within is None:
        return "No configuration stayed within the baseline's memory"
    best = max(candidates, key=lambda trial: fitness[trial.number])
    if best.number == within.trial:
        return f"The best single run, trial {best.number}, needs no more memory than the baseline"
    needed = best.metrics["memory"]
    return (
        f"Within the baseline's memory trial {within.trial} is best ({within.fitness:.0f}); trial "
        f"{best.number} reaches {fitness[best.number]:.0f} with {format_bytes(needed)}"
    )


def _dots(trials: Sequence[Trial], fitness: Mapping[int, float], name: str) -> chart.Trace:
    return chart.scatter_trace(
        name,
        [chart.short(trial.metrics["memory"] / _MIB) for trial in trials],
        [chart.short(fitness[trial.number]) for trial in trials],
        text=[f"trial {trial.number}" for trial in trials],
        marker={"color": "@accent", "size": 7, "opacity": 0.5},
        hover="%{text}: %{y:.0f} with %{x:.4g} MiB",
    )
