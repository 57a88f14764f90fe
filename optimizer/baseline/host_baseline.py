"""One host's baseline as it was measured, again and again: its level, its noise, its drift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from optimizer.baseline.drift import drift_p, smooth
from optimizer.trials.trial import Trial

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
    """The baseline's runs on one host, summed up.

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


def host_baseline(trials: Sequence[Trial]) -> HostBaseline:
    """Sums up a host's finished runs of the baseline.

    Nobody knows when a given one was measured, so it says nothing about drift.

    Args:
        trials: At least one; those that ended well.
    """
    return _summed_up(_Runs(trials))


class _Runs:
    """Runs that equal others only if they are the same objects: a key of eight bytes a run.

    A key of what they measured made a job's memory grow with the square of its trials.
    """

    __slots__ = ("_hash", "trials")

    def __init__(self, trials: Sequence[Trial]) -> None:
        self.trials = tuple(trials)
        self._hash = hash(tuple(map(id, self.trials)))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Runs)
            and len(self.trials) == len(other.trials)
            and all(mine is theirs for mine, theirs in zip(self.trials, other.trials, strict=True))
        )


@lru_cache(maxsize=256)  # of many hosts one has a new run; the others are as they were
def _summed_up(runs: _Runs) -> HostBaseline:
    ordered = sorted(runs.trials, key=lambda run: (run.started_at or _EVER, run.number))
    measured = [run.metrics for run in ordered]
    names = [name for name in measured[0] if all(name in metrics for metrics in measured)]
    table = {name: np.array([metrics[name] for metrics in measured]) for name in names}
    timed = [i for i, run in enumerate(ordered) if run.started_at]
    seconds = np.array([run.started_at.timestamp() for run in ordered if run.started_at])
    series = {name: values[timed] for name, values in table.items()}
    drift = {name: drift_p(series[name]) if name in CLOCKS else None for name in names}
    drifting = [name for name, p in drift.items() if p is not None and p < _ALPHA]
    levels = {name: smooth(seconds, series[name]) for name in drifting}
    return HostBaseline(
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
        runs=len(ordered),
        _seconds=seconds,
        _levels=levels,
    )


def _spread(values: NDArray[np.float64]) -> float | None:
    mean = float(values.mean())
    return float(values.std(ddof=1)) / abs(mean) if len(values) > 1 and mean else None


def _range(level: NDArray[np.float64] | None, median: float) -> tuple[float, float] | None:
    return None if level is None else (float(level.min() / median), float(level.max() / median))
