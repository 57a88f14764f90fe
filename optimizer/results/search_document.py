"""How the search ended: what it could still have gained, as a document: a part of result.json."""

from __future__ import annotations

from typing import Any

from optimizer.budget.budget import Plan
from optimizer.budget.spent import explore_left
from optimizer.confirmation.choosing import explored_history
from optimizer.evaluation.measured_again import again
from optimizer.results.contributions import why_ended
from optimizer.strategies.strategy import Foresees, Strategy, Sweeps
from optimizer.surrogate.prospect import SAID, Prospect
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Phase, Purpose


def search_document(
    problem: Problem, plan: Plan, strategy: Strategy, history: History
) -> dict[str, Any] | None:
    """What the next run of the search would have promised when it ended, against the noise.

    Args:
        problem: What was tuned.
        plan: How the budget was divided.
        strategy: How it was searched.
        history: The trials; those of the confirmation do not count.

    Returns:
        ``gain``, ``lately`` and ``noise`` in units of fitness, ``exhausted``, ``since`` (the first
        trial that was known to be so), ``saved`` (runs of the benchmark), ``again`` (runs that
        measured a configuration again) and ``why``; None where the strategy foresees nothing.
    """
    if not isinstance(strategy, Foresees):
        return None
    before = explored_history(problem, history)
    prospect = strategy.prospect(problem, before, plan.explore)
    if prospect is None:
        return None
    since = _since(before)
    left = max(0, explore_left(plan, before))
    saved = left if problem.search.stop_early and prospect.exhausted else 0
    return {
        "gain": prospect.gain,
        "lately": prospect.lately,
        "noise": prospect.noise,
        "exhausted": prospect.exhausted,
        "since": since,
        "saved": saved,
        "again": len(again(before)),
        "why": _why(prospect, saved, _after(before, since)),
    }


def why_search_ended(
    problem: Problem, plan: Plan, strategy: Strategy, history: History
) -> str | None:
    """One line: whether going on would have been worth it; None where nobody knows."""
    if isinstance(strategy, Sweeps):
        before = explored_history(problem, history)
        return why_ended(problem, strategy.course(problem, before, plan.explore))
    document = search_document(problem, plan, strategy, history)
    return document["why"] if document else None


def _why(prospect: Prospect, saved: int, spent: int) -> str:
    said = prospect.words()
    if saved:
        return f"{said}: {saved} runs saved"
    if prospect.exhausted and spent:
        return f"{said}: {spent} runs went on since it was; --stop-early saves them"
    return said


def _since(before: History) -> int | None:
    """The first trial that was proposed although the search was exhausted."""
    searched = before.of(Purpose.CANDIDATE, Phase.SEARCH)
    return next((trial.number for trial in searched if SAID in trial.why), None)


def _after(before: History, since: int | None) -> int:
    return 0 if since is None else sum(trial.number >= since for trial in before)
