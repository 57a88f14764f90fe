"""A machine that measures a known truth: of each configuration its metrics, with noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np

from optimizer.trials.trial import Trial
from sampler.runner.outcome import Outcome, TrialState
from sampler.space.space import Configuration
from studies.search.noise import Noise

_START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class SimulatedMachine:
    """Meets ``optimizer.run.ports.Bench``, in simulated time.

    The noise of a trial depends on the job and the trial's number alone, and not by way of the
    seed of its proposal, or proposal and noise would be one stream of random numbers.

    Attributes:
        truth: The metrics of a configuration, without noise.
        noise: What one run errs by.
        job: Seeds the noise, with the trial's number and ``stream``.
        stream: Keeps the noise of one study apart from that of another.
        cuts_off: Whether a trial ends at its cutoff.
    """

    truth: Callable[[Configuration], Mapping[str, float]]
    noise: Noise
    job: int
    stream: int
    cuts_off: bool = True
    name: str = "simulated"
    seconds: float = 0.0
    _running: tuple[Trial, float | None] | None = field(default=None, repr=False)

    def now(self) -> datetime:
        """The simulated time."""
        return _START + timedelta(seconds=self.seconds)

    def start(self, trial: Trial, *, cutoff_seconds: float | None) -> None:
        """Begins to measure."""
        self._running = trial, cutoff_seconds if self.cuts_off else None

    def wait(self, timeout: float) -> Outcome | None:
        """The truth times the noise of a recorded run; what is too slow is cut off."""
        del timeout
        if self._running is None:
            return None
        (trial, most), self._running = self._running, None
        errs = self.noise.drawn(np.random.default_rng([self.job, trial.number, self.stream]))
        metrics = {
            name: value * float(np.exp(errs[name]))
            for name, value in self.truth(trial.configuration).items()
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
