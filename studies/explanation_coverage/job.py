"""One whole tuning job on a learned function, kept so that other code can explain it again."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from optimizer.budget.budget import LEAST_TRIALS, divide
from optimizer.run.driver import Driver, tune
from optimizer.run.planning import Budget
from optimizer.strategies.registry import find_strategy
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Trial
from sampler.common.atomic_write import atomic_write
from studies.memory_log import MemoryLog
from studies.search.function import TestFunction
from studies.search.machine import SimulatedMachine


@dataclass(frozen=True)
class Key:
    """What a job is.

    Attributes:
        function: `load/boosting`.
        digest: Of all that the function's answers rest on.
        configurations: How many new ones it measures, at least.
        seed: Of the job and of its noise.
    """

    function: str
    digest: str
    strategy: str
    configurations: int
    seed: int


@dataclass(frozen=True)
class Ended:
    """How a job came out.

    Attributes:
        trials: All of them.
        winner: The number of the trial that won the choice.
        low, high: 95% interval of its fitness in the proof; None where the proof did not pass.
    """

    trials: Sequence[Trial]
    winner: int | None
    low: float | None
    high: float | None


def run_job(function: TestFunction, key: Key) -> Ended:
    """Runs a job: draws, search, choice and proof."""
    machine, strategy, log = (
        SimulatedMachine(function.truth.metrics, function.noise, key.seed, stream=7),
        find_strategy(key.strategy),
        MemoryLog(),
    )
    budget = Budget(trials=trials_for(key.configurations))
    driver = Driver(posed(function, key), budget, strategy, log, now=machine.now)
    conclusion = tune(driver, machine)
    verdict = conclusion.verdict
    proven = verdict is not None and verdict.confirmed
    return Ended(
        trials=tuple(conclusion.history),
        winner=conclusion.winner,
        low=verdict.low if verdict and proven else None,
        high=verdict.high if verdict and proven else None,
    )


def posed(function: TestFunction, key: Key) -> Problem:
    """The function's problem as this job tunes it."""
    return replace(function.problem, strategy=key.strategy, seed=key.seed)


def trials_for(configurations: int) -> int:
    """The smallest budget that measures so many new configurations."""
    trials = LEAST_TRIALS
    while divide(trials).explore < configurations:
        trials += 1
    return trials


def kept_job(folder: Path, function: TestFunction, key: Key) -> Ended:
    """A job from a folder of this program's own, or run and put there."""
    name = f"{key.function.replace('/', '_')}_{key.digest}_{key.strategy}"
    path = folder / f"{name}_{key.configurations}_{key.seed}.pickle"
    if path.exists():
        found: Ended = pickle.loads(path.read_bytes())
        return found
    ended = run_job(function, key)
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write(path, pickle.dumps(ended))
    return ended
