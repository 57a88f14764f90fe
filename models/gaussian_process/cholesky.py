"""The Cholesky factor of a covariance that rounding may have left short of positive definite."""

import numpy as np

from models.gaussian_process.kernel import Floats

_FIRST_JITTER, _GROWTH = 1e-8, 10.0  # of the largest element


def lower_factor(covariance: Floats) -> Floats:
    """The lower Cholesky factor of a covariance with its noise, shape ``(n, n)``.

    Kernels are computed in single precision, and the noise of a metric may be as little as 1e-4:
    many settings that are alike, or values that settings explain wholly, leave a matrix whose
    rounding errors outweigh the noise. Then the diagonal is raised until there is a factor, by a
    hundred-millionth of the largest element at first and ten times as much at each further attempt
    (jitter, as in Neal, "Monte Carlo implementation of Gaussian process models", 1997, section 3).
    That is as if each value had so much more noise. A matrix that has a factor gets no jitter.

    Args:
        covariance: Symmetric; only its lower triangle is read.

    Returns:
        In the order of columns, 0 above the diagonal.

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
