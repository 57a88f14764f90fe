"""A test function: a problem whose every answer is known, and asked with noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from optimizer.trials.problem import Problem
from optimizer.trials.trial import Purpose, Trial
from sampler.parameters.parameter import Value
from sampler.runner.outcome import TrialState
from sampler.space.space import Configuration
from studies.search.noise import Noise
from studies.search.truth import Truth


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
