"""How the sampling phase went, as a document: a part of result.json."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from optimizer.ranking.sampling import (
    LEAST_JUDGED,
    LEVEL,
    Checkpoint,
    agreement_of,
    checkpoints,
    enough_drawn,
    look,
)
from optimizer.strategies.strategy import LearnsEffects, Strategy
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Phase, Purpose


def sampling_document(
    problem: Problem, strategy: Strategy, history: History, *, explore: int
) -> dict[str, Any] | None:
    """Draws made and planned, why they ended, and how far halves of them agreed on the way.

    Args:
        problem: What was tuned.
        strategy: How.
        history: The trials; all draws have ended.
        explore: How many new configurations the budget holds in all.

    Returns:
        None where the strategy does not rank, so that it draws to its end, or draws nothing.
    """
    planned = strategy.samples(problem, explore)
    if planned >= explore or planned == 0:
        return None
    drawn = len(history.own(Purpose.CANDIDATE, Phase.SAMPLE))
    return {
        "draws": drawn,
        "planned": planned,
        "why": why_sampling_ended(problem, strategy, history, explore=explore),
        "curve": []
        if isinstance(strategy, LearnsEffects)
        else [asdict(point) for point in _curve(problem, history, drawn)],
    }


def why_sampling_ended(
    problem: Problem, strategy: Strategy, history: History, *, explore: int
) -> str:
    """One sentence: what ended the draws, and whether what they teach can be relied on."""
    planned = strategy.samples(problem, explore)
    drawn = len(history.own(Purpose.CANDIDATE, Phase.SAMPLE))
    given = history.lessons(Purpose.CANDIDATE, Phase.SAMPLE)
    if enough_drawn(problem, history, planned):
        ended = f"enough after {drawn} of at most {planned} draws"
    elif drawn + given >= planned:
        asked = problem.search.samples is not None
        ended = f"all {planned} draws {'that were asked for ' if asked else ''}are in"
        ended += f", {given} of them given" if given else ""
    else:
        ended = f"{drawn} of {planned} draws are in; time or new configurations ran out"
    if isinstance(strategy, LearnsEffects):
        return f"{ended}: models learn from them, and from every trial of the search"
    curve = _curve(problem, history, drawn)
    return f"{ended}: {_judged(problem, curve[-1], strategy)}" if curve else ended


def _curve(problem: Problem, history: History, drawn: int) -> list[Checkpoint]:
    numbers = [*checkpoints(drawn), drawn] if drawn >= LEAST_JUDGED else []
    return [look(problem, history, number) for number in numbers]


def _judged(problem: Problem, last: Checkpoint, strategy: Strategy) -> str:
    if problem.search.over:
        return "the search goes over the parameters that were named, whatever the ranking"
    if "top" not in strategy.heeds:
        return "the search goes over all parameters that may move, whatever the ranking"
    agreement, top = agreement_of(problem, last), problem.search.top
    if agreement is None:
        return "every parameter is searched, so no ranking decides"
    return (
        f"the ranking is {'stable' if agreement >= LEVEL - 1e-9 else 'not yet stable'}, "
        f"random halves of the draws share {top * last.top_k_overlap:.1f} of their top {top}"
    )
