"""The changes of a configuration: their order by gain, and versions with fewer of them."""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from models import Floats
from optimizer.evaluation.evaluation import Evaluation
from optimizer.strategies.strategy import Proposal
from optimizer.surrogate.predictions import PredictedChanges, predicted_changes
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Basis, Phase
from sampler.rocksdb.parameters import Value
from sampler.space.latent import bound_together, broken_rules
from sampler.space.space import Configuration, digest

_MOST_PARTNERS = 2  # tried one by one; beyond them all that rules connect moves together
Names = frozenset[str]


@dataclass(frozen=True, eq=False)
class Changes:
    """From the baseline to a winner's configuration."""

    problem: Problem
    winner: Configuration

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The changed parameters, each after those that it refers to."""
        start, order = self.problem.space.start, self.problem.space.decided_order
        return tuple(n for n in order if n in self.winner and self.winner[n] != start[n])

    @cached_property
    def fixed(self) -> tuple[str, ...]:
        """What the space sets in every configuration, where the baseline has another value."""
        space = self.problem.space
        return tuple(n for n, value in space.fixed.items() if space.context[n] != value)

    def values(self, kept: Collection[str]) -> dict[str, Value]:
        """The value of every known parameter with some of the changes."""
        return {**self.problem.space.start, **{name: self.winner[name] for name in kept}}

    def configuration(self, kept: Collection[str]) -> dict[str, Value]:
        """The configuration with some of the changes; with all of them the winner itself."""
        if len(kept) == len(self.names):
            return dict(self.winner)
        space, values = self.problem.space, self.values(kept)
        shown = [*space.fixed, *(name for name in space.names if name not in space.fixed)]
        return {name: values[name] for name in shown if space.is_active(name, values)}

    def is_valid(self, kept: Names) -> bool:
        """Whether some of the changes can stand without the others.

        They keep within the memory budget, each of them does something, and they break no rule
        that neither the baseline nor the winner breaks.
        """
        if not kept or len(kept) == len(self.names):
            return True
        values = self.values(kept)
        return self.problem.affords(values) and self._broken(kept) <= self._tolerated

    def partners(self, kept: Names, name: str) -> Names:
        """A change with the fewest others that must be made with it, on top of those made."""
        rest = [other for other in self.names if other not in kept and other != name]
        return self._fewest(name, rest, lambda moved: kept | moved)

    def dependents(self, kept: Names, name: str) -> Names:
        """A change with the fewest others that must be taken back with it, of those made."""
        rest = [other for other in self.names if other in kept and other != name]
        return self._fewest(name, rest, lambda moved: kept - moved)

    @cached_property
    def leaders(self) -> dict[str, tuple[str, ...]]:
        """Those of the changes that only follow others, and which these are.

        A change follows where it cannot be taken back alone, for a rule or the memory budget would
        be broken. Of two that can only be taken back together the later one follows. What only
        makes others possible, such as a style of compaction its options, leads.
        """
        kept = frozenset(self.names)
        back = {name: self.dependents(kept, name) for name in kept}
        found: dict[str, tuple[str, ...]] = {}
        for name in (name for name in self.names if len(back[name]) > 1):
            values = self.values(kept - {name})
            broken = self._broken(kept - {name}) - self._tolerated
            bound = any(not rule.endswith("is inactive") for rule in broken)
            if bound or not self.problem.affords(values):
                others = [each for each in self.names if each in back[name] - {name}]
                led = [each for each in others if name not in back[each]]
                earlier = self.names[: self.names.index(name)]
                led = led or [each for each in others if each in earlier]
                if led:
                    found[name] = tuple(led)
        return found

    @property
    def own(self) -> int:
        """How many of the changes follow no other."""
        return len(self.names) - len(self.leaders)

    def _fewest(self, name: str, rest: Sequence[str], made: Callable[[Names], Names]) -> Names:
        connected = self._connected[name]
        if len(connected) == 1:
            return connected  # no rule knows it
        near = [other for other in rest if other in connected]
        for count in range(min(_MOST_PARTNERS, len(near)) + 1):
            for others in combinations(near, count):
                if self.is_valid(made(frozenset((name, *others)))):
                    return frozenset((name, *others))
        together = frozenset((name, *near))
        return together if self.is_valid(made(together)) else frozenset((name, *rest))

    @cached_property
    def _connected(self) -> dict[str, Names]:
        return bound_together(self.problem.space)

    @cached_property
    def _tolerated(self) -> Names:
        return self._broken(frozenset()) | self._broken(frozenset(self.names))

    def _broken(self, kept: Names) -> Names:
        return broken_rules(self.problem.space, self.values(kept), kept)


Fitness = Callable[[Sequence[Configuration]], Floats]
Losses = Callable[[Sequence[Configuration]], Floats]


def path_of(changes: Changes, fitness: Fitness) -> list[Names]:
    """The steps from the baseline to the winner: each change once.

    Each step makes the change that gains most on top of those before it, by what is expected of
    configurations. What cannot stand alone by the space's rules is made together with what it
    needs.
    """
    made: Names = frozenset()
    steps: list[Names] = []
    while len(made) < len(changes.names):
        moves = moves_from(changes, made)
        tried = [made, *(made | move for move in moves)]
        expected = fitness([changes.configuration(each) for each in tried])
        gains = dict(zip(moves, (expected[1:] - expected[0]).tolist(), strict=True))
        best = max(moves, key=lambda move: gains[move])
        # Of what moves together, a part that gains by itself goes first.
        parts = [move for move in moves if move < best and gains[move] > 0]
        step = max(parts, key=lambda move: gains[move], default=best)
        steps.append(step)
        made |= step
    return steps


def moves_from(changes: Changes, made: Names) -> list[Names]:
    """The steps that can be made next, each with what must be made with it."""
    rest = [name for name in changes.names if name not in made]
    return _in_order({changes.partners(made, name) for name in rest})


def moves_back(changes: Changes, kept: Names) -> list[Names]:
    """What can be taken back next, each with what must be taken back with it."""
    return _in_order({changes.dependents(kept, name) for name in kept})


def fewest_changes(changes: Changes, losses: Losses, steps: Sequence[Names] = ()) -> Names:
    """The fewest changes that are as good as all of them.

    They are looked for from both ends: the changes that lose least are taken back one after the
    other, and the first steps of a path are tried; the fewer of the two are taken. What is lost
    against the winner is infinite where it is too much.
    """
    kept: Names = frozenset(changes.names)
    while kept:
        moves = moves_back(changes, kept)
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


def _in_order(moves: set[Names]) -> list[Names]:
    """The same order whatever the hashes: the fewest first, then by name."""
    return sorted(moves, key=lambda move: (len(move), sorted(move)))


NOTICED = 0.06  # of what a configuration gains: what goes back together may be worth so much
_TRIES = 20
_MOST_SAID = 4


def noticed(known: PredictedChanges, changes: Changes) -> Names:
    """The fewest changes that lose no more than users would notice, and no limit that all keep."""
    objective = known.problem.objective
    whole = known.changes([changes.winner])
    fitness, limits = float(objective.fitness_of_changes(whole)[0]), known.kept_limits(whole)
    most = NOTICED * max(fitness, 0.0)

    def losses(configurations: Sequence[Configuration]) -> Floats:
        moved = known.changes(configurations)
        lost = fitness - objective.fitness_of_changes(moved)
        broken = (limits & ~known.kept_limits(moved)).any(axis=0)
        return np.where((lost > most) | broken, np.inf, lost)

    return fewest_changes(changes, losses)


def simplified_version(evaluation: Evaluation, best: Sequence[int]) -> Proposal | None:
    """A simplified version of one of the best that was not measured yet; None: there is none.

    What models of all trials hold for less than a user would notice goes back to the baseline,
    together. Other runs leave out, at random, what the models are not sure of: each tells of all
    of these changes, as in a screening experiment (Box, Hunter and Hunter, Statistics for
    Experimenters, 2005, chapter 6).

    ``best`` are the trials of the best configurations, the first one first, none of them
    simplified.
    """
    history, problem = evaluation.history, evaluation.problem
    known = predicted_changes(evaluation)
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
    halves = (
        kept.union(rng.permutation(back)[: len(back) // 2].tolist())
        for _ in range(_TRIES if len(back) > 1 else 0)
    )
    return _first_proposal(evaluation, changes, halves, number)


def _as_drawn(
    evaluation: Evaluation, known: PredictedChanges, changes: Changes, number: int
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
    worlds = gains[rng.permutation(len(gains))[:_TRIES]]
    left = (
        full.difference(*(move for move, gain in zip(moves, world, strict=True) if gain <= least))
        for world in worlds
    )
    return _first_proposal(evaluation, changes, left, number)


def _first_proposal(
    evaluation: Evaluation, changes: Changes, choices: Iterable[Names], number: int
) -> Proposal | None:
    """The first of several choices of the changes of a trial that is valid and new; else None."""
    valid = (kept for kept in choices if changes.is_valid(kept))
    proposals = (_proposal(evaluation, changes, kept, number) for kept in valid)
    return next(filter(None, proposals), None)


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
        f"simplified: trial {number} with {len(kept)} of its {len(changes.names)} changes; "
        f"{said} as in the baseline"
    )
    return Proposal(Phase.SEARCH, None, configuration, why, basis=Basis.SIMPLIFIED)


def _left(kept: Names, moves: Sequence[Names]) -> list[Names]:
    return [kept, *(kept - move for move in moves)]
