"""An additive Gaussian process: kernel over parameters and pairs, fit, agreement of earlier tasks.

Effects of RocksDB options on a logarithm are mostly sums, with a few strong pairs. So the
covariance is a sum over parameters of one-dimensional kernels, and of their products in pairs
(Duvenaud, Nickisch and Rasmussen, "Additive Gaussian processes", NeurIPS 2011, Eq. 8 to 10).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from models import Floats

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

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


@dataclass(frozen=True, eq=False)
class AdditiveProcess:
    """What trials teach of one metric."""

    components: VarianceComponents  # where its variance comes from
    mean: float  # mean, spread: of the values it was fitted to, which are standardised inside
    spread: float
    factor: Floats  # shape ``(n, n)``, the lower Cholesky factor of their covariance
    solved: Floats  # shape ``(n,)``, the covariance's inverse times the standardised values

    def predict(self, cross: Floats) -> tuple[Floats, Floats]:
        """What is expected of m settings, without the noise of a run.

        Expectation and standard deviation, ``(m,)`` each, in the metric's unit, from ``cross``,
        the covariance of the settings with the known ones, ``(m, n)``, of ``covariances``.
        """
        reached = self.reached(cross)
        left = own_variance(self.components) - np.einsum("nm,nm->m", reached, reached)
        return self.expected(cross), self.spread * np.sqrt(np.maximum(left, 1e-12))

    def predict_together(self, cross: Floats, among: Floats) -> tuple[Floats, Floats]:
        """What is expected of settings, and the covariance of the errors.

        Expectation ``(m,)`` in the metric's unit, and covariance ``(m, m)`` in its square, from
        ``among``, the covariance of the settings with each other before anything is known.
        """
        reached = self.reached(cross)
        return self.expected(cross), self.spread**2 * (among - reached.T @ reached)

    def expected(self, cross: Floats) -> Floats:
        """What is expected of m settings, ``(m,)`` in the metric's unit; see ``predict``."""
        return np.asarray(self.mean + self.spread * (cross @ self.solved))

    def reached(self, cross: Floats) -> Floats:
        """The known values' part of the settings' covariance, ``(n, m)``: a triangular solve."""
        from scipy.linalg import solve_triangular

        return np.asarray(solve_triangular(self.factor, cross.T, lower=True, check_finite=False))


def standardised(values: Floats) -> tuple[Floats, float, float]:
    """Values of mean 0 and variance 1, and the mean and spread that they had."""
    mean, spread = float(values.mean()), float(values.std())
    spread = spread if spread > 0 else 1.0
    return (values - mean) / spread, mean, spread


def fit_process(
    known: Floats, values: Floats, components: VarianceComponents, noise: Floats | None = None
) -> AdditiveProcess:
    """Fits a process with known shares to values in the metric's unit.

    ``known`` is the covariance among the known settings, ``(n, n)``, without noise; ``noise`` how
    many times the share of the noise each value has, ``(n,)``; None: once.
    """
    from scipy.linalg import cho_solve

    scaled, mean, spread = standardised(values)
    noisy = known + np.diag(components.noise * (np.ones(len(values)) if noise is None else noise))
    factor = lower_factor(noisy)
    solved = cho_solve((factor, True), scaled, check_finite=False)
    return AdditiveProcess(components, mean, spread, np.tril(factor), np.asarray(solved))


# What ends the limit, once for each who computes with one thread.
_WITHIN: list[Any] = []
_ENTERING = Lock()


@contextmanager
def one_thread() -> Iterator[None]:
    """A context in which linear algebra takes one thread, for the whole process.

    Alone on two cores it makes no difference; beside other work threads wait for each other.
    The first to enter sets the limit and the last to leave ends it. If each put back what it had
    found, one would lift the limit of another that is still within, and sums over more threads
    differ in their last digits.

    Since threadpoolctl 3.8 the first thread that sets a limit of OpenBLAS is the only one whose
    limits count, for as long as it lives. So each that sets or ends ours takes that over first.
    """
    with _ENTERING:
        if not _WITHIN:
            _let_any_thread_set_limits()
        limit = _WITHIN[0] if _WITHIN else _libraries().limit(limits=1, user_api="blas")
        _WITHIN.append(limit)
    try:
        yield
    finally:
        with _ENTERING:
            _WITHIN.pop()
            if not _WITHIN:
                _let_any_thread_set_limits()
                limit.restore_original_limits()
                _let_any_thread_set_limits()


