"""One strategy on one test function: what it recommends after so many evaluations.

It uses the `Strategy` protocol alone. The baseline is measured as a job does: first, and again at
intervals; its runs are not counted as evaluations.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.search.asking import baseline_due, baseline_trial, candidate_trial, plan_for
from benchmarks.search.function import TestFunction
from optimizer.evaluation.evaluation import baseline_of, best_first
from optimizer.strategies.strategy import Prefers, Proposal, Strategy, next_start
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Purpose, Trial
from sampler.space.space import Configuration, digest


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
    history: History | None = None,
) -> list[Judged]:
    """Runs a strategy, from the problem's starting points on where it has some.

    Args:
        function: Measures and judges.
        strategy: Proposes.
        seed: Of the job; the noise of a trial depends on it and on the trial's number.
        evaluations: How many new configurations are measured, at most.
        checkpoints: After how many of them it is judged. Where it proposes no more, what it
            recommended last stands.
        history: An empty one, to receive the trials.

    Returns:
        One for each checkpoint up to `evaluations`.
    """
    problem = replace(function.problem, seed=seed)
    history = History() if history is None else history
    seconds, judged = 0.0, list[Judged]()
    plan = plan_for(evaluations)
    ended = False
    for count in range(1, evaluations + 1):
        if not ended:
            while baseline_due(plan, history):
                measure_baseline(function, problem, history)
            number, began = history.next_number, time.process_time()
            proposal = next_start(problem, history, evaluations) or strategy.propose(
                problem, history, number=number, explore=evaluations
            )
            seconds += time.process_time() - began
            ended = proposal is None
            if proposal is not None:
                measure(function, problem, history, proposal)
        if count in checkpoints:
            judged.append(_judged(function, problem, strategy, history, count, seconds))
    return judged


def measure_baseline(function: TestFunction, problem: Problem, history: History) -> None:
    """Adds a run of the baseline to the history."""
    history.put(function.measured(baseline_trial(problem, history), None))


def measure(
    function: TestFunction, problem: Problem, history: History, proposal: Proposal
) -> None:
    """Adds what was proposed to the history, as the function answers."""
    trial = candidate_trial(problem, history, proposal)
    level = baseline_of(history).metrics.get("time")
    history.put(function.measured(trial, level))


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
    best = best_measured(problem, history)
    return problem.space.default_configuration() if best is None else best[1].configuration


def best_measured(problem: Problem, history: History) -> tuple[float, Trial] | None:
    """The new configuration with the best fitness that was measured whole; None: there is none."""
    ranked = best_first(problem, history, history.of(Purpose.CANDIDATE))
    return next(((value, trial) for value, trial in ranked if trial.done), None)
