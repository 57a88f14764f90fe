"""A machine on which no option matters: every run differs from the last by noise alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np

from optimizer.trials.trial import Trial
from sampler.runner.outcome import Outcome, TrialState
from studies.search.noise import Noise, noise_of
from studies.search.recorded import Recorded

_START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, eq=False)
class Level:
    """What every configuration measures.

    Attributes:
        metrics: Medians of the default's recorded runs.
        noise: Their scatter.
        runs: How many these are.
    """

    metrics: Mapping[str, float]
    noise: Noise
    runs: int


def level_of(recorded: Recorded) -> Level:
    """The level and the noise of a default's recorded runs.

    Raises:
        ValueError: Fewer than two of them are whole.
    """
    names = [term.metric for term in recorded.problem.objective.terms]
    runs = [run.metrics for run in recorded.default_runs if run.metrics.keys() >= set(names)]
    noise = noise_of(runs, names)
    return Level({n: float(np.median([run[n] for run in runs])) for n in names}, noise, len(runs))


@dataclass
class NullMachine:
    """Meets ``optimizer.run.ports.Bench``, in simulated time.

    The noise of a trial depends on the job and the trial's number alone, and not by way of the
    seed of its proposal, or proposal and noise would be one stream of random numbers.
    """

    level: Level
    job: int
    name: str = "simulated"
    seconds: float = 0.0
    _running: Trial | None = field(default=None, repr=False)

    def now(self) -> datetime:
        """The simulated time."""
        return _START + timedelta(seconds=self.seconds)

    def start(self, trial: Trial, *, cutoff_seconds: float | None) -> None:
        """Begins to measure; nothing is so slow that it is cut off."""
        del cutoff_seconds
        self._running = trial

    def wait(self, timeout: float) -> Outcome | None:
        """The level, with the noise of one of the recorded runs."""
        del timeout
        if self._running is None:
            return None
        trial, self._running = self._running, None
        errs = self.level.noise.drawn(np.random.default_rng([self.job, trial.number, 6]))
        metrics = {name: v * float(np.exp(errs[name])) for name, v in self.level.metrics.items()}
        self.seconds += metrics["time"]
        return Outcome(state=TrialState.DONE, metrics=metrics, bench_seconds=metrics["time"])

    def cancel(self) -> None:
        """Forgets the trial in flight."""
        self._running = None
