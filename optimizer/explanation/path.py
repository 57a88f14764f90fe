"""The order in which a winner's changes are made one at a time, the largest gain first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from optimizer.explanation.changes import Changes, Names
from optimizer.surrogate.coordinates import Floats
from sampler.space.space import Configuration

Fitness = Callable[[Sequence[Configuration]], Floats]
Losses = Callable[[Sequence[Configuration]], Floats]


def path_of(changes: Changes, fitness: Fitness) -> list[Names]:
    """The steps from the baseline to the winner.

    Each step makes the change that gains most on top of those before it. What cannot stand alone
    by the space's rules is made together with what it needs.

    Args:
        changes: All of them.
        fitness: What is expected of configurations, shape ``(m,)``.

    Returns:
        The changes of each step; together they are all changes, each once.
    """
    made: Names = frozenset()
    steps: list[Names] = []
    while len(made) < len(changes.names):
        moves = moves_from(changes, made)
        worth = _fitness(changes, fitness, [made, *(made | move for move in moves)])
        gains = dict(zip(moves, (worth[1:] - worth[0]).tolist(), strict=True))
        best = max(moves, key=lambda move: gains[move])
        # Of what moves together, a part that gains by itself goes first.
        parts = [move for move in moves if move < best and gains[move] > 0]
        step = max(parts, key=lambda move: gains[move], default=best)
        steps.append(step)
        made |= step
    return steps


def moves_from(changes: Changes, made: Names) -> list[Names]:
    """The steps that can be made next, each with what must be made with it.

    Args:
        changes: All of them.
        made: Those that are made already.
    """
    rest = [name for name in changes.names if name not in made]
    return _in_order({changes.partners(made, name) for name in rest})


def fewest_changes(changes: Changes, steps: Sequence[Names], losses: Losses) -> Names:
    """The fewest changes that are as good as all of them.

    They are looked for from both ends: the changes that lose least are taken back one after the
    other, and the path's first steps are tried; the fewer of the two are taken.

    Args:
        changes: All of them.
        steps: The path.
        losses: What is lost against the winner by configurations; infinite where it is too much.
    """
    kept: Names = frozenset(changes.names)
    while kept:
        moves = _in_order({changes.dependents(kept, name) for name in kept})
        left = [kept - move for move in moves]
        lost = losses([changes.configuration(each) for each in left]).tolist()
        least = min(range(len(left)), key=lost.__getitem__)
        if math.isinf(lost[least]):
            break
        kept = left[least]
    begun = [frozenset[str]().union(*steps[:count]) for count in range(len(steps))]
    fewer = [made for made in begun if len(made) < len(kept)]
    lost = losses([changes.configuration(made) for made in fewer]).tolist() if fewer else []
    return next((m for m, loss in zip(fewer, lost, strict=True) if math.isfinite(loss)), kept)


def _fitness(changes: Changes, fitness: Fitness, kept: Sequence[Names]) -> Floats:
    return fitness([changes.configuration(each) for each in kept])


def _in_order(moves: set[Names]) -> list[Names]:
    """The same order whatever the hashes: the fewest first, then by name."""
    return sorted(moves, key=lambda move: (len(move), sorted(move)))
