"""The best that exists, as far as a long search of the noiseless function finds it.

Many draws, then from each of the best a local search: of a round's mutants the best replaces its
parent where it is better. Mutants change one to four coordinates, half of them anew and half by a
step that shrinks from round to round. It asks the truth directly, which no strategy can.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sampler.rocksdb.parameters import Value
from studies.search.function import TestFunction

Floats = NDArray[np.float64]
_BELOW_ONE = np.nextafter(1.0, 0.0)


@dataclass(frozen=True)
class Effort:
    """How long it searches: `draws + starts * rounds * mutants` evaluations."""

    draws: int = 10_000
    starts: int = 12
    rounds: int = 40
    mutants: int = 60

    @property
    def evaluations(self) -> int:
        """Of the noiseless function."""
        return self.draws + self.starts * self.rounds * self.mutants


@dataclass(frozen=True)
class Best:
    """What was found.

    Attributes:
        fitness: True, above 0 is better than the baseline.
        starts: The fitness at which each local search ended, the best first: where they differ
            much, a longer search would find more.
    """

    fitness: float
    configuration: Mapping[str, Value]
    starts: tuple[float, ...]


def search_best(function: TestFunction, effort: Effort, *, seed: int = 0) -> Best:
    """Searches the noiseless function."""
    rng = np.random.default_rng(seed)
    dimensions = len(function.problem.space.names)
    points = rng.random((effort.draws, dimensions))
    values = _fitness(function, points)
    chosen = np.argsort(-values)[: effort.starts]
    points, values = points[chosen], values[chosen]
    for turn in range(effort.rounds):
        step = 0.3 * (1 - turn / effort.rounds) + 0.01
        mutants = np.concatenate([_mutants(p, effort.mutants, step, rng) for p in points])
        found = _fitness(function, mutants).reshape(len(points), effort.mutants)
        best = found.argmax(axis=1)
        rows = np.arange(len(points))
        better = found[rows, best] > values
        points = np.where(better[:, None], mutants[rows * effort.mutants + best], points)
        values = np.maximum(values, found[rows, best])
    order = np.argsort(-values)
    configuration = function.problem.configuration(_point(function, points[order[0]]))
    return Best(float(values[order[0]]), configuration, tuple(values[order].tolist()))


def _mutants(parent: Floats, count: int, step: float, rng: np.random.Generator) -> Floats:
    mutants = np.tile(parent, (count, 1))
    for row in mutants:
        moved = rng.choice(len(parent), rng.integers(1, min(5, len(parent) + 1)), replace=False)
        anew = rng.random(len(moved)) < 0.5
        near = row[moved] + step * rng.standard_normal(len(moved))
        row[moved] = np.where(anew, rng.random(len(moved)), np.clip(near, 0.0, _BELOW_ONE))
    return mutants


def _fitness(function: TestFunction, points: Floats) -> Floats:
    configurations = [function.problem.configuration(_point(function, row)) for row in points]
    return function.fitness(configurations)


def _point(function: TestFunction, row: Floats) -> dict[str, float]:
    return dict(zip(function.problem.space.names, row.tolist(), strict=True))
