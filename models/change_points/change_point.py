"""A series cut where its level changes most: how striking that is, and how large the change."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models import Floats

CLIP = 2.5  # robust standard deviations; less delays the finding of large changes
LEAST_BEFORE = 3  # values before a change
LEAST_AFTER = 2  # one value that stands out is an outlier, two may be a change
LEAST_VALUES = LEAST_BEFORE + LEAST_AFTER
RESOLUTION = 1e-4  # of logarithms: less would take rounding for a change
_MAD_OF_NORMAL = 1.4826
_MOST_AUTOCORRELATION = 0.8
# Values look less alike after the best cut than they are, by about (first + second * ln n) / n:
# put through two simulated lengths by hand. studies/watch/limits.py shows what is left of it.
AUTOCORRELATION_BIAS = (0.51, 0.887)


@dataclass(frozen=True, eq=False)
class Cuts:
    """The strongest cut of each of several series of one length."""

    length: int  # values of each series, n
    at: NDArray[np.intp]  # shape `(m,)`, int: the values before the change
    t_squared: Floats  # shape `(m,)`, square of the two-sample t there, n - 2 degrees of freedom
    autocorrelation: Floats  # shape `(m,)`, the first around the two levels, corrected for the cut


def clipped(values: Floats) -> tuple[Floats, Floats]:
    """Values, shape `(m, n)`, drawn in to within 2.5 robust standard deviations of their median.

    Less their median, shape `(m, n)`, and the robust standard deviation (1.4826 times the median
    distance from the median, at least `RESOLUTION`), shape `(m, 1)`.
    """
    distance = values - np.median(values, axis=1, keepdims=True)
    spread = _MAD_OF_NORMAL * np.median(np.abs(distance), axis=1, keepdims=True)
    spread = np.maximum(spread, RESOLUTION)
    return np.clip(distance, -CLIP * spread, CLIP * spread), spread


def between_sums(scores: Floats) -> Floats:
    """What a cut at each point takes from the sum of squares, shape `(m, n - 1)`.

    Column j is of the cut with j + 1 values before it. Each row of scores, `(m, n)`, sums to 0.
    """
    n = scores.shape[1]
    before = np.arange(1, n)
    sums = np.cumsum(scores, axis=1)[:, :-1]
    return np.asarray(np.square(sums) * (n / (before * (n - before))))


def strongest_cuts(values: Floats) -> Cuts:
    """The cut of each series that parts it most clearly.

    A series is a row of shape `(m, n)`, in order of time: logarithms of a positive metric.

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
    return Cuts(n, at, gain * (n - 2) / within, _autocorrelation(scores, at, within))


def _autocorrelation(scores: Floats, at: NDArray[np.intp], within: Floats) -> Floats:
    n = scores.shape[1]
    old = np.arange(n) < at[:, None]
    sums = np.where(old, scores, 0.0).sum(axis=1)  # that of the rest is its negative
    rest = scores - np.where(old, (sums / at)[:, None], (-sums / (n - at))[:, None])
    products = (rest[:, 1:] * rest[:, :-1]).sum(axis=1)
    constant, growth = AUTOCORRELATION_BIAS
    return np.asarray(products / within + (constant + growth * np.log(n)) / n)


def pooled_autocorrelation(autocorrelation: Floats, lengths: Floats) -> Floats:
    """One autocorrelation, from 0 to 0.8, of series that were measured together.

    Each alone tells too little. They weigh by their lengths; the last axis is one batch.
    """
    mean = np.average(autocorrelation, axis=-1, weights=lengths)
    pooled: Floats = np.clip(mean, 0.0, _MOST_AUTOCORRELATION)
    return pooled


def split_p(t_squared: Floats, length: int, autocorrelation: Floats | float = 0.0) -> Floats:
    """Two-sided p-value of t as if the cut had been chosen before: still to be paid for.

    Neighbours that resemble each other with autocorrelation r tell less: the variance of a mean
    is then (1 + r) / (1 - r) times as large, by which the square of t, `(m,)`, is divided. Each
    series has `length` values.
    """
    from scipy import stats

    shrunk = t_squared * (1 - autocorrelation) / (1 + autocorrelation)
    tail: Floats = stats.t.sf(np.sqrt(shrunk), length - 2)
    return 2 * tail


MOST_LENGTH = 100  # a series looks back so far
# Logarithm of the looks: of 1, 1/n, 1/n^2, 1/n^3, l, l/n, l/n^2, where l = -log10 q.
COEFFICIENTS = (0.041, -6.416, 94.29, -311.314, 0.313, 3.133, -23.096)
FITTED_FROM, _FITTED_TO = 1.5, 8.0
# The clip leaves few values only few ways of being extreme, and the tail has steps, up to this.
STEPS_UNTIL, _LOOKS_AT_STEPS = 7, 15.0


