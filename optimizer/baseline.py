"""The baseline as it was measured, again and again: its level, its noise, its drift.

A shared machine gets slower and faster over minutes. Clock metrics of a trial are compared with
the baseline of that time; byte counters do not drift and are never touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray
from statsmodels.nonparametric.smoothers_lowess import lowess

from optimizer.trial import Trial

CLOCKS = ("time", "rate", "load_time")
_LEAST_RUNS = 5  # below, a trend cannot be told from noise
_MOST_SMOOTHED = 15  # in a long job half of its runs would be hours, and drift takes minutes
_ALPHA = 0.05
_PERMUTATIONS = 999
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
class Baseline:
    """The baseline's runs, summed up.

    Attributes:
        metrics: Medians.
        noise: One for each metric.
        runs: How many runs it rests on.
    """

    metrics: Mapping[str, float]
    noise: Mapping[str, MetricNoise]
    runs: int
    _seconds: NDArray[np.float64] = field(repr=False)
    _levels: Mapping[str, NDArray[np.float64]] = field(repr=False)

    def corrected(
        self, metrics: Mapping[str, float], measured_at: datetime | None
    ) -> Mapping[str, float]:
        """Metrics as they would have been at the baseline's median level.

        Args:
            metrics: A trial's.
            measured_at: When it was measured; None leaves them as they are.
        """
        if measured_at is None or not self._levels:
            return metrics
        moment = measured_at.timestamp()
        factors = {
            name: self.metrics[name] / float(np.interp(moment, self._seconds, level))
            for name, level in self._levels.items()
        }
        return {name: value * factors.get(name, 1.0) for name, value in metrics.items()}


def summarise(trials: Sequence[Trial]) -> Baseline:
    """Sums up the baseline's finished runs.

    Nobody knows when a given one was measured, so it says nothing about drift.

    Raises:
        ValueError: There is none.
    """
    done = sorted((t for t in trials if t.done), key=lambda t: (t.started_at or _EVER, t.number))
    if not done:
        raise ValueError("no run of the baseline has ended well")
    names = [name for name in done[0].metrics if all(name in trial.metrics for trial in done)]
    table = {name: np.array([trial.metrics[name] for trial in done]) for name in names}
    timed = [trial for trial in done if trial.started_at]
    seconds = np.array([t.started_at.timestamp() for t in timed if t.started_at])
    series = {name: np.array([trial.metrics[name] for trial in timed]) for name in names}
    drift = {name: _drift_p(series[name]) if name in CLOCKS else None for name in names}
    drifting = [name for name, p in drift.items() if p is not None and p < _ALPHA]
    levels = {name: _smooth(seconds, series[name]) for name in drifting}
    return Baseline(
        metrics={name: float(np.median(values)) for name, values in table.items()},
        noise={
            name: MetricNoise(
                median=float(np.median(values)),
                spread=_spread(values),
                drift_p=drift[name],
                drifting=name in levels,
                range=_range(levels.get(name), float(np.median(values))),
            )
            for name, values in table.items()
        },
        runs=len(done),
        _seconds=seconds,
        _levels=levels,
    )


def _spread(values: NDArray[np.float64]) -> float | None:
    mean = float(values.mean())
    return float(values.std(ddof=1)) / abs(mean) if len(values) > 1 and mean else None


def _range(level: NDArray[np.float64] | None, median: float) -> tuple[float, float] | None:
    return None if level is None else (float(level.min() / median), float(level.max() / median))


def _drift_p(values: NDArray[np.float64]) -> float | None:
    """Permutation p-value of von Neumann's ratio: mean square of successive differences.

    Small when neighbours in time resemble each other, whatever the shape of the drift.
    J. von Neumann, Annals of Mathematical Statistics 12 (1941).
    """
    if len(values) < _LEAST_RUNS or np.ptp(values) == 0:
        return None
    generator = np.random.default_rng(len(values))
    logs = np.log(values) if (values > 0).all() else values
    shuffled = generator.permuted(np.tile(logs, (_PERMUTATIONS, 1)), axis=1)
    observed = float(np.square(np.diff(logs)).sum())
    at_random = np.square(np.diff(shuffled, axis=1)).sum(axis=1)
    return float((1 + np.count_nonzero(at_random <= observed)) / (_PERMUTATIONS + 1))


def _smooth(seconds: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Local linear fit through half of the runs, at most 15, robust against single outliers."""
    window = max(_LEAST_RUNS, min(len(values) / 2, _MOST_SMOOTHED))
    share = window / len(values)
    fitted = lowess(values, seconds, frac=min(share, 1.0), it=2, return_sorted=False)
    # A fit that leaves the measured range has been carried away by an end point.
    return np.clip(np.asarray(fitted, dtype=np.float64), values.min(), values.max())
