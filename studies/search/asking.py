"""What a strategy that is compared measures next: the baseline at intervals, else its proposal."""

from __future__ import annotations

from optimizer.budget.budget import LEAST_TRIALS, Plan, divide
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.space.space import digest


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
