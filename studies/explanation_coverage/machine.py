"""A machine that measures a learned function: the truth of a configuration, with noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np

from optimizer.trials.trial import Trial
from sampler.runner.outcome import Outcome, TrialState
from studies.search.function import TestFunction

_START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class FunctionMachine:
    """Meets ``optimizer.run.ports.Bench``, in simulated time.

    The noise of a trial depends on the job and the trial's number alone, and not by way of the
    seed of its proposal, or proposal and noise would be one stream of random numbers.
    """

    function: TestFunction
    job: int
    name: str = "simulated"
    seconds: float = 0.0
    _running: tuple[Trial, float | None] | None = field(default=None, repr=False)

    def now(self) -> datetime:
        """The simulated time."""
        return _START + timedelta(seconds=self.seconds)

    def start(self, trial: Trial, *, cutoff_seconds: float | None) -> None:
        """Begins to measure."""
        self._running = trial, cutoff_seconds

    def wait(self, timeout: float) -> Outcome | None:
        """The truth times the noise of a recorded run; what is too slow is cut off."""
        del timeout
        if self._running is None:
            return None
        (trial, most), self._running = self._running, None
        errs = self.function.noise.drawn(np.random.default_rng([self.job, trial.number, 7]))
        metrics = {
            name: value * float(np.exp(errs[name]))
            for name, value in self.function.truth.metrics(trial.configuration).items()
        }
        state, seconds = TrialState.DONE, metrics["time"]
        if most is not None and seconds > most:
            state, seconds = TrialState.CENSORED, most
            metrics = {"time": most} | {n: v for n, v in metrics.items() if n == "rate"}
        self.seconds += seconds
        return Outcome(state=state, metrics=metrics, bench_seconds=seconds)

    def cancel(self) -> None:
        """Forgets the trial in flight."""
        self._running = None
