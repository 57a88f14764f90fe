"""The scatter of one run: that of the default's recorded runs about their mean.

A trial's noise is one of those residuals, all metrics of it together: time and rate err alike, and
their tails are those that were measured. It is taken to be the same for every configuration, for
only the default was measured often.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Noise:
    """Residuals of logarithms.

    Attributes:
        names: The metrics.
        residuals: Shape `(n_runs, n_metrics)`, with mean 0 in each column.
    """

    names: tuple[str, ...]
    residuals: NDArray[np.float64]

    @property
    def scatter(self) -> dict[str, float]:
        """The standard deviation of each metric's logarithm."""
        return dict(zip(self.names, self.residuals.std(axis=0).tolist(), strict=True))

    def scaled(self, factor: float) -> Noise:
        """The same, so many times as large."""
        return Noise(self.names, self.residuals * factor)

    def drawn(self, rng: np.random.Generator) -> dict[str, float]:
        """The logarithms that one run errs by."""
        row = self.residuals[rng.integers(len(self.residuals))]
        return dict(zip(self.names, row.tolist(), strict=True))


def noise_of(runs: Sequence[Mapping[str, float]], names: Sequence[str]) -> Noise:
    """The noise of repeated runs of one configuration.

    Args:
        runs: Their metrics, positive; runs that lack one are left out.
        names: The metrics.

    Raises:
        ValueError: Fewer than two are whole.
    """
    whole = [[run[name] for name in names] for run in runs if all(name in run for name in names)]
    if len(whole) < 2:
        raise ValueError(f"{len(whole)} whole runs of the default say nothing about noise")
    logs = np.log(np.array(whole))
    # Residuals of n values about their own mean are too small by this factor.
    widened = np.sqrt(len(whole) / (len(whole) - 1))
    return Noise(tuple(names), (logs - logs.mean(axis=0)) * widened)
