"""The proof: winner against baseline on fresh runs, by one test declared beforehand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from optimizer.objective import Objective

CONFIDENCE = 0.95
# One-sided: the probability of calling a configuration better that is not. With it the test
# passes just when the fitness's 95% interval lies above 0.
ALPHA = 0.025
LEAST_PAIRS = 3


@dataclass(frozen=True)
class Change:
    """How a metric of the winner differs from the baseline's.

    Attributes:
        percent: Signed change: geometric mean of the pairs' ratios, less 1, in percent.
        low, high: Its 95% interval.
        p: Two-sided p-value of no change.
    """

    percent: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Verdict:
    """What the fresh runs say.

    Attributes:
        confirmed: Whether the declared test passed.
        fitness: Of the medians of the fresh runs.
        low, high: 95% interval of the mean fitness of a pair.
        p: One-sided p-value of "the mean fitness of a pair is not above 0".
        pairs: How many pairs ended well on both sides.
        why: One line: what was tested and how it came out.
    """

    confirmed: bool
    fitness: float
    low: float
    high: float
    p: float
    pairs: int
    baseline: Mapping[str, float]
    winner: Mapping[str, float]
    changes: Mapping[str, Change]
    why: str


Pair = tuple[Mapping[str, float], Mapping[str, float]]


def declared_test(objective: Objective, winner: int, pairs: int) -> dict[str, Any]:
    """The one test that decides, written down before its runs are made."""
    return {
        "winner": winner,
        "objective": objective.name,
        "statistic": "mean over pairs of the fitness of the winner's run against the baseline's",
        "test": "one-sample t, one-sided: greater than 0",
        "alpha": ALPHA,
        "pairs": pairs,
    }


def judge(objective: Objective, pairs: Sequence[Pair], *, planned: int) -> Verdict | None:
    """Judges the fresh runs.

    Neighbours in time are compared, so a machine that drifts slows both sides of a pair alike.

    Args:
        objective: What is better.
        pairs: (baseline's metrics, winner's metrics) of runs made one after the other, those
            pairs of which both ended well.
        planned: How many pairs were declared.

    Returns:
        None with fewer than two pairs. With fewer than ``LEAST_PAIRS``, or when a run of the
        winner broke a limit of the objective, nothing is confirmed.
    """
    if len(pairs) < 2:
        return None
    baseline = _medians([pair[0] for pair in pairs])
    winner = _medians([pair[1] for pair in pairs])
    each = [objective.fitness(mine, theirs) for theirs, mine in pairs]
    values = np.array([value for value in each if value is not None])
    if len(values) < 2:
        return None
    mean, half, p = _greater_than_zero(values)
    broken = [i for i, (_, mine) in enumerate(pairs, start=1) if not objective.admissible(mine)]
    enough = len(values) >= LEAST_PAIRS
    confirmed = enough and not broken and bool(p < ALPHA)
    why = (
        f"mean fitness of {len(values)} pairs {mean:.0f}, one-sided p = {p:.2g}, "
        f"{'below' if p < ALPHA else 'not below'} the declared {ALPHA:g}"
    )
    if broken:
        why += f"; a limit of the objective was broken in pair {broken[0]}"
    if not enough:
        why += f"; only {len(values)} of {planned} pairs ended well, {LEAST_PAIRS} are needed"
    return Verdict(
        confirmed=confirmed,
        fitness=objective.fitness(winner, baseline) or 0.0,
        low=mean - half,
        high=mean + half,
        p=p,
        pairs=len(values),
        baseline=baseline,
        winner=winner,
        changes={
            name: change([(b[name], w[name]) for b, w in pairs])
            for name in winner
            if name in baseline
        },
        why=why,
    )


def change(pairs: Sequence[tuple[float, float]]) -> Change:
    """The change from the first to the second of each pair, from the t distribution of log ratios.

    Where a value is not above 0 there is no ratio: then differences over the baseline's mean.

    Args:
        pairs: (baseline, winner), at least two.
    """
    values = np.array(pairs, dtype=np.float64)
    if (values > 0).all():
        mean, half, p = _t(np.log(values[:, 1]) - np.log(values[:, 0]))

        def percent(log: float) -> float:
            return 100 * math.expm1(min(log, 700.0))

        return Change(percent(mean), percent(mean - half), percent(mean + half), p)
    level = abs(float(values[:, 0].mean())) or 1.0
    mean, half, p = _t((values[:, 1] - values[:, 0]) / level)
    return Change(100 * mean, 100 * (mean - half), 100 * (mean + half), p)


def _medians(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = [name for name in runs[0] if all(name in run for run in runs)]
    return {name: float(np.median([run[name] for run in runs])) for name in names}


def _t(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Mean, half of the 95% interval, and two-sided p of a zero mean."""
    mean, error = float(values.mean()), float(stats.sem(values))
    if error <= 1e-12 * max(abs(mean), 1e-300):  # counters can be the same to the byte
        return mean, 0.0, 1.0 if mean == 0 else 0.0
    half = error * float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1))
    return mean, half, float(2 * stats.t.sf(abs(mean) / error, len(values) - 1))


def _greater_than_zero(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Mean, half of the 95% interval, and one-sided p of a mean not above zero."""
    mean, half, p = _t(values)
    return mean, half, p / 2 if mean > 0 else 1 - p / 2
