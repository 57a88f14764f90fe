"""One strategy on one test function: what it recommends after so many evaluations.

It uses the `Strategy` protocol alone. The baseline is measured as a job does: first, and again at
intervals; its runs are not counted as evaluations.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from optimizer.budget.budget import LEAST_TRIALS, Plan, divide
from optimizer.evaluation.evaluation import Evaluation
from optimizer.run.steps import proposed_trial
from optimizer.strategies.strategy import Proposal, Strategy, next_start
from optimizer.trials.problem import Problem
from optimizer.trials.trial import History, Phase, Purpose, Trial
from sampler.space.space import Configuration, digest
from studies.search.function import TestFunction


def plan_for(evaluations: int) -> Plan:
    """How often the baseline is measured beside so many new configurations."""
    return divide(max(evaluations, LEAST_TRIALS))


def baseline_due(plan: Plan, history: History) -> bool:
    """Whether the baseline is measured next, as a job does: first, and again at intervals."""
    if len(history.numbers(Purpose.BASELINE)) < plan.first:
        return True
    return history.since_baseline(None) >= plan.repeat_every


def baseline_trial(problem: Problem, history: History) -> Trial:
    """The next run of the baseline."""
    number, default = history.next_number, problem.space.default_configuration()
    return Trial(
        number=number,
        phase=Phase.BASELINE,
        purpose=Purpose.BASELINE,
        seed=problem.seed_of(number),
        configuration=default,
        digest=digest(default),
        subject=1,
    )


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
    evaluation = Evaluation(problem, History() if history is None else history)
    history = evaluation.history
    seconds, judged = 0.0, list[Judged]()
    plan = plan_for(evaluations)
    ended = False
    for count in range(1, evaluations + 1):
        if not ended:
            while baseline_due(plan, history):
                measure_baseline(function, evaluation)
            number, began = history.next_number, time.process_time()
            proposal = next_start(evaluation, evaluations) or strategy.propose(
                evaluation, number=number, explore=evaluations
            )
            seconds += time.process_time() - began
            ended = proposal is None
            if proposal is not None:
                measure(function, evaluation, proposal)
        if count in checkpoints:
            judged.append(_judged(function, strategy, evaluation, count, seconds))
    return judged


def measure_baseline(function: TestFunction, evaluation: Evaluation) -> None:
    """Adds a run of the baseline to the history."""
    problem, history = evaluation.problem, evaluation.history
    history.put(function.measured(baseline_trial(problem, history), None))


def measure(function: TestFunction, evaluation: Evaluation, proposal: Proposal) -> None:
    """Adds what was proposed to the history, as the function answers."""
    trial = proposed_trial(evaluation, proposal)
    level = evaluation.baseline.metrics.get("time")
    evaluation.history.put(function.measured(trial, level))


def _judged(
    function: TestFunction,
    strategy: Strategy,
    evaluation: Evaluation,
    count: int,
    seconds: float,
) -> Judged:
    chosen = recommended(strategy, evaluation)
    measured: Mapping[str, float] = {}
    for value, trial in evaluation.best_first(evaluation.history.of(Purpose.CANDIDATE)):
        if trial.done:
            measured = {trial.digest: value, **measured}
    fitness = float(function.fitness([chosen])[0])
    return Judged(count, fitness, measured.get(digest(chosen)), seconds)


def recommended(strategy: Strategy, evaluation: Evaluation) -> Configuration:
    """The configuration that a strategy stands for: its own choice, or the best measured.

    Before anything was measured whole it is the baseline.
    """
    for number in strategy.preferred(evaluation):
        return evaluation.history[number].configuration
    best = best_measured(evaluation)
    return (
        evaluation.problem.space.default_configuration() if best is None else best[1].configuration
    )


def best_measured(evaluation: Evaluation) -> tuple[float, Trial] | None:
    """The new configuration with the best fitness that was measured whole; None: there is none."""
    ranked = evaluation.best_first(evaluation.history.of(Purpose.CANDIDATE))
    return next(((value, trial) for value, trial in ranked if trial.done), None)
