"""Equally likely variance shares of an additive process: how strong effects may be, given values.

The shares that explain values best are not known, least of all from a few dozen trials. Intervals
that take them as known are too narrow. So they are drawn from their posterior by a Metropolis
walk, one share at a time, on the logarithm (Neal, "Monte Carlo implementation of Gaussian process
models", 1997, section 3; the prior on the logarithm is normal and wide: most parameters do next to
nothing, a few do nearly all).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from models.gaussian_process.kernel import (
    Floats,
    Singles,
    VarianceComponents,
    lower_factor,
    of_all_orders,
)

_MEDIAN_OF_ALL = 0.4  # of the variance: the prior medians of all parameters together
_SPREAD = 2.5  # standard deviation of the logarithm: most do next to nothing, some nearly all
_PAIRS, _PAIRS_SPREAD = 1.0, 1.0
_NOISE, _NOISE_SPREAD = 0.1, 1.5
_TOGETHER, _TOGETHER_SPREAD = 0.1, 1.5
_LEAST_NOISE = 1e-4
_BURN_IN = 30  # sweeps over all shares
_BETWEEN = 3  # sweeps from one kept draw to the next
_STEP = 1.0  # of a proposal, on the logarithm; its tails are long


def drawn_components(
    kernels: Singles, values: Floats, start: VarianceComponents, *, draws: int, seed: Sequence[int]
) -> list[VarianceComponents]:
    """Equally likely shares; the walk begins at ``start``, those that explain the values best."""
    walk = _Walk(kernels, values, start, np.random.default_rng(list(seed)))
    for _ in range(_BURN_IN):
        walk.sweep()
    found = []
    for _ in range(draws):
        for _ in range(_BETWEEN):
            walk.sweep()
        found.append(walk.components())
    return found


class _Walk:
    """A Markov chain over the logarithms of all shares, of the pairs' strength and the noise."""

    def __init__(
        self, kernels: Singles, values: Floats, start: VarianceComponents, rng: np.random.Generator
    ) -> None:
        count = len(kernels)
        # Each matrix by columns, as LAPACK takes it: else every factor begins with a copy.
        self._alike = np.ascontiguousarray(kernels.swapaxes(1, 2), np.float64).swapaxes(1, 2)
        self._squared = self._alike**2
        self._values, self._rng, self._start = values, rng, start
        self._mean = np.log(
            np.append(np.full(count, _MEDIAN_OF_ALL / max(count, 1)), [_PAIRS, _TOGETHER, _NOISE])
        )
        self._spread = np.append(
            np.full(count, _SPREAD), [_PAIRS_SPREAD, _TOGETHER_SPREAD, _NOISE_SPREAD]
        )
        least = self._mean - 2.0 * self._spread
        at = np.log(np.append(start.parameters, [start.pairs, _TOGETHER, start.noise]) + 1e-12)
        self._at = np.maximum(at, least)
        weights = np.exp(self._at[:-3])
        self._ones = np.asfortranarray(np.tensordot(weights, self._alike, axes=1))
        self._squares = np.asfortranarray(np.tensordot(weights**2, self._squared, axes=1))
        self._density = self._log_density(self._at, self._ones, self._squares)

    def components(self) -> VarianceComponents:
        """Where the walk is."""
        known = np.exp(self._at)
        return replace(
            self._start,
            parameters=known[:-3],
            pairs=float(known[-3]),
            together=float(known[-2]),
            noise=self._noise(self._at),
        )

    def sweep(self) -> None:
        """One proposal for each share."""
        steps = np.clip(_STEP * self._rng.standard_t(2, len(self._at)), -6.0, 6.0)
        luck = np.log(self._rng.random(len(self._at)))
        for place in range(len(self._at)):
            at = self._at.copy()
            at[place] += steps[place]
            ones, squares = self._ones, self._squares
            if place < len(self._alike):
                before, after = np.exp(self._at[place]), np.exp(at[place])
                ones = ones + (after - before) * self._alike[place]
                squares = squares + (after**2 - before**2) * self._squared[place]
            density = self._log_density(at, ones, squares)
            if density - self._density > luck[place]:
                self._at, self._ones, self._squares, self._density = at, ones, squares, density

    def _noise(self, at: Floats) -> float:
        return max(_LEAST_NOISE, float(np.exp(at[-1])))

    def _log_density(self, at: Floats, ones: Floats, squares: Floats) -> float:
        from scipy.linalg.lapack import dtrtrs

        prior = -0.5 * float((((at - self._mean) / self._spread) ** 2).sum())
        known = ones * ones
        known -= squares
        known *= 0.5 * np.exp(at[-3])
        known += self._start.level + ones
        known += np.exp(at[-2]) * of_all_orders(ones, float(np.exp(at[:-3]).sum()))
        np.einsum("ii->i", known)[:] += self._noise(at)
        factor = lower_factor(known)
        reached, _ = dtrtrs(factor, self._values, lower=1)
        return prior - 0.5 * float(reached @ reached) - float(np.log(factor.diagonal()).sum())
