"""What the winners come to, seed by seed and over seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import t as student

from optimizer.objective.objective import Objective
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Purpose
from sampler.runner.outcome import TrialState
from sampler.space.space import Configuration
from studies.real_search.book import Book
from studies.real_search.side_by_side import BASELINE, set_of, winners


@dataclass(frozen=True)
class Interval:
    """A mean over seeds, and where it lies by Student's t at 95%; None of a single seed."""

    mean: float
    low: float | None
    high: float | None
    seeds: int


def interval_of(values: Sequence[float]) -> Interval:
    """Of at least one value."""
    array = np.array(values, dtype=float)
    mean = float(array.mean())
    if len(array) < 2:
        return Interval(mean, None, None, len(array))
    error = float(array.std(ddof=1)) / math.sqrt(len(array))
    half = float(student.ppf(0.975, len(array) - 1)) * error
    return Interval(mean, mean - half, mean + half, len(array))


def change_of(ratios: Sequence[float]) -> Interval:
    """The geometric mean of ratios as a change in percent."""
    found = interval_of(np.log(ratios).tolist())

    def percent(logarithm: float | None) -> float | None:
        return None if logarithm is None else 100 * math.expm1(logarithm)

    mean = 100 * math.expm1(found.mean)
    return Interval(mean, percent(found.low), percent(found.high), found.seeds)


@dataclass(frozen=True)
class Winner:
    """A strategy's winner under one seed, measured beside the others.

    Attributes:
        fitness: Of the medians of its runs against those of the baseline's.
        ratios: By metric: its median over the baseline's.
        runs, failed: Rounds that ended well, and that did not.
        chosen_at: The fitness that it was chosen for; None where it was not measured whole.
    """

    seed: int
    strategy: str
    fitness: float
    ratios: Mapping[str, float]
    runs: int
    failed: int
    chosen_at: float | None


def winners_of(book: Book, problem: Problem, rounds: int) -> list[Winner]:
    """The winners of the problem's seed; none while a round is missing.

    A winner that never ended well is left out; the page counts the seeds of each strategy.
    """
    at = {row["strategy"]: row["fitness"] for row in book.rows("choice", seed=problem.seed)}
    return judged_again(book, problem, winners(book, problem), rounds, at)


def judged_again(
    book: Book,
    problem: Problem,
    chosen: Mapping[str, Configuration],
    rounds: int,
    at: Mapping[str, float | None],
) -> list[Winner]:
    """What configurations came to side by side; see ``winners_of``.

    Args:
        book: Where their rounds are.
        problem: Whose seed they have.
        chosen: By name.
        rounds: How many there must be.
        at: By name the fitness that each was chosen for.
    """
    rows = list(book.rows("again", seed=problem.seed, set=set_of(chosen)))
    if not chosen or len(rows) < rounds * (len(chosen) + 1):
        return []
    level = _medians(rows, BASELINE)
    found = []
    for name in chosen:
        metrics, mine = _medians(rows, name), [row for row in rows if row["subject"] == name]
        fitness = problem.objective.fitness(metrics, level)
        if fitness is None:
            continue
        ratios = {metric: metrics[metric] / level[metric] for metric in metrics}
        done = len(_done(mine))
        found.append(Winner(problem.seed, name, fitness, ratios, done, len(mine) - done, at[name]))
    return found


def _done(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["state"] == TrialState.DONE]


def _medians(rows: Sequence[Mapping[str, Any]], subject: str) -> dict[str, float]:
    runs = [row["metrics"] for row in _done(rows) if row["subject"] == subject]
    names = set.intersection(*(set(run) for run in runs)) if runs else set()
    return {name: float(np.median([run[name] for run in runs])) for name in sorted(names)}


def scatter_of_baseline(book: Book, seed: int, metrics: Sequence[str]) -> dict[str, float]:
    """How noisy the machine was: a metric's standard deviation over its mean, in percent.

    Over the runs of the baseline in the searches of a seed, of all strategies; a metric that
    fewer than two runs have is left out.
    """
    rows = _done(list(book.rows("trial", seed=seed, purpose=Purpose.BASELINE)))
    found = {}
    for name in metrics:
        values = [row["metrics"][name] for row in rows if name in row["metrics"]]
        if len(values) > 1:
            found[name] = 100 * float(np.std(values, ddof=1) / np.mean(values))
    return found


def by_strategy(found: Sequence[Winner]) -> dict[str, list[Winner]]:
    """The winners of each strategy, the strategy with the best mean fitness first."""
    groups: dict[str, list[Winner]] = {}
    for winner in found:
        groups.setdefault(winner.strategy, []).append(winner)
    means = {name: np.mean([w.fitness for w in group]) for name, group in groups.items()}
    return {name: groups[name] for name in sorted(groups, key=lambda name: -means[name])}


def apart(cases: Sequence[Sequence[Winner]]) -> list[Winner]:
    """The winners of several cases, where a seed of one is no seed of another.

    What is compared within a seed was measured side by side.
    """
    return [
        replace(winner, seed=len(cases) * winner.seed + place)
        for place, winners in enumerate(cases)
        for winner in winners
    ]


def ahead(found: Sequence[Winner], one: str, other: str) -> list[float]:
    """By how much one strategy's winner beats another's of the same seed, in fitness."""
    mine = {w.seed: w.fitness for w in found if w.strategy == one}
    theirs = {w.seed: w.fitness for w in found if w.strategy == other}
    return [mine[seed] - theirs[seed] for seed in sorted(mine.keys() & theirs.keys())]


def compared(objective: Objective) -> list[str]:
    """The metrics of the fitness."""
    return [term.metric for term in objective.terms]
