"""Hosts that measure in no time: what is left is the controller's own work."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from optimizer.trials.trial import Trial
from sampler.bench.outcome import Outcome, TrialState

MEAN_SECONDS = 60.0
_NOISE = 0.02
_START = datetime(2026, 1, 1, tzinfo=UTC)
Measure = Callable[[Mapping[str, Any], random.Random], dict[str, float]]


def halved(configuration: Mapping[str, Any], chance: random.Random) -> dict[str, float]:
    """Metrics of a run of about a minute; the best configuration halves three of four."""
    codec = configuration.get("codec") == "fast"
    level = int(configuration.get("level", 1)) / 1_000_000
    far = (0.6 if codec else 1.0) * (1 + (level - 0.3) ** 2)
    metrics = {"waf": 3 * far, "sa": 1.2 * (1 + far / 10), "time": MEAN_SECONDS * far}
    metrics["rate"] = 1e5 / far
    return {name: value * math.exp(chance.gauss(0, _NOISE)) for name, value in metrics.items()}


class SimulatedHosts:
    """Meets ``optimizer.run.ports.Hosts``: so many hosts of different speed, in simulated time.

    A trial takes as long as its metric ``time`` says, by its configuration and its host;
    ``wait`` hands out whichever ends next, and takes none of the real time.
    """

    def __init__(
        self, count: int, *, seed: int = 0, measure: Measure = halved, spread: float = 0.2
    ) -> None:
        """``count`` hosts whose speeds' logarithms have this standard deviation."""
        chance = random.Random(seed)
        self._speed = {f"host-{n:04}": math.exp(chance.gauss(0, spread)) for n in range(count)}
        self._names = tuple(self._speed)
        self._flying: list[tuple[float, int, Trial, Outcome]] = []
        self._chance, self._measure = chance, measure
        self.simulated_seconds = 0.0

    def now(self) -> datetime:
        """The simulated time."""
        return _START + timedelta(seconds=self.simulated_seconds)

    def hosts(self) -> Sequence[str]:
        """All of them, always."""
        return self._names

    def start(self, trial: Trial, *, cutoff_seconds: float | None) -> None:
        """Draws the outcome."""
        del cutoff_seconds
        metrics = self._measure(trial.configuration, self._chance)
        assert trial.host is not None
        metrics["time"] *= self._speed[trial.host]
        metrics["rate"] /= self._speed[trial.host]
        outcome = Outcome(
            state=TrialState.DONE, metrics=metrics, bench_seconds=metrics["time"] * 1.02
        )
        end = self.simulated_seconds + outcome.bench_seconds
        heapq.heappush(self._flying, (end, trial.number, trial, outcome))

    def attach(self, trial: Trial) -> bool:
        """Never."""
        del trial
        return False

    def wait(self, timeout: float) -> tuple[Trial, Outcome] | None:
        """Whichever ends next."""
        del timeout
        if not self._flying:
            return None
        self.simulated_seconds, _, trial, outcome = heapq.heappop(self._flying)
        return trial, outcome

    def cancel(self) -> None:
        """Forgets them."""
        self._flying.clear()

    leave = cancel
