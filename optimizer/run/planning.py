"""What a job's budget comes to, and the words for its phases."""

from __future__ import annotations

from dataclasses import dataclass

from optimizer.budget.budget import LEAST_TRIALS, Plan, divide, full_seconds, trials_in
from optimizer.budget.confirm_load import confirming_seconds, where_words
from optimizer.budget.sample_size import LEAST_TRIALS_TO_DETECT, sentence, with_planned_pairs
from optimizer.strategies.strategy import Strategy
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Phase, Purpose
from sampler.workload.workload import Workload

_WHY = {
    Phase.BASELINE: "measure the baseline, what every trial is compared with",
    Phase.SAMPLE: "draw configurations from the whole space, to learn what matters",
    Phase.RANK: "learn from the draws which parameters matter",
    Phase.SEARCH: "search the parameters that matter most",
    Phase.CONFIRM: "measure the best few again, then prove the winner on fresh runs",
}


@dataclass(frozen=True)
class Budget:
    """How much may be spent: runs of the benchmark, or minutes. One of the two is set."""

    trials: int | None = None
    minutes: float | None = None


def reason(phase: Phase, plan: Plan, strategy: Strategy, confirm: Workload | None = None) -> str:
    """Why a job enters a phase; where pairs are planned from noise, how many and why.

    ``confirm`` is the load of the confirmation, where it is another than the search's.
    """
    said = sentence(plan) if phase in (Phase.SAMPLE, Phase.CONFIRM) else None
    where = f", {where_words(confirm)}" if confirm and phase is Phase.CONFIRM else ""
    return strategy.phase_words.get(phase, _WHY[phase]) + where + (f"; {said}" if said else "")


def plan_of(problem: Problem, budget: Budget, history: History) -> Plan:
    """The division of the budget; minutes become trials by the baseline's first runs."""
    return with_planned_pairs(problem, _divided(problem, budget, history), history)


def hurried(problem: Problem, budget: Budget, plan: Plan, history: History) -> bool:
    """Whether the minutes that are left are just enough to confirm."""
    candidates = len(history.numbers(Purpose.CANDIDATE))
    if budget.minutes is None or candidates < divide(LEAST_TRIALS).explore:
        return False
    spent = sum(trial.bench_seconds for trial in history)
    each = sum(map(full_seconds, history)) / max(history.finished, 1)
    if problem.confirm is not None:
        each = confirming_seconds(problem, history) or each
    return spent + plan.confirm_runs * each >= _bench_minutes(budget.minutes, history) * 60


def _divided(problem: Problem, budget: Budget, history: History) -> Plan:
    if budget.trials is not None:
        return divide(budget.trials)
    first = [t for t in history.of(Purpose.BASELINE, Phase.BASELINE) if t.done][:2]
    if not first or budget.minutes is None:
        return divide(1000)  # only its first baselines are looked at before they are there
    seconds = sum(map(full_seconds, first)) / len(first)
    least = LEAST_TRIALS if problem.search.detect is None else LEAST_TRIALS_TO_DETECT
    minutes = _bench_minutes(budget.minutes, history)
    if problem.confirm is None:
        return divide(trials_in(minutes, seconds, least=least))
    # By the first runs alone, so that the plan stays what it was while it is confirmed.
    larger = confirming_seconds(problem, History(first)) or seconds
    return _fitting(minutes * 60, seconds, larger, least=least)


def _fitting(seconds: float, searching: float, confirming: float, *, least: int) -> Plan:
    """The largest plan that fits into a time, its two kinds of runs taking so many seconds each.

    One trial more never takes less, so halving the range finds it.
    """
    low, high = least, trials_in(seconds / 60, searching, least=least)
    while low < high:
        middle = (low + high + 1) // 2
        plan = divide(middle)
        larger = plan.confirm_runs
        if (middle - larger) * searching + larger * confirming <= seconds:
            low = middle
        else:
            high = middle - 1
    return divide(low)


def _bench_minutes(minutes: float, history: History) -> float:
    """The minutes of all hosts that the job began with: they measure side by side."""
    first = history.of(Purpose.BASELINE, Phase.BASELINE)
    return minutes * max(1, len({trial.host for trial in first if trial.done and trial.host}))
