"""What a job's budget comes to, and the words for its phases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from optimizer.budget import LEAST_TRIALS, Plan, divide, trials_in
from optimizer.detection import LEAST_TRIALS_TO_DETECT, planned, sentence
from optimizer.history import History
from optimizer.problem import Problem
from optimizer.strategy import LearnsEffects, Strategy
from optimizer.trial import Phase, Purpose

_GUIDED = {
    Phase.SAMPLE: "draw a few configurations from the whole space, for the models to begin with",
    Phase.RANK: "learn a model of each metric from the draws",
    Phase.SEARCH: "measure what the models expect to gain most; they learn from every trial",
}
_UNRANKED = {Phase.SEARCH: "search all parameters that may move"}
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


def reason(phase: Phase, plan: Plan, strategy: Strategy) -> str:
    """Why a job enters a phase; where pairs are planned from noise, how many and why."""
    said = sentence(plan) if phase in (Phase.SAMPLE, Phase.CONFIRM) else None
    why = _words(strategy).get(phase, _WHY[phase])
    return f"{why}; {said}" if said else why


def _words(strategy: Strategy) -> Mapping[Phase, str]:
    """What a strategy says of its phases that differs from the paper's."""
    if isinstance(strategy, LearnsEffects):
        return _GUIDED
    return {} if "top" in strategy.heeds else _UNRANKED


def plan_of(problem: Problem, budget: Budget, history: History) -> Plan:
    """The division of the budget; minutes become trials by the baseline's first runs."""
    return planned(problem, _divided(problem, budget, history), history)


def hurried(budget: Budget, plan: Plan, history: History) -> bool:
    """Whether the minutes that are left are just enough to confirm."""
    candidates = len(history.numbers(Purpose.CANDIDATE))
    if budget.minutes is None or candidates < divide(LEAST_TRIALS).explore:
        return False
    spent = sum(trial.bench_seconds for trial in history)
    each = spent / max(history.finished, 1)
    return spent + plan.confirm_runs * each >= _bench_minutes(budget.minutes, history) * 60


def _divided(problem: Problem, budget: Budget, history: History) -> Plan:
    if budget.trials is not None:
        return divide(budget.trials)
    first = [t for t in history.of(Purpose.BASELINE, Phase.BASELINE) if t.done][:2]
    if not first or budget.minutes is None:
        return divide(1000)  # only its first baselines are looked at before they are there
    seconds = sum(trial.bench_seconds for trial in first) / len(first)
    least = LEAST_TRIALS if problem.search.detect is None else LEAST_TRIALS_TO_DETECT
    return divide(trials_in(_bench_minutes(budget.minutes, history), seconds, least=least))


def _bench_minutes(minutes: float, history: History) -> float:
    """The minutes of all hosts that the job began with: they measure side by side."""
    first = history.of(Purpose.BASELINE, Phase.BASELINE)
    return minutes * max(1, len({trial.host for trial in first if trial.done and trial.host}))
