"""The options in which a winner differs from the baseline, and which of them can stand alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from optimizer.trials.problem import Problem
from sampler.parameters.parameter import Value
from sampler.space.rules import bound_together, broken_rules
from sampler.space.space import Configuration

_MOST_PARTNERS = 2  # tried one by one; beyond them all that rules connect moves together
Names = frozenset[str]


@dataclass(frozen=True, eq=False)
class Changes:
    """From the baseline to a winner.

    Attributes:
        winner: The winner's configuration.
    """

    problem: Problem
    winner: Configuration

    @cached_property
    def start(self) -> dict[str, Value]:
        """Every known parameter before any change: the baseline, with the space's fixed values."""
        return self.problem.space.start

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The changed parameters, each after those that it refers to."""
        order = self.problem.space.decided_order
        return tuple(n for n in order if n in self.winner and self.winner[n] != self.start[n])

    @cached_property
    def fixed(self) -> tuple[str, ...]:
        """What the space sets in every configuration, where the baseline has another value."""
        space = self.problem.space
        return tuple(n for n, value in space.fixed.items() if space.context[n] != value)

    def values(self, kept: Collection[str]) -> dict[str, Value]:
        """The value of every known parameter with some of the changes."""
        return {**self.start, **{name: self.winner[name] for name in kept}}

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