def _let_any_thread_set_limits() -> None:
    for library in _libraries().lib_controllers:
        if library.internal_api == "openblas":
            library.clear_controlling_thread(force=True)


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    """Those that NumPy and SciPy have loaded; to look for them takes some milliseconds."""
    import scipy.linalg  # noqa: F401  # so that its library is there to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


# Earlier tasks have the kernel over settings in common with the present one; how much of it two of
# them share is one number a task (Bonilla, Chai and Williams, "Multi-task Gaussian process
# prediction", NIPS 2007, Eq. 2, with a covariance of tasks that has one common factor). An
# agreement of 1 makes an earlier task's values as good as the present one's own, apart from noise;
# 0 makes them tell nothing.
PRESENT = 0
FIRST_GUESS = 0.8  # before the present task has values of its own
NOTHING = 0.15  # an agreement below it is none
# Equally likely beforehand but for the lowest: of tasks that were chosen for their likeness few
# have nothing in common.
_GRID = np.array([0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99])
_CHANCE = np.array([0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
_NOISIER = 1.5  # of an earlier task's value: another day, another state of the machine


@dataclass(frozen=True, eq=False)
class Tasks:
    """Which task each value belongs to, and how far each task agrees with the present one."""

    of: NDArray[np.int64]  # shape ``(n,)``: 0 for the present task, 1, 2, ... for earlier ones
    agreement: Floats  # shape ``(n_tasks,)``, from 0 to 1; that of the present task is 1

    def among(self) -> Floats:
        """What the covariance over settings is multiplied by, shape ``(n, n)``."""
        rows = self.agreement[self.of]
        own = (1.0 - rows**2)[:, None] * (self.of[:, None] == self.of[None, :])
        return np.asarray(rows[:, None] * rows[None, :] + own)

    def with_present(self) -> Floats:
        """The same between the present task and each value, shape ``(n,)``."""
        return np.asarray(self.agreement[self.of])

    def noise(self) -> Floats:
        """How many times the noise of a value of the present task each has, shape ``(n,)``."""
        return np.where(self.of == PRESENT, 1.0, _NOISIER)

    def told(self) -> NDArray[np.bool_]:
        """The values that tell anything of the present task, shape ``(n,)``."""
        return np.asarray(self.agreement[self.of] >= NOTHING)

    def at(self, rows: NDArray[np.bool_]) -> Tasks:
        """Those of some of the values."""
        return replace(self, of=self.of[rows])


def first_agreement(earlier: int) -> Floats:
    """The agreement of so many earlier tasks, and of the present one, before anything is known."""
    return np.array([1.0] + [FIRST_GUESS] * earlier)


def learn_agreement(known: Floats, noise: float, values: Floats, tasks: Tasks) -> Floats:
    """How far each earlier task agrees, by the marginal likelihood of all values, ``(n_tasks,)``.

    Each in turn, the others as they are: the mean over a grid, weighed by the likelihood. See
    ``log_evidence``; learning begins at the agreement of ``tasks``.
    """
    if not (tasks.of == PRESENT).any():
        return tasks.agreement
    for task in range(1, len(tasks.agreement)):
        if (tasks.of == task).any():
            given = [_with(tasks, task, value) for value in _GRID]
            scores = np.array([log_evidence(known, noise, values, each) for each in given])
            weights = _CHANCE * np.exp(scores - scores.max())
            tasks = _with(tasks, task, float(weights @ _GRID / weights.sum()))
    return tasks.agreement


def _with(tasks: Tasks, task: int, value: float) -> Tasks:
    changed = tasks.agreement.copy()
    changed[task] = value
    return replace(tasks, agreement=changed)


def log_evidence(known: Floats, noise: float, values: Floats, tasks: Tasks | None = None) -> float:
    """The logarithm of the marginal likelihood of values, but for a constant for each of them.

    ``known`` is the covariance over settings without noise, ``(n, n)``. Without tasks all values
    are of one.
    """
    from scipy.linalg import cho_solve

    covariance = known * (1.0 if tasks is None else tasks.among())
    covariance[np.diag_indices(len(values))] += noise * (1.0 if tasks is None else tasks.noise())
    factor = lower_factor(covariance)
    fit = values @ cho_solve((factor, True), values, check_finite=False)
    return float(-0.5 * fit - np.log(np.diag(factor)).sum())
