"""How large a change of level was, and when it began, each with its 95% interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from models.change_points.change_point import (
    CLIP,
    LEAST_AFTER,
    LEAST_BEFORE,
    RESOLUTION,
    Floats,
    between_sums,
    clipped,
)

CONFIDENCE = 0.95
_MAD_OF_NORMAL = 1.4826
# Around the true date the log likelihood walks down on both sides, and its highest point on either
# side, above the true date's, is exponential with mean 1 (a Brownian motion with drift). So it is
# within x of the highest with probability (1 - exp(-x))^2.
_LIKELIHOOD_DROP = -math.log(1 - math.sqrt(CONFIDENCE))


@dataclass(frozen=True)
class Size:
    """A change of level, in the units of the values.

    Attributes:
        change: New level less old one.
        low, high: Its 95% interval. A change is reported when it looks large, so just after its
            report it is over-estimated on average; more nights mend that.
        before, after: Values on either side.
    """

    change: float
    low: float
    high: float
    before: int
    after: int


def size_of(before: Floats, after: Floats, *, likeness: float = 0.0) -> Size:
    """The difference of two levels, single outliers drawn in to 2.5 robust deviations.

    Args:
        before: Shape `(n_before,)`.
        after: Shape `(n_after,)`.
        likeness: Autocorrelation of neighbours, which widens the interval.

    Raises:
        ValueError: One side is empty, or there are fewer than three values.
    """
    from scipy import stats

    if not len(before) or not len(after) or len(before) + len(after) < 3:
        raise ValueError("give values on both sides, three at least")
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
    error = math.sqrt(variance * (1 + likeness) / (1 - likeness))
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, free)) * error
    return Size(change, change - half, change + half, len(before), len(after))


def cuts_within(values: Floats, *, likeness: float = 0.0) -> tuple[int, int]:
    """The 95% interval of the cut: the first and last one that fit nearly as well as the best.

    Args:
        values: Shape `(n,)`.
        likeness: Autocorrelation of neighbours, which widens the interval.

    Returns:
        Numbers of values before the change, both included.
    """
    n = len(values)
    scores, spread = clipped(values[None, :])
    scores = (scores - scores.mean()) / spread
    legal = slice(LEAST_BEFORE - 1, n - LEAST_AFTER)
    between = between_sums(scores)[0, legal]
    floor = (n - 2) * (RESOLUTION / float(spread[0, 0])) ** 2
    within = np.maximum(float(np.square(scores).sum()) - between, floor)
    drop = n / 2 * np.log(within / within.min()) * (1 - likeness) / (1 + likeness)
    fitting = np.flatnonzero(drop <= _LIKELIHOOD_DROP)
    return int(fitting[0]) + LEAST_BEFORE, int(fitting[-1]) + LEAST_BEFORE
