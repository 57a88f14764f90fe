"""What a proof could have shown, whatever it showed: above all, what "not proven better" means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optimizer.budget.power import POWER, smallest_mean
from optimizer.confirmation.confirmation import Pair, differences_of, fitness_by_pair, with_fitness
from optimizer.objective.objective import Objective


@dataclass(frozen=True)
class Sensitivity:
    """The sensitivity of the design, as it was carried out.

    This is not "observed power": that would put the change that was found into the formula, and
    say no more than the p-value does (J. Hoenig, D. Heisey, The American Statistician 55, 2001).
    The scatter of the pairs alone is used, not their mean.

    Attributes:
        level: Probability with which a change of these sizes passes the one-sided test.
        pairs: How many pairs gave a fitness.
        smallest_change: By metric, in percent, of a rise; a fall of as many percent is seen surer.
        fitness: The smallest fitness that passes with that probability.
    """

    level: float
    pairs: int
    smallest_change: Mapping[str, float]
    fitness: float

    def document(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "level": self.level,
            "pairs": self.pairs,
            "smallest_change": dict(self.smallest_change),
            "fitness": self.fitness,
        }


def sensitivity_of(objective: Objective, pairs: Sequence[Pair]) -> Sensitivity | None:
    """What these pairs could have shown.

    Args:
        objective: What is better.
        pairs: (baseline's metrics, winner's metrics), as ``judge`` takes them.

    Returns:
        None with fewer than two pairs that have a fitness: their scatter is not known.
    """
    pairs = with_fitness(objective, pairs)
    if len(pairs) < 2:
        return None
    fitness = fitness_by_pair(objective, pairs)
    sides = [side for pair in pairs for side in pair]
    names = [name for name in pairs[0][0] if all(name in side for side in sides)]
    return Sensitivity(
        level=POWER,
        pairs=len(fitness),
        smallest_change={
            name: _percent([(theirs[name], mine[name]) for theirs, mine in pairs])
            for name in names
        },
        fitness=_smallest(fitness),
    )


def _percent(pairs: Sequence[tuple[float, float]]) -> float:
    differences, logarithmic = differences_of(pairs)
    smallest = _smallest(differences)
    return 100 * (math.expm1(min(smallest, 700.0)) if logarithmic else smallest)


def _smallest(differences: NDArray[np.float64]) -> float:
    scatter = float(differences.std(ddof=1))
    # Counters can be the same to the byte; what is left is rounding.
    if scatter <= 1e-12 * max(abs(float(differences.mean())), 1e-300):
        return 0.0
    return smallest_mean(scatter, len(differences))
