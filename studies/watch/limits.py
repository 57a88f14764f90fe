"""The looks behind the limits of the regression watch: `python -m studies.watch.limits`.

Counts, on steady normal series, how often a cut of each strength turns up first on the n-th
night, and fits what `change_point_chance` holds, and the bias of the autocorrelation that
`models.change_points` holds. The same seeds give the same numbers.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os

import numpy as np
from numpy.typing import NDArray

from models.change_points import (
    AUTOCORRELATION_BIAS,
    FITTED_FROM,
    LEAST_VALUES,
    MOST_LENGTH,
    STEPS_UNTIL,
    chance,
    features,
    split_p,
    strongest_cuts,
)

LEVELS = np.arange(1.0, 6.1, 0.5)
_BLOCK, _FIT_TO = 20_000, 5.5
Floats = NDArray[np.float64]


def count(seed: int) -> tuple[Floats, Floats, Floats]:
    """Alarms and series at risk, both (nights + 1, levels), and the mean autocorrelation."""
    values = np.random.default_rng(seed).standard_normal((_BLOCK, MOST_LENGTH))
    limits = 10.0**-LEVELS
    lowest = np.ones(_BLOCK)
    alarms, at_risk = np.zeros((2, MOST_LENGTH + 1, len(LEVELS)))
    autocorrelation = np.zeros(MOST_LENGTH + 1)
    for n in range(LEAST_VALUES, MOST_LENGTH + 1):
        cuts = strongest_cuts(values[:, :n])
        autocorrelation[n] = cuts.autocorrelation.mean()
        quiet = lowest[:, None] > limits
        lowest = np.minimum(lowest, split_p(cuts.t_squared, n))
        at_risk[n] = quiet.sum(axis=0)
        alarms[n] = (quiet & (lowest[:, None] <= limits)).sum(axis=0)
    return alarms, at_risk, autocorrelation


def fit(alarms: Floats, at_risk: Floats) -> Floats:
    """Coefficients of the logarithm of the looks, each count weighing by itself."""
    used = (alarms > 0) & (LEVELS >= FITTED_FROM) & (LEVELS <= _FIT_TO)
    used[: LEAST_VALUES + 1] = False  # the first look is no addition to looks before
    n, column = np.nonzero(used)
    looks = np.log(alarms[used] / at_risk[used]) + LEVELS[column] * np.log(10)
    weight = np.sqrt(alarms[used])
    rows = features(n.astype(np.float64), LEVELS[column]) * weight[:, None]
    found: Floats = np.linalg.lstsq(rows, looks * weight, rcond=None)[0]
    return found


def main() -> None:
    """Prints the fits, and the counts beside what the product makes of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=40, help=f"of {_BLOCK:,} series each")
    given = parser.parse_args()
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        blocks = pool.map(count, range(given.blocks), chunksize=1)
    alarms, at_risk, autocorrelation = (np.sum([b[i] for b in blocks], axis=0) for i in range(3))
    print("looks:", np.round(fit(alarms, at_risk), 3).tolist())
    lengths = np.arange(LEAST_VALUES, MOST_LENGTH + 1)
    left = autocorrelation[LEAST_VALUES:] / given.blocks
    rows = np.stack([1 / lengths, np.log(lengths) / lengths], axis=-1)
    bias = rows @ AUTOCORRELATION_BIAS - left
    fitted = np.linalg.lstsq(rows, bias, rcond=None)[0]
    print(
        f"autocorrelation: bias {np.round(fitted, 3).tolist()}, "
        f"left of it at most {abs(left).max():.4f}"
    )
    print(f"(up to {STEPS_UNTIL} nights the tail has steps, and a bound is taken)")
    print("night | counted chance over stated, at -log10 p = 2, 3, 4, 5 (alarms)")
    for n in (5, 6, 7, 8, 10, 15, 20, 30, 50, 70, 100):
        cells = []
        for level in (2.0, 3.0, 4.0, 5.0):
            column = int(np.flatnonzero(level == LEVELS)[0])
            stated = float(chance(np.array(10.0**-level), n))
            counted = alarms[n, column] / max(at_risk[n, column], 1)
            cells.append(f"{counted / stated:.2f} ({alarms[n, column]:.0f})")
        print(f"{n:5d} | {'  '.join(cells)}")


if __name__ == "__main__":
    main()
