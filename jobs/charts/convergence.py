"""Convergence: the fitness of trial after trial, the best so far, and what is only noise."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from jobs.charts import chart
from optimizer.trials.trial import Phase, Purpose, Trial

_NAMED = (Phase.SAMPLE, Phase.SEARCH, Phase.CONFIRM)
_NOISE = "Band: two standard deviations of the baseline's own fitness"
_CROSSES = {
    "name": "breaks a limit",
    "marker": {"color": "@faint", "size": 6, "symbol": "x"},
}


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
    """The plot of a job; None if no new configuration ended well within the limits.

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
    best = max(points, key=lambda point: point[1])
    floor = chart.lowest_fitness([value for _, value in points])
    last = max(trial.number for trial in trials)
    lines, labels = _phases(trials)
    inside = [point for point in points if point[1] >= floor]
    shown = chart.thinned(inside)
    crossed = [point for point in broken if point[1] >= floor]
    below = [number for number, value in points if value < floor]
    return chart.Chart(
        name="convergence",
        title=_title(best, noise, points),
        caption="Dots: single runs of new configurations, clocks corrected for drift; line: best "
        "so far. The best of many single runs is partly luck: the proof decides."
        + chart.again_words(again)
        + ("" if noise is None else f" {_NOISE}, ±{2 * noise:.0f}.")
        + (f" Triangles: {len(below)} far below." if below else "")
        + (f" Crosses: {len(broken):,} broke a limit and do not count." if broken else "")
        + chart.thinned_words(len(shown), len(inside)),
        traces=[
            *([_dots(chart.thinned(crossed)) | _CROSSES] if crossed else []),
            _dots(shown),
            chart.step_line(
                "best so far",
                _best_so_far(points),
                last,
                "@second",
                "best up to trial %{x}: %{y:.0f}",
            ),
            *_outside(below, floor),
        ],
        layout={
            "xaxis": chart.axis("trial", range=[0, last + 1]),
            "yaxis": chart.axis("fitness, 0 = baseline", zeroline=False),
            "shapes": [*lines, *bands, chart.line_at(0.0, dash="dash")],
            "annotations": labels,
        },
        height=400,
    )


def _title(
    best: tuple[int, float], noise: float | None, points: Sequence[tuple[int, float]]
) -> str:
    number, value = best
    if noise is not None and value <= 2 * noise:
        return f"No single run rose above the noise of the baseline; the best was trial {number}"
    best_at = next(i for i, point in enumerate(points, start=1) if point[0] == number)
    return f"The best single run was trial {number}, new configuration {best_at} of {len(points)}"


def _dots(points: Sequence[tuple[int, float]]) -> chart.Trace:
    marker = {"color": "@accent", "size": 6, "opacity": 0.5}
    return chart.scatter_trace(
        "configuration", points, hover="trial %{x}: %{y:.0f}", marker=marker
    )


def _best_so_far(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    steps: list[tuple[int, float]] = []
    for number, value in points:
        if not steps or value > steps[-1][1]:
            steps.append((number, value))
    return steps


def _outside(numbers: Sequence[int], floor: float) -> list[chart.Trace]:
    shown = chart.thinned(numbers, 500)
    if not shown:
        return []
    return [
        chart.scatter_trace(
            "far below",
            [(number, floor) for number in shown],
            marker={"color": "@dim", "size": 6, "symbol": "triangle-down"},
            hover="trial %{x}: lower than drawn",
        )
    ]


def _phases(trials: Sequence[Trial]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Lines where phases begin, and their names."""
    lines, labels = [], []
    for phase in _NAMED:
        numbers = [trial.number for trial in trials if trial.phase is phase]
        if numbers:
            first, last = min(numbers), max(numbers)
            lines.append(chart.line_at(first - 0.5, across="x", color="@line", dash="solid"))
            at = {"yref": "paper", "yanchor": "bottom"}
            labels.append(chart.text_at(phase.value, (first + last) / 2, 0, **at))
    return lines, labels
