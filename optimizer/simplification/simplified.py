"""Simplified versions of the best: what is not shown to help goes back to the baseline.

The last of the new configurations are kept for them. Models of all trials so far say what each
change of one of the best is worth beside the others. Those that are worth less than a user would
notice go back, together. Other runs leave out, at random, what the models are not sure of: each
tells of all of these changes, as in a screening experiment (Box, Hunter and Hunter, Statistics for
Experimenters, 2005, chapter 6).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.evaluation.evaluation import Evaluation
from optimizer.simplification.changes import Changes, Names, moves_back
from optimizer.strategies.strategy import Proposal
from optimizer.surrogate.predictions import Comparison, comparison_of
from optimizer.trials.trial import Basis, Phase
from sampler.space.space import digest

NOTICED = 0.06  # of what a configuration gains: what goes back together may be worth so much
_TAIL = 0.025
_TRIES = 20
_MOST_SAID = 4


@dataclass(frozen=True)
class Contribution:
    """What some changes, which can only be taken back together, are worth beside the others."""

    names: Names
    gain: float  # in fitness, as the models expect it
    low: float  # low, high: its 95% interval
    high: float


def contributions_of(known: Comparison, changes: Changes, kept: Names) -> list[Contribution]:
    """What each of the changes made is worth; the least first."""
    moves = moves_back(changes, kept)
    if not moves:
        return []
    drawn = known.drawn_fitness([changes.configuration(each) for each in _left(kept, moves)])
    gains = drawn[:, :1] - drawn[:, 1:]
    low, high = np.quantile(gains[1:], [_TAIL, 1 - _TAIL], axis=0)
    found = map(Contribution, moves, gains[0].tolist(), low.tolist(), high.tolist())
    return sorted(found, key=lambda each: each.gain)


def noticed(known: Comparison, changes: Changes) -> Names:
    """The fewest changes that lose no more than users would notice, and no limit that all keep."""
    kept, objective = frozenset(changes.names), known.problem.objective
    whole = known.metrics([changes.winner])
    fitness = float(objective.fitness_of_many(whole, known.baseline)[0])
    limits = objective.kept_limits(whole, known.baseline)
    while kept:
        moves = moves_back(changes, kept)
        moved = known.metrics([changes.configuration(each) for each in _left(kept, moves)[1:]])
        lost = fitness - objective.fitness_of_many(moved, known.baseline)
        broken = limits & ~objective.kept_limits(moved, known.baseline)
        lost[broken.any(axis=0)] = np.inf
        least = int(np.argmin(lost))
        if not lost[least] <= NOTICED * max(fitness, 0.0):
            break
        kept -= moves[least]
    return kept


def simplified_version(evaluation: Evaluation, best: Sequence[int]) -> Proposal | None:
    """A simplified version of one of the best that was not measured yet; None: there is none.

    ``best`` are the trials of the best configurations, the first one first, none of them
    simplified.
    """
    history, problem = evaluation.history, evaluation.problem
    known = comparison_of(evaluation)
    if known is None:
        return None
    for number in best[len(history.simplified) :] if len(history.simplified) < 2 else ():
        changes = Changes(problem, history[number].configuration)
        found = _proposal(evaluation, changes, noticed(known, changes), number)
        if found:
            return found
    fitness = known.fitness([history[number].configuration for number in best])
    number = best[int(np.argmax(fitness))]
    changes = Changes(problem, history[number].configuration)
    kept = noticed(known, changes)
    found = _proposal(evaluation, changes, kept, number)
    if not found and len(history.simplified) % 2:
        found = _half_restored(evaluation, changes, kept, number)
    return found or _as_drawn(evaluation, known, changes, number)


def _half_restored(
    evaluation: Evaluation, changes: Changes, kept: Names, number: int
) -> Proposal | None:
    """With half of what the models hold for worthless: it shows where they are sure and wrong."""
    back = [name for name in changes.names if name not in kept]
    rng = np.random.default_rng(evaluation.problem.seed_of(evaluation.history.next_number))
    for _ in range(_TRIES if len(back) > 1 else 0):
        some = kept.union(rng.permutation(back)[: len(back) // 2].tolist())
        found = _proposal(evaluation, changes, some, number) if changes.is_valid(some) else None
        if found:
            return found
    return None


def _as_drawn(
    evaluation: Evaluation, known: Comparison, changes: Changes, number: int
) -> Proposal | None:
    """Without the changes that do nothing in one of the models' equally likely worlds.

    What surely helps always stays and what surely does nothing always goes back; what is not known
    stays now and goes back then, so that each run tells of all of it (Thompson sampling).
    """
    full = frozenset(changes.names)
    moves = moves_back(changes, full)
    drawn = known.drawn_fitness([changes.configuration(each) for each in _left(full, moves)])
    gains, least = drawn[1:, :1] - drawn[1:, 1:], NOTICED * drawn[0, 0] / max(len(moves), 1)
    rng = np.random.default_rng(evaluation.problem.seed_of(evaluation.history.next_number))
    for row in rng.permutation(len(gains))[:_TRIES].tolist():
        back = [move for move, gain in zip(moves, gains[row], strict=True) if gain <= least]
        left = full.difference(*back)
        found = _proposal(evaluation, changes, left, number) if changes.is_valid(left) else None
        if found:
            return found
    return None


def _proposal(
    evaluation: Evaluation, changes: Changes, kept: Names, number: int
) -> Proposal | None:
    """Some of the changes of a trial; None: all or none of them, or what was measured before."""
    configuration = changes.configuration(kept)
    if not kept or len(kept) == len(changes.names) or digest(configuration) in evaluation.history:
        return None
    back = [name for name in changes.names if name not in kept]
    said = ", ".join(back[:_MOST_SAID])
    said += f" and {len(back) - _MOST_SAID} more" if len(back) > _MOST_SAID else ""
    why = (
        f"simplified: trial {number} with {len(kept)} of its {len(changes.names)} changes, "
        f"{said} as at the baseline"
    )
    return Proposal(Phase.SEARCH, None, configuration, why, basis=Basis.SIMPLIFIED)


def _left(kept: Names, moves: Sequence[Names]) -> list[Names]:
    return [kept, *(kept - move for move in moves)]
