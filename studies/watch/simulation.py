"""Simulated nights for the regression watch: quiet ones, and ones with a change.

The test is the product's own (`change_point*`), only many batches at a time. A series
stops at its first alarm here; in the product it starts anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.change_points import (
    LEAST_VALUES,
    MOST_LENGTH,
    PER_100_NIGHTS,
    chance,
    cuts_within,
    outlier_p,
    pooled_autocorrelation,
    size_of,
    split_p,
    strongest_cuts,
)

Floats = NDArray[np.float64]
LAWS = {
    "normal": "normal",
    "t(3)": "Student's t of 3 degrees of freedom",
    "contaminated": "normal, and 5% of nights slower by 8 sigma",
    "alike": "normal, a third of the variance common to all series",
    "autocorrelated": "normal, each night 0.3 times the last",
    "drift": "normal, and a steady drift of 1 sigma in 100 nights",
}
SIGMA = 0.05  # of logarithms; nothing depends on it while it is far above the resolution


def draw(law: str, shape: tuple[int, int, int], rng: np.random.Generator) -> Floats:
    """Noise of standard deviation 1 (the normal part of it), shape (batches, series, nights)."""
    if law == "t(3)":
        tails: Floats = rng.standard_t(3, shape) / np.sqrt(3)
        return tails
    noise: Floats = rng.standard_normal(shape)
    if law == "contaminated":
        noise[rng.random(shape) < 0.05] += 8
    elif law == "alike":
        common = rng.standard_normal((shape[0], 1, shape[2]))
        noise = np.sqrt(1 / 3) * common + np.sqrt(2 / 3) * noise
    elif law == "autocorrelated":
        for night in range(1, shape[2]):
            noise[..., night] = 0.3 * noise[..., night - 1] + np.sqrt(0.91) * noise[..., night]
    elif law == "drift":
        noise += np.arange(shape[2]) / 100
    return noise


@dataclass(frozen=True, eq=False)
class Quiet:
    """Alarms without a change.

    Attributes:
        alarms: Shape (batches,), first alarms of series.
        nights: Series and nights at risk, over the series of a batch.
        outliers: Outlier nights told, of the nights that were looked at for them.
        outlier_nights: How many nights of a batch these were.
    """

    alarms: NDArray[np.intp]
    nights: float
    outliers: int
    outlier_nights: float


def night_chances(values: Floats, at_risk: NDArray[np.bool_] | None = None) -> Floats:
    """What the newest night of each series is judged by, (batches, series).

    Args:
        values: Shape (batches, series, nights so far).
        at_risk: Which series count for the pooled autocorrelation; None for all.
    """
    values = values[..., -MOST_LENGTH:]
    batches, series, n = values.shape
    cuts = strongest_cuts(values.reshape(-1, n))
    weights = np.ones((batches, series))
    if at_risk is not None:
        weights = np.where(at_risk, 1.0, 1e-9)  # so that a batch without any has a mean
    autocorrelation = pooled_autocorrelation(
        cuts.autocorrelation.reshape(batches, series), weights
    )
    p = split_p(cuts.t_squared, n, np.repeat(autocorrelation, series))
    found: Floats = chance(p, n).reshape(batches, series)
    return found


def quiet(law: str, *, batches: int, series: int, nights: int, seed: int) -> Quiet:
    """Counts alarms where nothing changes."""
    rng = np.random.default_rng(seed)
    values = SIGMA * draw(law, (batches, series, nights), rng)
    share = PER_100_NIGHTS / (100 * series)
    silent = np.ones((batches, series), dtype=bool)
    at_risk = outliers = looked = 0
    for n in range(LEAST_VALUES, nights + 1):
        alarms = (night_chances(values[..., :n], silent) <= share) & silent
        at_risk += int(silent.sum())
        silent &= ~alarms
        if n % 10 == 0:  # one series at a time: a sample will do
            some = values[: max(1, batches // 10), :, :n].reshape(-1, n)
            outliers += int((outlier_p(some) <= share).sum())
            looked += len(some)
    return Quiet((~silent).sum(axis=1), at_risk / series, outliers, looked / series)


@dataclass(frozen=True, eq=False)
class Changed:
    """How a change in one series of a batch was found.

    Attributes:
        delays: Nights from the change until its report, its first night as 1; NaN: not within
            the nights that were simulated.
        date_errors: Nights by which the date is off, of those found.
        dates_held, sizes_held: Whether the 95% intervals hold the truth, of those found.
        sizes: Reported size over the true one, on the night of the report, of those found.
    """

    delays: Floats
    date_errors: NDArray[np.intp]
    dates_held: NDArray[np.bool_]
    sizes_held: NDArray[np.bool_]
    sizes: Floats


def changed(
    law: str, *, sigmas: float, before: int, after: int, batches: int, series: int, seed: int
) -> Changed:
    """Changes the level of the first series of each batch, and waits for its report."""
    rng = np.random.default_rng(seed)
    values = SIGMA * draw(law, (batches, series, before + after), rng)
    values[:, 0, before:] += SIGMA * sigmas
    share = PER_100_NIGHTS / (100 * series)
    delays = np.full(batches, np.nan)
    for night in range(1, after + 1):
        found = night_chances(values[..., : before + night])[:, 0] <= share
        delays[np.isnan(delays) & found] = night
    errors, dates, held, sizes = [], [], [], []
    for batch in np.flatnonzero(~np.isnan(delays)):
        seen = values[batch, 0, : before + int(delays[batch])]
        first = max(len(seen) - MOST_LENGTH, 0)
        cut = first + int(strongest_cuts(seen[None, first:]).at[0])
        low, high = (first + each for each in cuts_within(seen[first:]))
        size = size_of(seen[first:cut], seen[cut:])
        errors.append(cut - before)
        dates.append(low <= before <= high)
        held.append(size.low <= SIGMA * sigmas <= size.high)
        sizes.append(size.change / (SIGMA * sigmas))
    return Changed(
        delays,
        np.array(errors, dtype=np.intp),
        np.array(dates, dtype=bool),
        np.array(held, dtype=bool),
        np.array(sizes),
    )