def chance(p: Floats, length: int) -> Floats:
    """The probability of so strong a cut, or a stronger one, on one night of a steady series.

    At most 1, in the shape of `p`, which is from `split_p`. The newest value counts in `length`.

    Raises:
        ValueError: The length is not within 5 and 100.
    """
    if not LEAST_VALUES <= length <= MOST_LENGTH:
        raise ValueError(f"length must be within {LEAST_VALUES} and {MOST_LENGTH}, not {length}")
    level = -np.log10(np.maximum(p, np.finfo(float).tiny))
    if length <= STEPS_UNTIL:
        looks = np.full(np.shape(level), _LOOKS_AT_STEPS)
    else:
        level = np.clip(level, FITTED_FROM, _FITTED_TO)
        looks = np.exp(features(length, level) @ COEFFICIENTS)
    found: Floats = np.minimum(p * looks, 1.0)
    return found


def features(length: int | Floats, level: Floats) -> Floats:
    """What the logarithm of the looks is a sum of, one axis of 7 more than `level` has.

    That is -log10 of the p-value; the length of the series is one number, or one for each level.
    """
    u = np.broadcast_to(1.0 / np.asarray(length, dtype=np.float64), np.shape(level))
    one = np.ones(np.shape(level))
    return np.stack([one, u, u**2, u**3, level, level * u, level * u**2], axis=-1)


CONFIDENCE = 0.95
# Around the true date the log likelihood walks down on both sides, and its highest point on either
# side, above the true date's, is exponential with mean 1 (a Brownian motion with drift). So it is
# within x of the highest with probability (1 - exp(-x))^2.
_LIKELIHOOD_DROP = -math.log(1 - math.sqrt(CONFIDENCE))


@dataclass(frozen=True)
class Size:
    """A change of level, in the units of the values."""

    change: float  # new level less old one
    # low, high: its 95% interval. A change is reported when it looks large, so just after its
    # report it is over-estimated on average; more nights mend that.
    low: float
    high: float
    before: int  # before, after: values on either side
    after: int


def size_of(before: Floats, after: Floats, *, autocorrelation: float = 0.0) -> Size:
    """The difference of two levels, single outliers drawn in to 2.5 robust deviations.

    The autocorrelation of neighbours widens the interval.

    Raises:
        ValueError: One side is empty, or there are fewer than three values.
    """
    from scipy import stats

    if not len(before) or not len(after) or len(before) + len(after) < 3:
        raise ValueError("give at least three values, some on each side")
    free = len(before) + len(after) - 2
    middles = float(np.median(before)), float(np.median(after))
    rests = before - middles[0], after - middles[1]
    # Two medians were taken out, which makes the rests of few values smaller than they are.
    lost = math.sqrt((free + 2) / free)
    reach = CLIP * max(
        _MAD_OF_NORMAL * lost * float(np.median(np.abs(np.concatenate(rests)))), RESOLUTION
    )
    rests = np.clip(rests[0], -reach, reach), np.clip(rests[1], -reach, reach)
    change = middles[1] + float(rests[1].mean()) - middles[0] - float(rests[0].mean())
    squares = sum(float(np.square(each - each.mean()).sum()) for each in rests)
    variance = max(squares / free, RESOLUTION**2) * (1 / len(before) + 1 / len(after))
    error = math.sqrt(variance * (1 + autocorrelation) / (1 - autocorrelation))
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, free)) * error
    return Size(change, change - half, change + half, len(before), len(after))


def cuts_within(values: Floats, *, autocorrelation: float = 0.0) -> tuple[int, int]:
    """The 95% interval of the cut: the first and last one that fit nearly as well as the best.

    Both as numbers of values before the change. The autocorrelation of neighbours widens it.
    """
    n = len(values)
    scores, spread = clipped(values[None, :])
    scores = (scores - scores.mean()) / spread
    legal = slice(LEAST_BEFORE - 1, n - LEAST_AFTER)
    between = between_sums(scores)[0, legal]
    floor = (n - 2) * (RESOLUTION / float(spread[0, 0])) ** 2
    within = np.maximum(float(np.square(scores).sum()) - between, floor)
    drop = n / 2 * np.log(within / within.min()) * (1 - autocorrelation) / (1 + autocorrelation)
    fitting = np.flatnonzero(drop <= _LIKELIHOOD_DROP)
    return int(fitting[0]) + LEAST_BEFORE, int(fitting[-1]) + LEAST_BEFORE
