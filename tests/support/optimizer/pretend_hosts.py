"""Many hosts in simulated time, each at its own speed and noise; they may die and come back."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np

from optimizer.results.result import Conclusion
from optimizer.run.driver import Driver, tune
from optimizer.run.planning import Budget
from optimizer.strategies.registry import find_strategy
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Trial
from sampler.bench.outcome import Outcome, TrialState
from tests.support.optimizer.pretend_bench import (
    START,
    Configuration,
    ListLog,
    Metrics,
    Watcher,
    bowl,
)


@dataclass
class PretendHost:
    """One machine.

    Attributes:
        slow: Its clocks against those of the function.
        noise: Standard deviation of the logarithm of every metric.
        jump: From this moment on, in seconds, its clocks are ``jumps`` times as slow again.
        there: (from, until) seconds between which it is connected, but for those ``away``.
        fills: Whether its disk is full.
        loses: Which trials never come back from it.
    """

    name: str
    slow: float = 1.0
    noise: float = 0.01
    jump: float = math.inf
    jumps: float = 1.0
    there: tuple[float, float] = (0.0, math.inf)
    away: tuple[float, float] = (math.inf, math.inf)
    fails: Callable[[Trial], str | None] = lambda _trial: None
    loses: Callable[[Trial], bool] = lambda _trial: False


@dataclass
class PretendHosts:
    """Meets ``optimizer.run.ports.Hosts``; time passes when somebody waits."""

    machines: Sequence[PretendHost]
    function: Callable[[Configuration], Metrics] = bowl
    seed: int = 0
    seconds: float = 0.0
    attachable: dict[tuple[int, int], tuple[float, Outcome]] = field(default_factory=dict)
    started: list[tuple[Trial, str]] = field(default_factory=list)
    cancelled: int = 0
    left: int = 0
    most_at_once: int = 0
    _flying: list[tuple[float, int, Trial, Outcome]] = field(default_factory=list)

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    def hosts(self) -> Sequence[str]:
        there = (m for m in self.machines if m.there[0] <= self.seconds < m.there[1])
        return [m.name for m in there if not m.away[0] <= self.seconds < m.away[1]]

    def start(self, trial: Trial, *, cutoff_seconds: float | None) -> None:
        host = trial.host
        assert host in self.hosts()
        assert cutoff_seconds is None or cutoff_seconds > 0
        assert host not in {flight[2].host for flight in self._flying}, "one trial at a time"
        machine = self._machine(host)
        outcome = self._outcome(trial, machine)
        end = self.seconds + outcome.bench_seconds
        if end > machine.there[1]:
            end = machine.there[1]
            outcome = Outcome(state=TrialState.LOST, failure=f"{host} went away")
        self._fly(end, trial, outcome)
        self.started.append((trial, host))
        self.most_at_once = max(self.most_at_once, len(self._flying))

    def attach(self, trial: Trial) -> bool:
        found = self.attachable.pop((trial.number, trial.attempt), None)
        if found is None:
            return False
        end, outcome = found
        self._fly(max(end, self.seconds), trial, outcome)
        return True

    def wait(self, timeout: float) -> tuple[Trial, Outcome] | None:
        until = self.seconds + timeout
        if not self._flying or self._flying[0][0] > until:
            self.seconds = until
            return None
        end, _, trial, outcome = heapq.heappop(self._flying)
        self.seconds = max(self.seconds, end)
        return trial, outcome

    def cancel(self) -> None:
        self.cancelled += len(self._flying)
        self._flying.clear()

    def leave(self) -> None:
        """What is in flight goes on, for whoever attaches to it."""
        self.left += len(self._flying)
        for end, number, trial, outcome in self._flying:
            self.attachable[number, trial.attempt] = (end, outcome)
        self._flying.clear()

    def _fly(self, end: float, trial: Trial, outcome: Outcome) -> None:
        heapq.heappush(self._flying, (end, trial.number, trial, outcome))

    def _machine(self, name: str) -> PretendHost:
        return next(machine for machine in self.machines if machine.name == name)

    def _outcome(self, trial: Trial, machine: PretendHost) -> Outcome:
        said = machine.fails(trial)
        if said is not None:
            return Outcome(state=TrialState.FAILED, failure=said, bench_seconds=1.0)
        if machine.loses(trial):
            gone = f"{machine.name} went away"
            return Outcome(state=TrialState.LOST, failure=gone, bench_seconds=1.0)
        metrics = self.function(trial.configuration)
        generator = np.random.default_rng([self.seed, trial.number, trial.attempt])
        for name in sorted(metrics):
            metrics[name] *= math.exp(machine.noise * generator.normal())
        slow = machine.slow * (machine.jumps if self.seconds >= machine.jump else 1.0)
        metrics["time"] *= slow
        metrics["rate"] /= slow
        return Outcome(
            state=TrialState.DONE, metrics=metrics, bench_seconds=max(metrics["time"], 0.01)
        )


def tuned(
    problem: Problem,
    trials: int,
    hosts: PretendHosts,
    *,
    log: ListLog | None = None,
    watcher: Watcher | None = None,
) -> Conclusion:
    """Runs a whole job, or what its log leaves of it."""
    driver = Driver(
        problem,
        Budget(trials=trials),
        find_strategy(problem.strategy),
        log or ListLog(),
        observer=watcher or Watcher(),
        now=hosts.now,
    )
    return tune(driver, hosts)


def machines(count: int, **common: float) -> list[PretendHost]:
    """Hosts of different speed."""
    return [PretendHost(f"h{i}", slow=1 + 0.3 * i, **common) for i in range(count)]


def by_host(trials: Sequence[Trial]) -> Mapping[str, list[Trial]]:
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        assert trial.host is not None
        found.setdefault(trial.host, []).append(trial)
    return found
