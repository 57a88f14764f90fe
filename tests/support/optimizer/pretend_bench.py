"""A list as the trial log and a function as the bench: all that the optimizer needs to run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from optimizer.objective.objective import Objective
from optimizer.objective.objective_file import load_objective
from optimizer.results.result import Conclusion
from optimizer.run.driver import Driver, tune
from optimizer.run.planning import Budget, RunProgress
from optimizer.run.ports import LeaseLost, OneHost
from optimizer.strategies.registry import find_strategy
from optimizer.trials.problem import Problem, SearchSettings
from optimizer.trials.trial import History, Phase, Purpose, Trial
from sampler.bench.outcome import Outcome, TrialState
from sampler.space.space import Space, digest
from sampler.space.space_file import space_from_document
from sampler.workload.workload import Workload

START = datetime(2026, 3, 1, tzinfo=UTC)
STRATEGY_NAMES = ("random", "lhs", "sobol", "genetic", "guided", "nsga2")
STRATEGY_KINDS = STRATEGY_NAMES[2:]  # one of those that only draw, and all that search
Metrics = dict[str, float]
Configuration = Mapping[str, Any]


def small_space() -> Space:
    """Six parameters of a command, of every kind; the baseline lies away from the best."""
    return space_from_document(
        {
            "name": "small",
            "parameter": [
                {"name": "x", "type": "float", "low": 0.0, "high": 1.0, "default": 0.9},
                {"name": "y", "type": "int", "low": 1, "high": 4096, "log": True, "default": 2},
                {"name": "codec", "type": "cat", "choices": ["fast", "tight", "none"]},
                {"name": "level", "type": "int", "low": 1, "high": 9, "default": 6,
                 "active_if": {"codec": ["tight"]}},
                {"name": "sync", "type": "bool", "default": False},
                {"name": "idle", "type": "float", "low": 0.0, "high": 10.0, "default": 5.0},
            ],
        }
    )  # fmt: skip


def bowl(configuration: Configuration) -> Metrics:
    """Best near x = 0.3, y = 181; ``sync`` costs a little, ``idle`` does nothing."""
    far = (configuration["x"] - 0.3) ** 2
    far += (math.log2(configuration["y"]) / 12 - 0.625) ** 2 / 2
    far += 0.1 * configuration["sync"] + 0.05 * (configuration["codec"] == "none")
    return {
        "waf": 3 * (1 + far),
        "sa": 1.2 * (1 + far / 2),
        "time": 10 * (1 + far),
        "rate": 1e5 / (1 + far),
    }


def flat(configuration: Configuration) -> Metrics:
    """No configuration is better than any other."""
    del configuration
    return {"waf": 3.0, "sa": 1.2, "time": 10.0, "rate": 1e5}


def problem_of(
    strategy: str = "random",
    *,
    space: Space | None = None,
    objective: Objective | str = "paper",
    memory: int | None = None,
    seed: int = 7,
    **search: Any,
) -> Problem:
    return Problem(
        space=small_space() if space is None else space,
        workload=Workload(name="pretended"),
        objective=load_objective(objective) if isinstance(objective, str) else objective,
        strategy=strategy,
        memory=memory,
        seed=seed,
        search=SearchSettings(**search),
    )


@dataclass
class Clock:
    """Time passes only when a trial runs."""

    seconds: float = 0.0

    def __call__(self) -> datetime:
        return START + timedelta(seconds=self.seconds)


@dataclass
class PretendBench(OneHost):
    """Measures by a function of the configuration.

    Noise depends on the trial's number alone and drift on the clock, so that a job that is cut
    short and goes on measures what it would have measured anyway.
    """

    function: Callable[[Configuration], Metrics] = bowl
    noise: Mapping[str, float] | float = 0.0
    seed: int = 0
    drift: Callable[[float], float] = lambda _seconds: 1.0
    fails: Callable[[Trial], str | None] = lambda _trial: None
    lost: set[int] = field(default_factory=set)  # their host dies, once
    timeout: float = math.inf
    raises: Mapping[int, BaseException] = field(default_factory=dict)
    waits: int = 0  # how often a trial is asked for before it is over
    clock: Clock = field(default_factory=Clock)
    name: str = "pretended-host"
    running: Trial | None = None
    started: list[tuple[Trial, float | None]] = field(default_factory=list)
    cancelled: list[int] = field(default_factory=list)
    _cutoff: float | None = None
    _asked: int = 0

    def start(self, trial: Trial, *, cutoff_seconds: float | None) -> None:
        assert self.running is None, "a bench measures one configuration at a time"
        self.running, self._cutoff, self._asked = trial, cutoff_seconds, 0
        self.started.append((trial, cutoff_seconds))

    def wait(self, timeout: float) -> tuple[Trial, Outcome] | None:
        assert timeout > 0 and self.running is not None
        if self.running.number in self.raises:
            raise self.raises[self.running.number]
        if self._asked < self.waits:
            self._asked += 1
            return None
        trial, self.running = self.running, None
        outcome = self._outcome(trial)
        self.clock.seconds += outcome.bench_seconds
        return trial, outcome

    def cancel(self) -> None:
        if self.running is not None:
            self.cancelled.append(self.running.number)
            self.running = None

    def measure(self, trial: Trial) -> Metrics:
        metrics = self.function(trial.configuration)
        spread = self.noise
        for place, name in enumerate(sorted(metrics)):
            size = spread if isinstance(spread, float) else spread.get(name, 0.0)
            normal = np.random.default_rng([self.seed, trial.number, place]).normal()
            metrics[name] *= math.exp(size * normal)
        slower = self.drift(self.clock.seconds)
        metrics["time"] *= slower
        metrics["rate"] /= slower
        return metrics | {"wall_seconds": metrics["time"] + 2.0}

    def _outcome(self, trial: Trial) -> Outcome:
        if trial.number in self.lost:
            self.lost.discard(trial.number)
            return Outcome(state=TrialState.LOST, failure="the host died", bench_seconds=1.0)
        said = self.fails(trial)
        if said is not None:
            return Outcome(state=TrialState.FAILED, failure=said, bench_seconds=1.0)
        metrics = self.measure(trial)
        if metrics["time"] > self.timeout:
            return Outcome(
                state=TrialState.TIMED_OUT, failure="timed out", bench_seconds=self.timeout
            )
        if self._cutoff is not None and metrics["wall_seconds"] > self._cutoff:
            bounds = {"time": self._cutoff - 2.0, "rate": metrics["rate"] * 2}
            return Outcome(
                state=TrialState.CENSORED,
                metrics=bounds,
                failure="cut off",
                bench_seconds=self._cutoff,
            )
        return Outcome(
            state=TrialState.DONE, metrics=metrics, bench_seconds=metrics["wall_seconds"]
        )


@dataclass
class ListLog:
    """Keeps trials in memory, as strictly as ``optimizer.run.ports.TrialLog`` says."""

    kept: dict[int, Trial] = field(default_factory=dict)
    phases: list[Phase] = field(default_factory=list)
    documents: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    taken_over_at: str | None = None  # the write at which another controller has taken over

    def trials(self) -> Sequence[Trial]:
        return [self.kept[number] for number in sorted(self.kept)]

    def propose(self, trial: Trial) -> None:
        self._write(f"propose {trial.number}")
        before = self.kept.get(trial.number)
        if before and before.state not in (TrialState.RUNNING, TrialState.LOST):
            raise ValueError(f"trial {trial.number} has ended")
        self.kept[trial.number] = trial

    def finish(self, *trials: Trial, progress: RunProgress | None = None) -> None:
        (trial,) = trials
        counted = progress is not None and progress.done + progress.failed >= 1
        assert progress is None or counted or trial.state is TrialState.LOST
        self._write(f"finish {trial.number}")
        if trial.given and trial.number not in self.kept:
            self.kept[trial.number] = trial
            return
        before = self.kept[trial.number]
        if before.state is not TrialState.RUNNING or before.attempt != trial.attempt:
            raise ValueError(f"trial {trial.number} has ended, or was begun again")
        self.kept[trial.number] = trial

    def withdraw(self, trials: Sequence[Trial], why: str) -> None:
        self._write(f"withdraw {[trial.number for trial in trials]}")
        for trial in trials:
            if self.kept[trial.number] != trial or not trial.has_outcome:
                raise ValueError(f"trial {trial.number} has not ended, or was begun again")
        self.kept |= {t.number: replace(t, state=TrialState.LOST, failure=why) for t in trials}

    def enter(self, phase: Phase, why: str) -> None:
        assert why
        self._write(f"enter {phase}")
        self.phases.append(phase)

    def remember(self, name: str, document: Mapping[str, Any]) -> None:
        self._write(f"remember {name}")
        self.documents[name] = document

    def recall(self, name: str) -> Mapping[str, Any] | None:
        return self.documents.get(name)

    def cut(self, length: int, *, running: bool = False) -> ListLog:
        """The log as it stood when its controller died after ``length`` trials.

        Args:
            length: How many trials it holds.
            running: Whether the last of them was still running.
        """
        kept = {trial.number: trial for trial in self.trials()[:length]}
        if running:
            kept[length] = unmeasured(kept[length])
        return ListLog(kept)

    def _write(self, event: str) -> None:
        if event == self.taken_over_at:
            raise LeaseLost(event)
        self.events.append(event)


@dataclass
class Watcher:
    """Remembers what it was told."""

    phases: list[Phase] = field(default_factory=list)
    whys: dict[Phase, str] = field(default_factory=dict)
    started: list[Trial] = field(default_factory=list)
    ended: list[tuple[Trial, RunProgress]] = field(default_factory=list)
    ticks: int = 0
    aside: list[str] = field(default_factory=list)
    back: list[str] = field(default_factory=list)

    def phase(self, phase: Phase, why: str) -> None:
        assert why
        self.phases.append(phase)
        self.whys[phase] = why

    def trial_started(self, trial: Trial) -> None:
        self.started.append(trial)

    def trial_ended(self, trial: Trial, standing: RunProgress) -> None:
        self.ended.append((trial, standing))

    def tick(self) -> None:
        self.ticks += 1

    def host_excluded(self, host: str, why: str) -> None:
        assert why
        self.aside.append(host)

    def host_readmitted(self, host: str, why: str) -> None:
        assert why
        self.back.append(host)


@dataclass
class Job:
    """A job and everything around it."""

    problem: Problem
    budget: Budget
    bench: PretendBench = field(default_factory=PretendBench)
    log: ListLog = field(default_factory=ListLog)
    watcher: Watcher = field(default_factory=Watcher)

    def run(self) -> Conclusion:
        ended = [trial.finished_at for trial in self.log.trials() if trial.finished_at]
        if ended:
            self.bench.clock.seconds = (max(ended) - START).total_seconds()
        driver = Driver(
            self.problem,
            self.budget,
            find_strategy(self.problem.strategy),
            self.log,
            observer=self.watcher,
            now=self.bench.clock,
        )
        return tune(driver, self.bench)


def job_of(problem: Problem, trials: int, bench: PretendBench | None = None) -> Job:
    return Job(problem, Budget(trials=trials), bench or PretendBench())


def unmeasured(trial: Trial) -> Trial:
    """The trial as it was while it ran."""
    again = trial.again()
    return replace(again, attempt=trial.attempt, host=trial.host, started_at=trial.started_at)


def trial_of(
    number: int,
    metrics: Mapping[str, float] | None = None,
    *,
    configuration: Configuration | None = None,
    purpose: Purpose = Purpose.CANDIDATE,
    phase: Phase = Phase.SAMPLE,
    state: TrialState = TrialState.DONE,
    subject: int | None = None,
    seconds: float | None = None,
    **more: Any,
) -> Trial:
    """A trial that needs no job: its start is ``seconds`` (10 for each number) after START."""
    if purpose is Purpose.BASELINE:
        subject, phase = 1, Phase.BASELINE
    configuration = {"x": float(number)} if configuration is None else configuration
    return Trial(
        number=number,
        phase=phase,
        purpose=purpose,
        seed=number,
        configuration=configuration,
        digest=digest(configuration),
        subject=subject,
        state=state,
        metrics=metrics or {},
        started_at=START + timedelta(seconds=10.0 * number if seconds is None else seconds),
        **more,
    )


def configurations(trials: Iterable[Trial]) -> list[tuple[str, Configuration]]:
    return [(trial.purpose.value, dict(trial.configuration)) for trial in trials]


def candidates(history: History | Iterable[Trial], phase: Phase | None = None) -> list[Trial]:
    """What the strategy proposed; simplified versions of it are left out."""
    return [
        trial
        for trial in history
        if trial.purpose is Purpose.CANDIDATE
        and phase in (None, trial.phase)
        and not trial.is_simplified
    ]


def explored(history: History | Iterable[Trial]) -> list[Trial]:
    """What the strategy proposed, and simplified versions of it."""
    return [trial for trial in history if trial.purpose is Purpose.CANDIDATE]
