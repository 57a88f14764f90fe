"""What is better: the paper's fitness by default, weights and limits of one's own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

Direction = Literal["min", "max"]
SCALE = 1000.0
_MOST_GAIN = 1e4
# Far below any fitness that can be measured.
_PARTIAL, _BROKEN = 1e13, 1e15


@dataclass(frozen=True)
class Term:
    """One metric of the fitness: which way is better, and how much it weighs."""

    metric: str
    direction: Direction
    weight: float = 1.0

    def gain(self, value: float, baseline: float) -> float:
        """The relative change against the baseline, positive when better."""
        change = (value - baseline) / abs(baseline) if baseline else value - baseline
        change = max(-_MOST_GAIN, min(change, _MOST_GAIN))  # a baseline near 0 gives infinity
        return change if self.direction == "max" else -change


@dataclass(frozen=True)
class Limit:
    """A metric that must stay at or within a bound, whatever the fitness."""

    metric: str
    at_most: float = math.inf
    at_least: float = -math.inf

    def holds(self, metrics: Mapping[str, float]) -> bool:
        """Whether a measurement keeps the limit; one that lacks the metric does not."""
        value = metrics.get(self.metric)
        return value is not None and self.at_least <= value <= self.at_most


@dataclass(frozen=True)
class Objective:
    """Eq. 2 of Jin et al. (JIPS 2022) over chosen metrics, each term with a weight.

    ``fitness = 1000 * sum of weight * relative gain``: 0 is the baseline, higher is better. A term
    of a metric to be raised is unbounded, one of a metric to be lowered is at most its weight, so
    the terms are always shown beside the sum.
    """

    name: str
    terms: tuple[Term, ...]
    limits: tuple[Limit, ...] = ()
    pareto: bool = False
    help: str = ""

    def gains(
        self, metrics: Mapping[str, float], baseline: Mapping[str, float]
    ) -> dict[str, float]:
        """Each term times 1000, weight included; those that can be computed."""
        return {
            term.metric: SCALE
            * term.weight
            * term.gain(metrics[term.metric], baseline[term.metric])
            for term in self.terms
            if term.metric in metrics and term.metric in baseline
        }

    def fitness(self, metrics: Mapping[str, float], baseline: Mapping[str, float]) -> float | None:
        """The fitness; None where a metric is missing."""
        gains = self.gains(metrics, baseline)
        return sum(gains.values()) if len(gains) == len(self.terms) else None

    def admissible(self, metrics: Mapping[str, float]) -> bool:
        """Whether every limit holds."""
        return all(limit.holds(metrics) for limit in self.limits)

    def rank_value(self, metrics: Mapping[str, float], baseline: Mapping[str, float]) -> float:
        """A number to sort measurements by, broken limits and partial ones at the end.

        A trial that was cut off has bounds for some terms and nothing for others; counting the
        missing as no gain, they are sorted among themselves, below all whole measurements.
        """
        fitness = self.fitness(metrics, baseline)
        if fitness is None:
            return min(sum(self.gains(metrics, baseline).values()), 0.0) - _PARTIAL
        return fitness if self.admissible(metrics) else fitness - _BROKEN


def pareto_front(points: Mapping[int, Mapping[str, float]], terms: tuple[Term, ...]) -> list[int]:
    """The keys of the measurements that no other is at least as good as in every term."""

    def vector(metrics: Mapping[str, float]) -> tuple[float, ...]:
        return tuple(
            metrics[t.metric] if t.direction == "max" else -metrics[t.metric] for t in terms
        )

    keys = [k for k, metrics in points.items() if all(t.metric in metrics for t in terms)]
    if not keys:
        return []
    values = np.array([vector(points[key]) for key in keys])
    # Best first in the first term: whatever beats a point stands before it, or is on the front.
    order = np.lexsort(tuple(-values.T[::-1]))
    front = values[:0]
    kept: list[int] = []
    for place in order:
        mine = values[place]
        beaten = ((front >= mine).all(axis=1) & (front > mine).any(axis=1)).any()
        if not beaten:
            kept.append(int(place))
            front = values[kept]
    return [keys[place] for place in sorted(kept)]
