"""NSGA-II (Deb et al., IEEE Trans. Evol. Comput. 6(2), 2002) with one birth at a time.

Each term of the fitness is an objective of its own. A child is made from the best candidates
that have ended, as soon as a host is free, so that no generation is waited for. Operators and
rates are the paper's: simulated binary crossover at 0.9 and polynomial mutation of one coordinate
in the mean, both with a distribution index of 20. Categories have no order, so parents swap them
at even odds and a mutation draws anew.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from random import Random

from deap import base, tools

from optimizer.strategies.draws import Axis, Observation, Observations
from optimizer.strategies.guided import Individual, drawing_from
from sampler.space.latent import Point

POPULATION = 20
LEAST_PARENTS = 4  # a tournament is between two pairs
_CHILDREN = 50  # attempts at a child that was never measured
_CROSSOVER = 0.9
_ETA = 20.0


class _Gains(base.Fitness):  # type: ignore[misc]
    """All terms, each to be raised; whoever keeps the limits beats whoever breaks them."""

    def __init__(self, values: Sequence[float], admissible: bool) -> None:
        self.weights = (1.0,) * len(values)
        super().__init__(values)
        self.admissible = admissible

    def dominates(self, other: _Gains, obj: slice = slice(None)) -> bool:
        """The paper's constrained domination, all broken limits being equally bad."""
        if self.admissible != other.admissible:
            return self.admissible
        return bool(super().dominates(other, obj))


def nsga2(axes: Sequence[Axis], observations: Observations, *, seed: int) -> Iterator[Point]:
    """Children of the fittest; see ``draws.Suggest``."""
    parents = survivors(axes, observations.ended)
    if len(parents) < LEAST_PARENTS:
        return
    rng = Random(seed)
    for _ in range(_CHILDREN):
        coins = Random(rng.getrandbits(63))
        tournament = drawing_from(coins, tools.emo).selTournamentDCD
        mother, father = tournament(parents, LEAST_PARENTS)[:2]
        child = _child(axes, mother, father, rng, coins)
        yield {
            axis.name: axis.coordinate(axis.level(u) if axis.levels else u)
            for axis, u in zip(axes, child, strict=True)
        }


def survivors(axes: Sequence[Axis], ended: Sequence[Observation]) -> list[Individual]:
    """The best by non-dominated rank, then crowding distance; broken limits only to fill up.

    At most ``POPULATION`` of the candidates that have ended, each with its crowding distance;
    those that were not measured whole have no children.
    """
    found: list[Individual] = []
    for admissible in (True, False):
        group = [
            Individual([each.point[axis.name] for axis in axes], _Gains(each.gains, admissible))
            for each in ended
            if each.gains is not None and each.admissible is admissible
        ]
        found += _selected(group, POPULATION - len(found))
    return found


def _selected(group: list[Individual], count: int) -> list[Individual]:
    if not group or count <= 0:
        return []
    if len(group[0].fitness.values) == 1:  # a front is a value, and the quick sort fails
        group = heapq.nlargest(count, group, key=lambda each: each.fitness.values)
        return list(tools.selNSGA2(group, count))
    return list(tools.selNSGA2(group, count, nd="log"))


def _child(
    axes: Sequence[Axis],
    mother: Sequence[float],
    father: Sequence[float],
    rng: Random,
    coins: Random,
) -> list[float]:
    """One of two children of a crossover, mutated; DEAP's operators draw from ``coins``."""
    ranges = [place for place, axis in enumerate(axes) if not axis.levels]
    one, two = [mother[i] for i in ranges], [father[i] for i in ranges]
    crossed = rng.random() < _CROSSOVER
    if crossed:
        drawing_from(coins, tools.crossover).cxSimulatedBinaryBounded(one, two, _ETA, 0.0, 1.0)
    rate = 1 / len(axes)
    drawing_from(coins, tools.mutation).mutPolynomialBounded(one, _ETA, 0.0, 1.0, rate)
    child = list(mother)
    for place, value in zip(ranges, one, strict=True):
        child[place] = value
    for place, axis in enumerate(axes):
        if axis.levels and crossed and rng.random() < 0.5:
            child[place] = father[place]
        if axis.levels and rng.random() < rate:
            child[place] = rng.random()
    return child
