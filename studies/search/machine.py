"""A machine that measures a known truth: of each configuration its metrics, with noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np

from optimizer.run.ports import OneHost
from optimizer.trials.trial import Trial
from sampler.bench.outcome import Outcome, TrialState
from sampler.space.space import Configuration
from studies.search.function import Noise

_START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Neighbour:
    """Another program that comes and goes, at a moment that no run knows.

    Attributes:
        slopes: By metric, the change of the logarithm for all processors taken.
        share: Of the processors that it takes while it runs.
        on, period, run: Seconds that it runs, of how many, and those of a run of the benchmark.
    """

    slopes: Mapping[str, float]
    share: float = 0.5
    on: float = 3.0
    period: float = 9.0
    run: float = 1.7

    def drawn(self, rng: np.random.Generator) -> float:
        """The share of the processors that it took during one run."""
        began = rng.uniform(0, self.period)
        ends = (self.on, 0.0), (self.period + self.on, self.period)
        beside = sum(max(0.0, min(began + self.run, b) - max(began, a)) for b, a in ends)
        return self.share * beside / self.run


@dataclass
class SimulatedMachine(OneHost):
    """Meets ``optimizer.run.ports.Hosts``, in simulated time.

    The noise of a trial depends on the job and the trial's number alone, and not by way of the
    seed of its proposal, or proposal and noise would be one stream of random numbers.

    Attributes:
        truth: The metrics of a configuration, without noise.
        noise: What one run errs by.
        job: Seeds the noise, with the trial's number and ``stream``.
        stream: Keeps the noise of one study apart from that of another.
        cuts_off: Whether a trial ends at its cutoff.
        neighbour: What else runs there; None: nothing, and no trial tells the machine's state.
    """

    truth: Callable[[Configuration], Mapping[str, float]]
    noise: Noise
    job: int
    stream: int
    cuts_off: bool = True
    neighbour: Neighbour | None = None
    name: str = "simulated"
    seconds: float = 0.0
    _running: tuple[Trial, float | None] | None = field(default=None, repr=False)

    def now(self) -> datetime:
        """The simulated time."""
        return _START + timedelta(seconds=self.seconds)

    def start(self, trial: Trial, *, cutoff_seconds: float | None) -> None:
        """Begins to measure."""
        self._running = trial, cutoff_seconds if self.cuts_off else None

    def wait(self, timeout: float) -> tuple[Trial, Outcome] | None:
        """The truth times the noise of a recorded run; what is too slow is cut off."""
        del timeout
        if self._running is None:
            return None
        (trial, most), self._running = self._running, None
        rng = np.random.default_rng([self.job, trial.number, self.stream])
        errs = self.noise.drawn(rng)
        others = {} if self.neighbour is None else {"others_cpu": self.neighbour.drawn(rng)}
        for name, slope in (self.neighbour.slopes if self.neighbour else {}).items():
            errs[name] += slope * others["others_cpu"]
        metrics = {
            name: value * float(np.exp(errs[name]))
            for name, value in self.truth(trial.configuration).items()
        } | others
        state, seconds = TrialState.DONE, metrics["time"]
        if most is not None and seconds > most:
            state, seconds = TrialState.CENSORED, most
            metrics = {"time": most} | {n: v for n, v in metrics.items() if n == "rate"} | others
        self.seconds += seconds
        return trial, Outcome(state=state, metrics=metrics, bench_seconds=seconds)

    def cancel(self) -> None:
        """Forgets the trial in flight."""
        self._running = None
