"""Where a series of values most likely changed its level, and how strongly.

The statistic of Hawkins, Qiu and Kang (Journal of Quality Technology 35, 2003): the largest
two-sample t over all points at which a series can be cut in two. Mean and variance need not be
known before, so no training set is needed. Here it is taken of clipped values, so that a single
outlier is no change: `studies/watch/power.py` compares this with its rivals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CLIP = 2.5  # robust standard deviations; less delays the finding of large changes
LEAST_BEFORE = 3  # values before a change
LEAST_AFTER = 2  # one value that stands out is an outlier, two may be a change
LEAST_VALUES = LEAST_BEFORE + LEAST_AFTER
# Of logarithms: steadier than 0.01% counts as 0.01%, or rounding would pass for a change.
RESOLUTION = 1e-4
_MAD_OF_NORMAL = 1.4826
_MOST_LIKENESS = 0.8
# Values look less alike after the best cut than they are, by about (first + second * ln n) / n:
# put through two simulated lengths by hand. studies/watch/limits.py shows what is left of it.
LIKENESS_BIAS = (0.51, 0.887)


@dataclass(frozen=True, eq=False)
class Cuts:
    """The strongest cut of each of several series of one length.

    Attributes:
        length: Values of each series, n.
        at: Shape `(m,)`, int: the values before the change.
        t_squared: Shape `(m,)`, square of the two-sample t there, of n - 2 degrees of freedom.
        likeness: Shape `(m,)`, how far neighbours resemble each other around the two levels:
            the first autocorrelation, corrected for the choice of the cut.
    """

    length: int
    at: NDArray[np.intp]
    t_squared: Floats
    likeness: Floats


def clipped(values: Floats) -> tuple[Floats, Floats]:
    """Values drawn in to within 2.5 robust standard deviations of their median.

    Args:
        values: Shape `(m, n)`.

    Returns:
        The drawn-in values less their median, shape `(m, n)`, and the robust standard deviation
        (1.4826 times the median distance from the median, at least `RESOLUTION`), shape `(m, 1)`.
    """
    distance = values - np.median(values, axis=1, keepdims=True)
    spread = _MAD_OF_NORMAL * np.median(np.abs(distance), axis=1, keepdims=True)
    spread = np.maximum(spread, RESOLUTION)
    return np.clip(distance, -CLIP * spread, CLIP * spread), spread


def between_sums(scores: Floats) -> Floats:
    """What a cut at each point takes from the sum of squares.

    Args:
        scores: Shape `(m, n)`, each row summing to 0.

    Returns:
        Shape `(m, n - 1)`; column j is of the cut with j + 1 values before it.
    """
    n = scores.shape[1]
    before = np.arange(1, n)
    sums = np.cumsum(scores, axis=1)[:, :-1]
    between: Floats = np.square(sums) * (n / (before * (n - before)))
    return between


def strongest_cuts(values: Floats) -> Cuts:
    """The cut of each series that parts it most clearly.

    Args:
        values: Shape `(m, n)`, one series a row, in order of time; logarithms of a positive
            metric.

    Raises:
        ValueError: The series are shorter than five values.
    """
    n = values.shape[1]
    if n < LEAST_VALUES:
        raise ValueError(f"a series must have at least {LEAST_VALUES} values, not {n}")
    scores, spread = clipped(values)
    scores = (scores - scores.mean(axis=1, keepdims=True)) / spread
    between = between_sums(scores)[:, LEAST_BEFORE - 1 : n - LEAST_AFTER]
    best = between.argmax(axis=1)
    gain = np.take_along_axis(between, best[:, None], axis=1)[:, 0]
    floor = (n - 2) * np.square(RESOLUTION / spread[:, 0])
    within = np.maximum(np.square(scores).sum(axis=1) - gain, floor)
    at = best + LEAST_BEFORE
    return Cuts(n, at, gain * (n - 2) / within, _likeness(scores, at, within))


def _likeness(scores: Floats, at: NDArray[np.intp], within: Floats) -> Floats:
    n = scores.shape[1]
    old = np.arange(n) < at[:, None]
    sums = np.where(old, scores, 0.0).sum(axis=1)  # that of the rest is its negative
    rest = scores - np.where(old, (sums / at)[:, None], (-sums / (n - at))[:, None])
    products: Floats = (rest[:, 1:] * rest[:, :-1]).sum(axis=1)
    constant, growth = LIKENESS_BIAS
    found: Floats = products / within + (constant + growth * np.log(n)) / n
    return found


def pooled_likeness(likeness: Floats, lengths: Floats, axis: int = -1) -> Floats:
    """One autocorrelation of series that were measured together: each alone tells too little.

    Args:
        likeness: Of each series.
        lengths: Values of each, by which they weigh.
        axis: Over which they are one batch.

    Returns:
        From 0 to 0.8, without that axis.
    """
    mean = np.average(likeness, axis=axis, weights=lengths)
    pooled: Floats = np.clip(mean, 0.0, _MOST_LIKENESS)
    return pooled


def split_p(t_squared: Floats, length: int, likeness: Floats | float = 0.0) -> Floats:
    """Two-sided p-value of t as if the cut had been chosen before: still to be paid for.

    Neighbours that resemble each other with autocorrelation r tell less: the variance of a mean
    is then (1 + r) / (1 - r) times as large, by which the square of t is divided.

    Args:
        t_squared: Shape `(m,)`.
        length: Values of each series.
        likeness: From `pooled_likeness`.
    """
    from scipy import stats

    shrunk = t_squared * (1 - likeness) / (1 + likeness)
    tail: Floats = stats.t.sf(np.sqrt(shrunk), length - 2)
    return 2 * tail
