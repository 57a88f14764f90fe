"""How often a cut as strong as this one turns up on one night where nothing has changed.

The p-value of the strongest of many cuts is too small by the number of looks that it stands for.
That number was counted on 800,000 simulated series of 100 normal values (`python -m
studies.watch.limits` counts and fits again): alarms at t's two-sided p <= q on the n-th night,
among the series that had none before, over q.
"""

from __future__ import annotations

import numpy as np

from models.change_points.change_point import LEAST_VALUES, Floats

MOST_LENGTH = 100  # a series looks back so far
# Logarithm of the looks: of 1, 1/n, 1/n^2, 1/n^3, l, l/n, l/n^2, where l = -log10 q.
COEFFICIENTS = (0.041, -6.416, 94.29, -311.314, 0.313, 3.133, -23.096)
FITTED_FROM, _FITTED_TO = 1.5, 8.0
# The clip leaves few values only few ways of being extreme, and the tail has steps, up to this.
STEPS_UNTIL, _LOOKS_AT_STEPS = 7, 15.0


def chance(p: Floats, length: int) -> Floats:
    """The probability of so strong a cut, or a stronger one, on one night of a steady series.

    Args:
        p: From `models.change_points.change_point.split_p`, any shape.
        length: Values of the series, the newest included.

    Returns:
        The same shape, at most 1.

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
    """What the logarithm of the looks is a sum of.

    Args:
        length: Values of the series: one number, or one for each level.
        level: -log10 of the p-value, any shape.

    Returns:
        One axis of 7 more.
    """
    u = np.broadcast_to(1.0 / np.asarray(length, dtype=np.float64), np.shape(level))
    one = np.ones(np.shape(level))
    return np.stack([one, u, u**2, u**3, level, level * u, level * u**2], axis=-1)
