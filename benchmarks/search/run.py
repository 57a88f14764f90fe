"""One strategy on one test function: what it recommends after so many evaluations.

It uses the `Strategy` protocol alone. The baseline is measured as a job does: first, and again at
intervals; its runs are not counted as evaluations.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.search.function import TestFunction
from optimizer.budget import LEAST_TRIALS, divide
from optimizer.history import History
from optimizer.knowledge import baseline_of, best_first
from optimizer.problem import Problem
from optimizer.strategy import Prefers, Proposal, Strategy
from optimizer.trial import Phase, Purpose, Trial
from sampler.space import Configuration, digest


@dataclass(frozen=True)
class Judged:
    """A recommendation.

    Attributes:
        evaluations: After how many new configurations.
        fitness: Its true fitness.
        measured: The best fitness that was measured of it; None: it was not.
        seconds: Processor time of all proposals so far.
    """

    evaluations: int
    fitness: float
    measured: float | None
    seconds: float


def run(
    function: TestFunction,
    strategy: Strategy,
    *,
    seed: int,
    evaluations: int,
    checkpoints: Sequence[int],
) -> list[Judged]:
    """Runs a strategy.

    Args:
        function: Measures and judges.
        strategy: Proposes.
        seed: Of the job; the noise of a trial depends on it and on the trial's number.
        evaluations: How many new configurations are measured, at most.
        checkpoints: After how many of them it is judged. Where it proposes no more, what it
            recommended last stands.

    Returns:
        One for each checkpoint up to `evaluations`.
    """
    problem = replace(function.problem, seed=seed)
    history, seconds, judged = History(), 0.0, list[Judged]()
    plan = divide(max(evaluations, LEAST_TRIALS))
    for _ in range(plan.first):
        _measure_baseline(function, problem, history)
    ended = False
    for count in range(1, evaluations + 1):
        if not ended:
            if history.since_baseline(None) >= plan.repeat_every:
                _measure_baseline(function, problem, history)
            number, began = history.next_number, time.process_time()
            proposal = strategy.propose(problem, history, number=number, explore=evaluations)
            seconds += time.process_time() - began
            ended = proposal is None
            if proposal is not None:
                _measure(function, problem, history, proposal)
        if count in checkpoints:
            judged.append(_judged(function, problem, strategy, history, count, seconds))
    return judged


def _measure_baseline(function: TestFunction, problem: Problem, history: History) -> None:
    number, default = history.next_number, function.default
    trial = Trial(
        number=number,
        phase=Phase.BASELINE,
        purpose=Purpose.BASELINE,
        seed=problem.seed_of(number),
        configuration=default,
        digest=digest(default),
        subject=1,
    )
    history.put(function.measured(trial, None))


def _measure(
    function: TestFunction, problem: Problem, history: History, proposal: Proposal
) -> None:
    number = history.next_number
    trial = Trial(
        number=number,
        phase=proposal.phase,
        purpose=Purpose.CANDIDATE,
        seed=problem.seed_of(number),
        configuration=proposal.configuration,
        digest=digest(proposal.configuration),
        point=proposal.point,
        subject=proposal.subject,
        why=proposal.why,
        based_on=history.finished,
    )
    history.put(function.measured(trial, baseline_of(history).metrics.get("time")))


def _judged(
    function: TestFunction,
    problem: Problem,
    strategy: Strategy,
    history: History,
    count: int,
    seconds: float,
) -> Judged:
    chosen = recommended(problem, strategy, history)
    measured: Mapping[str, float] = {}
    for value, trial in best_first(problem, history, history.of(Purpose.CANDIDATE)):
        if trial.done:
            measured = {trial.digest: value, **measured}
    fitness = float(function.fitness([chosen])[0])
    return Judged(count, fitness, measured.get(digest(chosen)), seconds)


def recommended(problem: Problem, strategy: Strategy, history: History) -> Configuration:
    """The configuration that a strategy stands for: its own choice, or the best measured.

    Before anything was measured whole it is the baseline.
    """
    if isinstance(strategy, Prefers):
        for number in strategy.preferred(problem, history):
            return history[number].configuration
    ranked = best_first(problem, history, history.of(Purpose.CANDIDATE))
    best = next((trial for _, trial in ranked if trial.done), None)
    return problem.space.default_configuration() if best is None else best.configuration
