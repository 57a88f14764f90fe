"""One whole job on a machine on which no option matters, and what it says it found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np

from optimizer.confirmation.proof import Pair, ProofClocks, judge
from optimizer.evaluation.evaluation import Evaluation
from optimizer.objective.objective import Objective
from optimizer.results.result import Conclusion, both_done, proof_pairs
from optimizer.results.search import search_end
from optimizer.run.driver import Driver, tune
from optimizer.run.planning import Budget
from optimizer.strategies.registry import find_strategy
from optimizer.trials.problem import Problem
from optimizer.trials.trial import History, Purpose, Trial
from studies.memory_log import MemoryLog
from studies.search.function import Noise, noise_of
from studies.search.machine import Neighbour, SimulatedMachine
from studies.search.recorded import Recorded


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


# Of 30 runs of load-quick beside a program that took one of two cores for 3 s of every 9 (RocksDB
# 7.8.3, 2026-11-27): what it changed, and the scatter of log time that was left without it.
NEIGHBOUR = Neighbour({"time": 0.63, "rate": -0.76})
LEFT = 0.069


def null_machine(level: Level, job: int, *, neighbour: bool = False) -> SimulatedMachine:
    """A machine on which no option matters; nothing is so slow there that it is cut off.

    With a ``neighbour`` its own noise is what was left of the real one's.
    """
    noise = level.noise.scaled(LEFT / level.noise.scatter["time"]) if neighbour else level.noise
    return SimulatedMachine(
        lambda _: level.metrics,
        noise,
        job,
        stream=6,
        cuts_off=False,
        neighbour=NEIGHBOUR if neighbour else None,
    )


@dataclass(frozen=True)
class Key:
    """What a job is.

    Attributes:
        digest: Of the recorded runs that space and noise are from.
        trials: The budget.
        seed: Of the job and of its noise; with and without ``stop_early`` they are the same, so
            that both jobs are one until the first stops.
        neighbour: Whether another program runs beside it, whose use of the processors it knows.
    """

    digest: str
    strategy: str
    trials: int
    stop_early: bool
    seed: int
    neighbour: bool = False


FASTER = 0.9  # times the baseline's time: the gain of which the power is told


class Proof(TypedDict):
    """Interval of the fitness, what is reported, and what were if the winner were faster."""

    low: float
    high: float
    confirmed: bool
    faster: bool


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
        raw, corrected: The proof by raw clocks, and by those that are corrected for the neighbour;
            None without one, or without a proof.
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
    raw: Proof | None = None
    corrected: Proof | None = None


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
        search=problem.search.model_copy(update={"stop_early": key.stop_early}),
    )
    machine, strategy, log = (
        null_machine(level, key.seed, neighbour=key.neighbour),
        find_strategy(key.strategy),
        MemoryLog(),
    )
    driver = Driver(posed, Budget(trials=key.trials), strategy, log, now=machine.now)
    conclusion = tune(driver, machine)
    verdict = conclusion.verdict
    search = search_end(Evaluation(posed, conclusion.history), conclusion.plan, strategy)
    return Line(
        key=key,
        runs=len(conclusion.history),
        explored=sum(trial.purpose is Purpose.CANDIDATE for trial in conclusion.history),
        again=search.again if search else 0,
        saved=search.saved if search else 0,
        gain=search.gain if search else None,
        noise=search.noise if search else None,
        confirmed=bool(verdict and verdict.confirmed),
        p=verdict.p if verdict else None,
        **(_both_proofs(conclusion) if key.neighbour else {}),
    )


def raw_pairs(trials: Iterable[Trial], winner: int | None) -> list[Pair]:
    """The proof's pairs by raw clocks: as if no run had told the machine's state."""
    return ProofClocks().pairs(both_done(History(trials), winner))


def _both_proofs(found: Conclusion) -> dict[str, Proof | None]:
    objective, unseen = found.evaluation.problem.objective, found.clocks.unseen
    return {
        "raw": _proof(objective, raw_pairs(found.history, found.winner), ()),
        "corrected": _proof(objective, proof_pairs(found), unseen),
    }


def _proof(
    objective: Objective, pairs: Sequence[Pair], unseen: Sequence[Mapping[str, float]]
) -> Proof | None:
    better = {"time": FASTER, "rate": 1 / FASTER}
    faster = [(b, {n: v * better.get(n, 1.0) for n, v in w.items()}) for b, w in pairs]
    found, shown = (
        judge(objective, each, planned=len(pairs), unseen=unseen) for each in (pairs, faster)
    )
    if found is None or shown is None:
        return None
    return Proof(low=found.low, high=found.high, confirmed=found.confirmed, faster=shown.confirmed)


def keys_of(
    digest: str,
    strategies: Sequence[str],
    trials: int,
    jobs: int,
    stop_early: Sequence[bool],
    *,
    neighbour: bool = False,
) -> list[Key]:
    """All jobs that are asked for, seed by seed, so that a part of them is a fair sample."""
    return [
        Key(digest, strategy, trials, early, seed, neighbour)
        for seed in range(jobs)
        for strategy in strategies
        for early in stop_early
        if not early or "stop_early" in find_strategy(strategy).settings
    ]
