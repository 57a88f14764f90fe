"""How a metric depends on one parameter, or on a pair, in the mean over all the others.

Partial dependence (Friedman, Ann. Statist. 29(5), 2001, section 8.2). Of a sum over parameters and
pairs it needs no sampling: the kernel of an average is the average of the kernel, parameter by
parameter, so the process tells the effect and how sure it is in closed form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from models.gaussian_process.additive_effects import Grid
from models.gaussian_process.additive_kernel import Floats, Settings, likeness
from models.gaussian_process.additive_process import AdditiveProcess


@dataclass(frozen=True, eq=False)
class MainEffect:
    """What the settings of one parameter do, in the mean over all settings of the others.

    Attributes:
        expected: Shape ``(n_settings,)``, in the metric's unit, against the mean of all settings.
        deviation: The same shape: standard deviations.
        variance: Of ``expected`` over the settings as often as they are drawn.
    """

    expected: Floats
    deviation: Floats
    variance: float


@dataclass(frozen=True, eq=False)
class PairEffect:
    """What two parameters do together beyond what each does alone.

    Attributes:
        columns: The two.
        beyond: Shape ``(n_settings of the one, n_settings of the other)``, in the metric's unit.
        variance: Of ``beyond``.
    """

    columns: tuple[int, int]
    beyond: Floats
    variance: float


class Dependence:
    """The effects of a process; those of all parameters and pairs sum to what it expects."""

    def __init__(self, process: AdditiveProcess, known: Settings, grids: Sequence[Grid]) -> None:
        """Averages the kernel over each parameter.

        Args:
            process: Of one metric, fitted to all parameters.
            known: The settings that it was fitted to.
            grids: One a parameter.
        """
        self.process, self.weights = process, [grid.weight for grid in grids]
        columns = [known.of(np.array([column])) for column in range(len(grids))]
        self._cross = [
            likeness(grid.settings, each)[0].astype(np.float64)
            for grid, each in zip(grids, columns, strict=True)
        ]
        self._among = [likeness(g.settings, g.settings)[0].astype(np.float64) for g in grids]
        size = process.shares.parameters
        parts = list(zip(size, self.weights, self._cross, self._among, strict=True))
        self._mean = np.array([s * (w @ cross) for s, w, cross, _ in parts])
        self._mean_of_mean = np.array([s * (w @ among @ w) for s, w, _, among in parts])

    def main(self, column: int) -> MainEffect:
        """The effect of one parameter."""
        from scipy.linalg import solve_triangular

        shares, weight = self.process.shares, self.weights[column]
        size = shares.parameters[column]
        # The level and all that the other parameters do is the same at every setting of this one.
        others = self._mean.sum(axis=0) - self._mean[column]
        rest = float(self._mean_of_mean.sum() - self._mean_of_mean[column])
        cross = size * self._cross[column] * (1.0 + shares.pairs * others)
        among = size * self._among[column] * (1.0 + shares.pairs * rest)
        cross = cross - weight @ cross
        among = among - weight @ among
        among = among - (among @ weight)[:, None]
        process = self.process
        reached = solve_triangular(process.factor, cross.T, lower=True, check_finite=False)
        left = np.diag(among) - np.einsum("ng,ng->g", reached, reached)
        expected = process.spread * (cross @ process.solved)
        deviation = process.spread * np.sqrt(np.maximum(left, 0.0))
        return MainEffect(expected, deviation, float(weight @ expected**2))

    def pair(self, one: int, other: int) -> PairEffect:
        """What a pair does beyond the effects of its two parameters."""
        shares = self.process.shares
        strength = shares.pairs * shares.parameters[one] * shares.parameters[other]
        surface = strength * (self.process.solved * self._cross[one]) @ self._cross[other].T
        a, b = self.weights[one], self.weights[other]
        by_one, by_other = surface @ b, a @ surface
        beyond = surface - by_one[:, None] - by_other[None, :] + a @ surface @ b
        beyond = self.process.spread * beyond
        return PairEffect((one, other), beyond, float(a @ beyond**2 @ b))

    def pairs(self) -> list[PairEffect]:
        """All pairs, the strongest first."""
        found = [self.pair(i, j) for i, j in combinations(range(len(self.weights)), 2)]
        return sorted(found, key=lambda each: -each.variance)
