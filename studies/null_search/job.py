"""One whole job on a machine on which no option matters, and what it says it found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from optimizer.evaluation.evaluation import Evaluation
from optimizer.results.search_document import search_document
from optimizer.run.planning import Budget
from optimizer.run.ports import OneHost
from optimizer.run.tuning import Tuning
from optimizer.strategies.registry import find_strategy
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Purpose
from studies.memory_log import MemoryLog
from studies.null_search.level import Level, null_machine


@dataclass(frozen=True)
class Key:
    """What a job is.

    Attributes:
        digest: Of the recorded runs that space and noise are from.
        trials: The budget.
        seed: Of the job and of its noise; with and without ``stop_early`` they are the same, so
            that both jobs are one until the first stops.
    """

    digest: str
    strategy: str
    trials: int
    stop_early: bool
    seed: int


@dataclass(frozen=True)
class Line:
    """How a job came out.

    Attributes:
        runs: That it made.
        explored: Of these, new configurations or ones measured again.
        again: Of these, ones measured again.
        saved: Runs that stopping early saved.
        gain, noise: What one more run was expected to gain, and the noise, when the search ended.
        confirmed: Whether it reports an improvement.
        p: One-sided, of the deciding test.
    """

    key: Key
    runs: int
    explored: int
    again: int
    saved: int
    gain: float | None
    noise: float | None
    confirmed: bool
    p: float | None


def run_job(problem: Problem, level: Level, key: Key) -> Line:
    """Runs a job.

    Args:
        problem: Its space, objective and memory budget.
        level: What every configuration measures.
        key: The rest.
    """
    posed = replace(
        problem,
        strategy=key.strategy,
        seed=key.seed,
        search=replace(problem.search, stop_early=key.stop_early),
    )
    machine, strategy, log = (
        null_machine(level, key.seed),
        find_strategy(key.strategy),
        MemoryLog(),
    )
    tuning = Tuning(
        posed, Budget(trials=key.trials), strategy,
        log=log, hosts=OneHost(machine), progress=log, now=machine.now,
    )  # fmt: skip
    conclusion = tuning.run()
    verdict = conclusion.verdict
    search = (
        search_document(Evaluation(posed, conclusion.history), conclusion.plan, strategy) or {}
    )
    return Line(
        key=key,
        runs=len(conclusion.history),
        explored=sum(trial.purpose is Purpose.CANDIDATE for trial in conclusion.history),
        again=search.get("again", 0),
        saved=search.get("saved", 0),
        gain=search.get("gain"),
        noise=search.get("noise"),
        confirmed=bool(verdict and verdict.confirmed),
        p=verdict.p if verdict else None,
    )


def keys_of(
    digest: str, strategies: Sequence[str], trials: int, jobs: int, stop_early: Sequence[bool]
) -> list[Key]:
    """All jobs that are asked for, seed by seed, so that a part of them is a fair sample."""
    return [
        Key(digest, strategy, trials, early, seed)
        for seed in range(jobs)
        for strategy in strategies
        for early in stop_early
        if not early or "stop_early" in find_strategy(strategy).settings
    ]
