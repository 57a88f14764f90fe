"""Trials for a runner that is not ours: asked for several at a time, told in any order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from optimizer.budget.budget import Plan
from optimizer.run.steps import next_trial
from optimizer.strategies.strategy import Strategy
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Trial
from sampler.runner.outcome import TrialState


@dataclass(frozen=True)
class Asked:
    """What may be measured now.

    Attributes:
        trials: To be measured, in this order or side by side.
        why: Why there are no more than these.
        complete: Nothing is left to measure, and nothing is out.
    """

    trials: tuple[Trial, ...]
    why: str
    complete: bool = False


def ask(
    problem: Problem,
    plan: Plan,
    strategy: Strategy,
    history: History,
    *,
    count: int,
    now: datetime,
    overdue: datetime | None = None,
) -> Asked:
    """The next trials; they are put into the history as running.

    A phase begins when all trials of the one before are told: what it does rests on them.

    Args:
        problem: What is tuned.
        plan: How the budget is divided.
        strategy: Proposes new configurations.
        history: The trials so far; some may be out.
        count: How many are wanted at most.
        now: When they begin.
        overdue: What is out since before this moment is handed out again.

    Raises:
        InputError: The baseline cannot be measured.
    """
    out = history.unfinished()
    again = [
        trial
        for trial in out
        if trial.state is TrialState.LOST
        or (overdue and trial.started_at and trial.started_at < overdue)
    ]
    asked: list[Trial] = []
    for trial in again[:count]:
        anew = replace(trial.again(), started_at=now)
        history.put(anew)
        asked.append(anew)
    why, complete = "as many as were asked for", False
    while len(asked) < count:
        proposed = next_trial(problem, plan, strategy, history)
        if proposed is None:
            complete = not history.unfinished()
            why = "all trials are in" if complete else _waits(history)
            break
        begun = replace(proposed, started_at=now)
        history.put(begun)
        asked.append(begun)
    return Asked(tuple(asked), why, complete)


def _waits(history: History) -> str:
    numbers = ", ".join(str(trial.number) for trial in history.unfinished()[:10])
    return f"what comes next rests on trials that are out: tell {numbers} first"
