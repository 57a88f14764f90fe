"""How the sampling and the search of a job went, as documents: parts of result.json."""

from dataclasses import asdict
from typing import Any

from optimizer.budget.budget import Plan, explore_left
from optimizer.confirmation.choice import as_explored
from optimizer.evaluation.configurations import replicated
from optimizer.evaluation.evaluation import Evaluation
from optimizer.ranking.sampling import (
    LEAST_JUDGED,
    LEVEL,
    Checkpoint,
    agreement_of,
    checkpoint_at,
    checkpoints,
    enough_drawn,
)
from optimizer.results.contributions import why_ended
from optimizer.strategies.strategy import Strategy
from optimizer.surrogate.stopping_rule import SAID
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Basis, Phase, Purpose, Trial


def sampling_document(
    evaluation: Evaluation, strategy: Strategy, *, explore: int
) -> dict[str, Any] | None:
    """Draws made and planned, why they ended, and how far halves of them agreed on the way.

    All draws have ended, of a budget of ``explore`` new configurations. None where the strategy
    does not rank, so that it draws to its end, or draws nothing.
    """
    problem, history = evaluation.problem, evaluation.history
    planned = strategy.samples(problem, explore)
    if planned >= explore or planned == 0:
        return None
    drawn = len(history.own(Purpose.CANDIDATE, Phase.SAMPLE))
    return {
        "draws": drawn,
        "planned": planned,
        "why": why_sampling_ended(evaluation, strategy, explore=explore),
        "curve": [] if strategy.has_models else [asdict(point) for point in _curve(evaluation)],
    }


def why_sampling_ended(evaluation: Evaluation, strategy: Strategy, *, explore: int) -> str:
    """One sentence: what ended the draws, and whether what they teach can be relied on."""
    problem, history = evaluation.problem, evaluation.history
    planned = strategy.samples(problem, explore)
    drawn = len(history.own(Purpose.CANDIDATE, Phase.SAMPLE))
    given = history.given_measured(Purpose.CANDIDATE, Phase.SAMPLE)
    if enough_drawn(evaluation, planned):
        ended = f"enough after {drawn} of at most {planned} draws"
    elif drawn + given >= planned:
        asked = problem.search.samples is not None
        ended = f"all {planned} draws {'that were asked for ' if asked else ''}are in"
        ended += f", {given} of them given" if given else ""
    else:
        ended = f"{drawn} of {planned} draws are in; time or new configurations ran out"
    if strategy.has_models:
        return f"{ended}: models learn from them, and from every trial of the search"
    curve = _curve(evaluation)
    return f"{ended}: {_judged(problem, curve[-1], strategy)}" if curve else ended


def _curve(evaluation: Evaluation) -> list[Checkpoint]:
    drawn = len(evaluation.history.drawn)
    numbers = [*checkpoints(drawn), drawn] if drawn >= LEAST_JUDGED else []
    return [checkpoint_at(evaluation, number) for number in numbers]


def _judged(problem: Problem, last: Checkpoint, strategy: Strategy) -> str:
    if problem.search.over:
        return "the search goes over the parameters that were named, whatever the ranking"
    if "top" not in strategy.settings:
        return "the search goes over all parameters that may move, whatever the ranking"
    agreement, top = agreement_of(problem, last), problem.search.top
    if agreement is None:
        return "every parameter is searched, so no ranking decides"
    return (
        f"the ranking is {'stable' if agreement >= LEVEL - 1e-9 else 'not yet stable'}, "
        f"random halves of the draws share {top * last.top_k_overlap:.1f} of their top {top}"
    )


def search_document(
    evaluation: Evaluation, plan: Plan, strategy: Strategy
) -> dict[str, Any] | None:
    """What the next run of the search would have promised when it ended, against the noise.

    Trials of the confirmation do not count.

    Returns:
        ``gain``, ``lately`` and ``noise`` in units of fitness, ``exhausted``, ``since`` (the first
            trial that was known to be so), ``saved`` (runs of the benchmark), ``again`` (runs that
            measured a configuration again) and ``why``; None where the strategy foresees nothing.
    """
    explored = as_explored(evaluation)
    stopping_rule = strategy.stopping_rule(explored, plan.explore)
    if stopping_rule is None:
        return None
    before = explored.history
    searched = before.of(Purpose.CANDIDATE, Phase.SEARCH)
    # The first trial that was proposed although the search was exhausted.
    since = next((trial.number for trial in searched if _exhausted(trial)), None)
    spent = 0 if since is None else sum(trial.number >= since for trial in before)
    left = max(0, explore_left(plan, before))
    saved = left if evaluation.problem.search.stop_early and stopping_rule.exhausted else 0
    why = stopping_rule.words()
    if saved:
        why += f": {saved} runs saved"
    elif stopping_rule.exhausted and spent:
        why += f": {spent} runs went on since it was; --stop-early saves them"
    return {
        "gain": stopping_rule.gain,
        "lately": stopping_rule.lately,
        "noise": stopping_rule.noise,
        "exhausted": stopping_rule.exhausted,
        "since": since,
        "saved": saved,
        "again": len(replicated(before)),
        "why": why,
    }


def _exhausted(trial: Trial) -> bool:
    """Whether a search that could gain no more proposed it."""
    if trial.basis is not None:
        return trial.basis is Basis.EXHAUSTED
    return SAID in trial.why  # of earlier versions


def why_search_ended(evaluation: Evaluation, plan: Plan, strategy: Strategy) -> str | None:
    """One line: whether going on would have been worth it; None where nobody knows."""
    series = strategy.sweep_progress(as_explored(evaluation), plan.explore)
    if series is not None:
        return why_ended(evaluation.problem, series)
    document = search_document(evaluation, plan, strategy)
    return document["why"] if document else None
