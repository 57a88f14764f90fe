"""A test function: a problem whose every answer is known, and asked with noise.

A trial's noise is one of the residuals of the default's recorded runs about their mean, all
metrics of it together: time and rate err alike, and their tails are those that were measured. It
is taken to be the same for every configuration, for only the default was measured often.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from optimizer.trials.problem import Problem
from optimizer.trials.trial import Purpose, Trial
from sampler.bench.outcome import TrialState
from sampler.rocksdb.parameters import Value
from sampler.space.space import Configuration
from studies.search.truth import Truth


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


@dataclass(frozen=True, eq=False)
class TestFunction:
    """Measures without a benchmark.

    Attributes:
        name: `load/boosting`: the recorded trials and the family that learned them.
        digest: Of all that its answers rest on.
    """

    __test__ = False  # nothing for pytest to collect

    name: str
    digest: str
    problem: Problem
    truth: Truth
    noise: Noise

    @property
    def default(self) -> dict[str, Value]:
        """The baseline of the problem that is tuned."""
        return self.problem.space.default_configuration()

    def measured(self, trial: Trial, level: float | None) -> Trial:
        """A trial as it ends: the truth times the noise of its number and the problem's seed.

        Args:
            trial: Its seed decides the noise.
            level: The baseline's time. A new configuration that takes so many times of it as the
                problem's cutoff is cut off, as in a job: it has a bound of the time, and a rate.
                None: nothing is cut off.
        """
        errs = self.noise.drawn(np.random.default_rng(trial.seed))
        metrics = {
            name: value * float(np.exp(errs[name]))
            for name, value in self.truth.metrics(trial.configuration).items()
        }
        state, most = TrialState.DONE, self.problem.search.cutoff * (level or 0.0)
        if most and trial.purpose is Purpose.CANDIDATE and metrics.get("time", 0.0) > most:
            state = TrialState.CENSORED
            metrics = {"time": most} | {n: v for n, v in metrics.items() if n == "rate"}
        return replace(
            trial,
            state=state,
            metrics=metrics,
            effective=trial.configuration,
            bench_seconds=metrics.get("time", 0.0),
            host="simulated",
        )

    def fitness(self, configurations: Sequence[Configuration]) -> NDArray[np.float64]:
        """The true fitness against the true baseline, shape `(n_configurations,)`."""
        logs = self.truth.logarithms([self.default, *configurations])
        total = np.zeros(len(configurations))
        for term in self.problem.objective.terms:
            values = np.exp(logs[term.metric])
            change = values[1:] / values[0] - 1
            total += 1000 * term.weight * (change if term.direction == "max" else -change)
        return total
