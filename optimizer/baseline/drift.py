"""Drift: a shared machine gets slower and faster over minutes, and its clocks show it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LEAST_RUNS = 5  # below, a trend cannot be told from noise
_MOST_SMOOTHED = 15  # in a long job half of its runs would be hours, and drift takes minutes
_PERMUTATIONS = 999
_MOST_PERMUTED = 1000  # beyond, the ratio is normal enough, and to shuffle takes a second


def drift_p(values: NDArray[np.float64]) -> float | None:
    """Permutation p-value of von Neumann's ratio: mean square of successive differences.

    Small when neighbours in time resemble each other, whatever the shape of the drift.
    J. von Neumann, Annals of Mathematical Statistics 12 (1941). With more than 1,000 runs its
    normal limit, which A. Wald and J. Wolfowitz show for permutations of whatever values (the
    same journal, 14, 1943).

    Args:
        values: Runs in the order of measurement, shape ``(n_runs,)``.

    Returns:
        None with fewer than five runs, or when all are the same.
    """
    if len(values) < LEAST_RUNS or np.ptp(values) == 0:
        return None
    logs = np.log(values) if (values > 0).all() else values
    return _limit_p(logs) if len(logs) > _MOST_PERMUTED else _permutation_p(logs)


def _limit_p(logs: NDArray[np.float64]) -> float:
    from scipy.special import ndtr

    n = len(logs)
    ratio = np.square(np.diff(logs)).sum() / np.square(logs - logs.mean()).sum()
    return float(ndtr((ratio - 2) / np.sqrt(4 * (n - 2) / (n**2 - 1))))


def _permutation_p(logs: NDArray[np.float64]) -> float:
    generator = np.random.default_rng(len(logs))
    shuffled = generator.permuted(np.tile(logs, (_PERMUTATIONS, 1)), axis=1)
    observed = float(np.square(np.diff(logs)).sum())
    at_random = np.square(np.diff(shuffled, axis=1)).sum(axis=1)
    return float((1 + np.count_nonzero(at_random <= observed)) / (_PERMUTATIONS + 1))


def smooth(seconds: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Local linear fit through half of the runs, at most 15, robust against single outliers.

    Args:
        seconds: When each run began, shape ``(n_runs,)``.
        values: What it measured, the same shape.
    """
    from statsmodels.nonparametric.smoothers_lowess import lowess

    window = max(LEAST_RUNS, min(len(values) / 2, _MOST_SMOOTHED))
    share = window / len(values)
    fitted = lowess(values, seconds, frac=min(share, 1.0), it=2, return_sorted=False)
    # A fit that leaves the measured range has been carried away by an end point.
    return np.clip(np.asarray(fitted, dtype=np.float64), values.min(), values.max())
