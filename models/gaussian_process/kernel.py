"""How alike settings are, parameter by parameter: the parts of an additive Gaussian process.

Effects of RocksDB options on a logarithm are mostly sums, with a few strong pairs. So the
covariance is a sum over parameters of one-dimensional kernels, and of their products in pairs
(Duvenaud, Nickisch and Rasmussen, "Additive Gaussian processes", NeurIPS 2011, Eq. 8 to 10).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models import Floats

_LENGTH = 1.0  # of the range; found by predicting recorded trials, see docs/results/searching.md
_PER_LENGTH = np.float32(5.0**0.5 / _LENGTH)
_ROUGH_LENGTH = 0.3  # of the range
_PER_ROUGH_LENGTH = np.float32(_LENGTH / (5.0**0.5 * _ROUGH_LENGTH))  # of steps in _PER_LENGTH

_ORDERS = 3.0  # about how many parameters act together, at the mean

Singles = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class KernelInputs:
    """Settings in coordinates that the kernel compares, one row a configuration."""

    # Shape ``(n, n_parameters)``: which category, special value, or 0 for the numbers of a range.
    # Settings of different levels have nothing in common.
    level: NDArray[np.int64]
    position: Floats  # shape ``(n, n_parameters)``: where in the range, in [0, 1]; else 0

    def __len__(self) -> int:
        return int(self.level.shape[0])

    def of(self, columns: NDArray[np.intp]) -> KernelInputs:
        """The settings of some of the parameters."""
        return KernelInputs(self.level[:, columns], self.position[:, columns])


def kernel_matrices(one: KernelInputs, other: KernelInputs, *, rough: float = 0.0) -> Singles:
    """The kernel of each parameter between all pairs: Matern 5/2 within a level, else 0.

    Of ``rough``, the part of each parameter's variance that may change in steps, the kernel is
    exponential (Matern 1/2), over a shorter length.

    Returns:
        Shape ``(n_parameters, n_one, n_other)``, each 1 on equal settings. In single precision:
        this is where the time of a proposal goes, and noise is added before anything is solved.
    """
    a, b = (each.position.T.astype(np.float32) * _PER_LENGTH for each in (one, other))
    level_a, level_b = one.level.T, other.level.T
    kernels = np.empty((len(a), len(one), len(other)), dtype=np.float32)
    # Each by itself stays in the processor's cache: all at once takes up to four times as long.
    for place, kernel in enumerate(kernels):
        if a[place].any() or b[place].any():
            steps = np.abs(a[place, :, None] - b[place])
            np.exp(-steps, out=kernel)
            kernel *= 1.0 + steps * (1.0 + steps / 3.0)
            if rough:
                kernel *= 1.0 - rough
                kernel += np.float32(rough) * np.exp(-steps * _PER_ROUGH_LENGTH)
        else:
            kernel.fill(1.0)
        if level_a[place].any() or level_b[place].any():
            kernel *= level_a[place, :, None] == level_b[place]
    return kernels


@dataclass(frozen=True, eq=False)
class VarianceComponents:
    """How much of the variance comes from where; that of the data is about 1."""

    parameters: Floats  # shape ``(n_parameters,)``: of each parameter alone
    pairs: float  # the pair of i and j has ``pairs * parameters[i] * parameters[j]``
    level: float  # of the common level, which is not known beforehand
    noise: float  # of what the settings do not explain
    together: float = 0.0  # of what only many parameters together do, beyond pairs

    def none_below(self, least: float) -> VarianceComponents:
        """The shares with that of every parameter at least so much of all of them."""
        floor = least * self.parameters.sum()
        return replace(self, parameters=np.maximum(self.parameters, floor))


def covariance(kernels: Singles, components: VarianceComponents) -> Floats:
    """The covariance of the values of one metric, without noise; see ``covariances``."""
    return np.asarray(covariances(kernels, [components])[0])


def covariances(kernels: Singles, components: Sequence[VarianceComponents]) -> Floats:
    """The covariance of the values without noise, for several metrics at once.

    Of kernels of shape ``(n_parameters, n, m)``: ``(n_metrics, n, m)``.
    """
    count, n, m = kernels.shape
    flat = kernels.reshape(count, n * m)
    weights = np.array([each.parameters for each in components], dtype=np.float32)
    ones, squares = weights @ flat, weights**2 @ (flat * flat)
    total = np.array([of_sums(*sums) for sums in zip(ones, squares, components, strict=True)])
    return total.reshape(len(components), n, m)


def of_sums(
    ones: Floats | Singles, squares: Floats | Singles, components: VarianceComponents
) -> Floats:
    """The covariance by the sum of the parameters' own and the sum of the squares of those.

    Newton and Girard's identity: the sum over pairs is half of the square of the sum less the sum
    of the squares. All of one shape.
    """
    level, pairs = np.float64(components.level), np.float64(components.pairs)
    total = np.asarray(level + ones + 0.5 * pairs * (ones * ones - squares))
    if components.together:
        total += components.together * of_all_orders(ones, components.parameters.sum())
    return total


def of_all_orders(ones: Floats | Singles, total: float) -> Floats:
    """The kernel of what many parameters do together: 1 on equal settings.

    The exponential of a kernel is the sum of its powers (Shawe-Taylor and Cristianini, "Kernel
    methods for pattern analysis", 2004, proposition 3.24), so parameters have in it the weight
    that they have alone. ``ones`` is the sum of their own covariances, ``total`` that of their
    shares, the largest that ``ones`` can be.
    """
    return np.asarray(np.exp(_ORDERS * (ones / max(total, 1e-12) - 1.0)))


def symmetric_root(covariance: Floats) -> Floats:
    """The symmetric root of a covariance, shape ``(m, m)``, that may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def own_variance(components: VarianceComponents) -> float:
    """The variance of a value without noise, before anything is known: a diagonal element."""
    own = components.parameters
    return float(of_sums(own.sum(), (own**2).sum(), components))


_FIRST_JITTER, _GROWTH = 1e-8, 10.0  # of the largest element


def lower_factor(covariance: Floats) -> Floats:
    """The lower Cholesky factor of a covariance with its noise, shape ``(n, n)``.

    Kernels are computed in single precision, and the noise of a metric may be as little as 1e-4:
    many settings that are alike, or values that settings explain wholly, leave a matrix whose
    rounding errors outweigh the noise. Then the diagonal is raised until there is a factor, by a
    hundred-millionth of the largest element at first and ten times as much at each further attempt
    (jitter, as in Neal, "Monte Carlo implementation of Gaussian process models", 1997, section 3).
    That is as if each value had so much more noise. A matrix that has a factor gets no jitter.
    Only its lower triangle is read. The factor is in the order of columns, 0 above the diagonal.

    Raises:
        ValueError: An element is not finite. No other matrix fails: a diagonal that is raised by
            ``n`` times the largest element outweighs all the others.
    """
    from scipy.linalg.lapack import dpotrf

    factor, failed = dpotrf(covariance, lower=1, clean=1)
    if not failed and np.isfinite(factor.diagonal()).all():
        return np.asarray(factor)
    largest = float(np.abs(covariance).max())
    if not np.isfinite(largest):
        raise ValueError("a covariance must be finite")
    raised, jitter = covariance.copy(), _FIRST_JITTER * (largest or 1.0)
    while failed:
        raised[np.diag_indices(len(raised))] = np.diag(covariance) + jitter
        factor, failed = dpotrf(raised, lower=1, clean=1)
        jitter *= _GROWTH
    return np.asarray(factor)
