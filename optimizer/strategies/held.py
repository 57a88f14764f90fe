"""What the models hold for points: their fitness, and whether they keep the limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optimizer.surrogate.coordinates import Floats
from optimizer.surrogate.expected_gain import chance_to_keep, fitness_of, likely_metrics
from optimizer.surrogate.surrogate import Surrogate
from optimizer.trials.problem import Problem

# Of what is measured again half would break a limit that it keeps with a chance of one half.
_SURELY_KEPT = 0.8


@dataclass(frozen=True, eq=False)
class Held:
    """What the models hold for points, one a row.

    Attributes:
        fitness: What is likely, shape ``(n,)``.
        chance: That all limits are kept, shape ``(n,)``; 1 without limits.
    """

    fitness: Floats
    chance: Floats

    @property
    def worth(self) -> Floats:
        """The fitness; minus infinity where it is less than 80% sure that all limits are kept."""
        return np.where(self.chance >= _SURELY_KEPT, self.fitness, -np.inf)

    def best_first(self) -> NDArray[np.intp]:
        """The rows by worth, and those that are worth nothing by how nearly they keep limits."""
        return np.lexsort((-self.fitness, -self.chance, -self.worth))


def held_for(
    problem: Problem, surrogate: Surrogate, points: Floats, baseline: Mapping[str, float]
) -> Held:
    """What the models hold for points, shape ``(n, n_names)``, beside the baseline's metrics."""
    prediction, logarithmic = surrogate.predict(points), surrogate.lessons.logarithmic
    likely = likely_metrics(prediction, logarithmic)
    return Held(
        fitness_of(problem.objective, likely, baseline)[0],
        chance_to_keep(problem.objective, prediction, logarithmic, baseline),
    )
