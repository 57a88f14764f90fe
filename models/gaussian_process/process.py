"""A Gaussian process that is a sum over parameters and pairs of them, fitted to one metric."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from models import Floats
from models.gaussian_process.kernel import VarianceComponents, lower_factor, own_variance

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]


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
