"""A population that evolves on a model: finds points of the cube where a function is high.

DEAP's operators on latent coordinates. Parameters that matter more move more often, and none is
left out: an option that seems to do nothing may do something elsewhere.
"""

from collections.abc import Callable, Sequence
from random import Random
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from deap import base, tools

from models import Floats

_KEPT, _CHILDREN, _GENERATIONS = 24, 48, 12
_MOVES = 2.0  # coordinates that a mutation moves, on average
_FLOOR = 0.3  # share of the moves that goes to all parameters alike
_STEP = 0.12
_LARGEST = float(np.nextafter(1.0, 0.0))


class _Fitness(base.Fitness):  # type: ignore[misc]
    weights = (1.0,)


class Individual(list[float]):
    """Latent coordinates as DEAP takes them, and their value or values, to be raised."""

    def __init__(self, genes: Sequence[float], fitness: base.Fitness | None = None) -> None:
        super().__init__(genes)
        self.fitness = _Fitness() if fitness is None else fitness


def evolve(
    function: Callable[[Floats], Floats], start: Floats, matters: Floats, *, seed: int
) -> Floats:
    """At most 24 points, shape ``(24, n_names)``, where a function is high, the highest first.

    The function takes points, shape ``(m, n_names)``, to values, shape ``(m,)``; it is searched
    from ``start``, ``(s, n_names)``. ``matters``, not negative, is how much each coordinate does.
    """
    rng = np.random.default_rng(seed)
    even = np.full(len(matters), 1 / len(matters))
    share = matters / matters.sum() if matters.any() else even
    often = _FLOOR * even + (1 - _FLOOR) * share
    population = _judged(function, [Individual(row) for row in start.tolist()])
    coins = Random(seed)
    selection, crossover = (drawing_from(coins, m) for m in (tools.selection, tools.crossover))

    def child() -> Individual:
        mother, father = selection.selTournament(population, 2, tournsize=3)
        born = Individual(mother)
        if coins.random() < 0.5:
            born, _ = crossover.cxUniform(born, Individual(father), 0.5)
        return _mutated(born, often, rng)

    for _ in range(_GENERATIONS):
        children = [child() for _ in range(_CHILDREN)]
        population = tools.selBest([*population, *_judged(function, children)], _KEPT)
    return np.array(population)


def _judged(
    function: Callable[[Floats], Floats], individuals: list[Individual]
) -> list[Individual]:
    values = function(np.array(individuals))
    for individual, value in zip(individuals, values.tolist(), strict=True):
        individual.fitness.values = (value,)
    return individuals


def _mutated(child: Individual, often: Floats, rng: np.random.Generator) -> Individual:
    moved = np.flatnonzero(rng.random(len(often)) < _MOVES * often)
    if moved.size == 0:
        moved = rng.choice(len(often), size=1, p=often)
    for place in moved.tolist():
        child[place] = _moved(child[place], rng)
    return child


def _moved(value: float, rng: np.random.Generator) -> float:
    """A step, reflected at the ends of the range; or somewhere else altogether."""
    if rng.random() < 0.5:
        return float(rng.random())
    stepped = abs(value + _STEP * rng.standard_normal()) % 2.0
    return min(2.0 - stepped if stepped > 1.0 else stepped, _LARGEST)


def drawing_from(coins: Random, operators: ModuleType) -> Any:
    """The functions of one of DEAP's modules, such as ``tools.crossover``, on this generator.

    DEAP draws from the one generator of the process and takes no other (its issue 349). Whoever
    seeds that and puts it back shares it with all other threads. So the functions are copied, with
    a namespace of their own in which ``random`` is ``coins``: nothing is shared, and what they
    draw is what they would draw from the process's generator with the same seed.
    """
    namespace: dict[str, Any] = {**vars(operators), "random": coins}
    for name, value in vars(operators).items():
        if isinstance(value, FunctionType) and value.__module__ == operators.__name__:
            namespace[name] = FunctionType(
                value.__code__, namespace, name, value.__defaults__, value.__closure__
            )
    return SimpleNamespace(**namespace)
