"""How far two orders of the same configurations agree, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

LEAST = 5  # configurations: below, any two orders agree by accident
TOP = 5
_RESAMPLES = 2000


@dataclass(frozen=True)
class Agreement:
    """How two orders agree.

    Attributes:
        rho: Spearman's rank correlation.
        low, high: Its 95% interval, by bootstrap over configurations (percentiles).
        count: How many configurations both have.
    """

    rho: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class TopKept:
    """What the best of one order are in the other.

    Attributes:
        both: How many are among the best ``TOP`` of both.
        by_chance: How many would be on average if the orders had nothing to do with each other.
        first: The place, from 1, that the best of the first order has in the second.
        count: How many configurations both have.
    """

    both: int
    by_chance: float
    first: int
    count: int


def agreement(one: Mapping[int, float], other: Mapping[int, float]) -> Agreement | None:
    """Compares two orders of what both have; None with fewer than ``LEAST``."""
    a, b = _common(one, other)
    if len(a) < LEAST:
        return None
    rho = float(spearman(a, b))
    if np.isnan(rho):
        return None
    chosen = np.random.default_rng(0).integers(len(a), size=(_RESAMPLES, len(a)))
    low, high = np.nanpercentile(spearman(a[chosen], b[chosen]), [2.5, 97.5])
    return Agreement(rho, float(low), float(high), len(a))


def spearman(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """The correlation of the ranks along the last axis, ties shared; NaN without any order.

    As ``scipy.stats.spearmanr``, for many resamples at once.

    Args:
        a: Shape ``(..., n)``.
        b: The same.

    Returns:
        Shape ``(...)``.
    """
    one, other = (rankdata(each, axis=-1) - (each.shape[-1] + 1) / 2 for each in (a, b))
    spread = np.sqrt((one**2).sum(axis=-1) * (other**2).sum(axis=-1))
    with np.errstate(invalid="ignore"):
        return np.asarray((one * other).sum(axis=-1) / spread)


def top_kept(one: Mapping[int, float], other: Mapping[int, float], *, up: bool) -> TopKept | None:
    """What the best of one order are in the other; None with fewer than twice ``TOP``.

    Args:
        one: By configuration.
        other: The same.
        up: Whether more is better.
    """
    indices = sorted(one.keys() & other.keys())
    if len(indices) < 2 * TOP:
        return None
    firsts, seconds = (_best_first(each, indices, up=up) for each in (one, other))
    both = len(set(firsts[:TOP]) & set(seconds[:TOP]))
    return TopKept(both, TOP * TOP / len(indices), 1 + seconds.index(firsts[0]), len(indices))


def _best_first(values: Mapping[int, float], indices: Sequence[int], *, up: bool) -> list[int]:
    return sorted(indices, key=lambda i: (-values[i] if up else values[i], i))


def _common(
    one: Mapping[int, float], other: Mapping[int, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    indices = sorted(one.keys() & other.keys())
    return np.array([one[i] for i in indices]), np.array([other[i] for i in indices])
