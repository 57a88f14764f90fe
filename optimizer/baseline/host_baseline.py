"""One host's baseline as it was measured, again and again: its level, its noise, its drift.

A shared machine gets slower and faster over minutes, and its clocks show it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import is_

import numpy as np
from numpy.typing import NDArray

from optimizer.trials.trial import Trial

LEAST_RUNS = 5  # below, a trend cannot be told from noise
_MOST_SMOOTHED = 15  # in a long job half of its runs would be hours, and drift takes minutes
_PERMUTATIONS = 999
_MOST_PERMUTED = 1000  # beyond, the ratio is normal enough, and to shuffle takes a second


def drift_p(values: NDArray[np.float64]) -> float | None:
    """Permutation p-value of von Neumann's ratio: mean square of successive differences.

    Small when neighbours in time resemble each other, whatever the shape of the drift. J. von
    Neumann, Annals of Mathematical Statistics 12 (1941). With more than 1,000 runs its normal
    limit, which A. Wald and J. Wolfowitz show for permutations of whatever values (the same
    journal, 14, 1943).

    Values are in the order of measurement. None with fewer than five, or when all are the same.
    """
    if len(values) < LEAST_RUNS or np.ptp(values) == 0:
        return None
    logs = np.log(values) if (values > 0).all() else values
    observed, n = np.square(np.diff(logs)).sum(), len(logs)
    if n > _MOST_PERMUTED:
        from scipy.special import ndtr

        ratio = observed / np.square(logs - logs.mean()).sum()
        return float(ndtr((ratio - 2) / np.sqrt(4 * (n - 2) / (n**2 - 1))))
    shuffled = np.random.default_rng(n).permuted(np.tile(logs, (_PERMUTATIONS, 1)), axis=1)
    at_random = np.square(np.diff(shuffled, axis=1)).sum(axis=1)
    return float((1 + np.count_nonzero(at_random <= observed)) / (_PERMUTATIONS + 1))


def smooth(seconds: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Local linear fit through half of the runs, at most 15, robust against single outliers.

    ``seconds``, when each run began, and ``values`` are of one shape, which the fit has too.
    """
    from statsmodels.nonparametric.smoothers_lowess import lowess

    window = max(LEAST_RUNS, min(len(values) / 2, _MOST_SMOOTHED))
    share = window / len(values)
    fitted = lowess(values, seconds, frac=min(share, 1.0), it=2, return_sorted=False)
    # A fit that leaves the measured range has been carried away by an end point.
    return np.clip(np.asarray(fitted, dtype=np.float64), values.min(), values.max())


CLOCKS = ("time", "rate", "load_time")
_ALPHA = 0.05
_EVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class MetricNoise:
    """How steady a metric of the baseline is.

    Attributes:
        median: Over all its runs.
        spread: Standard deviation over the mean; 0.05 is 5%. None with fewer than two runs.
        drift_p: Probability of so smooth a sequence if the order of runs did not matter; None
            with fewer than five runs.
        drifting: Whether the metric is a clock and ``drift_p`` is below 0.05.
        range: Smallest and largest smoothed level over the median, if drifting.
    """

    median: float
    spread: float | None
    drift_p: float | None
    drifting: bool
    range: tuple[float, float] | None = None


@dataclass(frozen=True)
class HostBaseline:
    """The baseline's runs on one host, summed up: medians, and the noise of each metric.

    ``trials`` are these runs, in the order in which they were given.
    """

    metrics: Mapping[str, float]
    noise: Mapping[str, MetricNoise]
    runs: int
    trials: tuple[Trial, ...] = field(repr=False)
    _seconds: NDArray[np.float64] = field(repr=False)
    _levels: Mapping[str, NDArray[np.float64]] = field(repr=False)

    def drift_factors(self, measured_at: datetime | None) -> Mapping[str, float]:
        """What takes each drifting metric from its level at that time to the median."""
        if measured_at is None or not self._levels:
            return {}
        found = self.drift_factors_of_many(np.array([measured_at.timestamp()]))
        return {name: float(factors[0]) for name, factors in found.items()}

    def drift_factors_of_many(
        self, moments: NDArray[np.float64]
    ) -> Mapping[str, NDArray[np.float64]]:
        """The same of many moments: seconds since 1970, NaN where nobody knows (1 there)."""
        known = ~np.isnan(moments)
        found = {name: np.ones(len(moments)) for name in self._levels}
        for name, level in self._levels.items():
            passed = np.interp(moments[known], self._seconds, level)
            found[name][known] = self.metrics[name] / passed
        return found


def host_baseline(trials: Sequence[Trial], before: HostBaseline | None = None) -> HostBaseline:
    """Sums up a host's runs of the baseline that ended well; there is at least one.

    Nobody knows when a given one was measured, so it says nothing about drift. ``before``, what
    was summed up last, is returned where it is of the very same runs.
    """
    runs = tuple(trials)
    if before is not None and len(runs) == before.runs and all(map(is_, runs, before.trials)):
        return before
    ordered = sorted(runs, key=lambda run: (run.started_at or _EVER, run.number))
    measured = [run.metrics for run in ordered]
    names = [name for name in measured[0] if all(name in metrics for metrics in measured)]
    table = {name: np.array([metrics[name] for metrics in measured]) for name in names}
    timed = [i for i, run in enumerate(ordered) if run.started_at]
    seconds = np.array([run.started_at.timestamp() for run in ordered if run.started_at])
    series = {name: values[timed] for name, values in table.items()}
    drift = {name: drift_p(series[name]) if name in CLOCKS else None for name in names}
    drifting = [name for name, p in drift.items() if p is not None and p < _ALPHA]
    levels = {name: smooth(seconds, series[name]) for name in drifting}
    medians = {name: float(np.median(values)) for name, values in table.items()}
    noise = {}
    for name, values in table.items():
        median, mean, level = medians[name], float(values.mean()), levels.get(name)
        noise[name] = MetricNoise(
            median=median,
            spread=float(values.std(ddof=1)) / abs(mean) if len(values) > 1 and mean else None,
            drift_p=drift[name],
            drifting=level is not None,
            range=(float(level.min() / median), float(level.max() / median))
            if level is not None
            else None,
        )
    return HostBaseline(medians, noise, len(ordered), runs, seconds, levels)
