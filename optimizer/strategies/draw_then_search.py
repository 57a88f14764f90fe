"""Strategies that draw a few configurations and then search the whole latent cube.

They are here to be compared with the paper's own (``genetic``): nothing is ranked, every parameter
that may be searched is searched from the first draw on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from optimizer.strategies.axes import Axis, axes_of, random_point
from optimizer.strategies.drawn import DrawsFirst, propose_draw, sampled
from optimizer.strategies.lessons import Lessons, lessons_of
from optimizer.strategies.strategy import Proposal, first_new
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Phase, Purpose
from sampler.space.latent import Point


class Suggest(Protocol):
    """Suggests where to measure next: a pure function of what is known."""

    def __call__(self, axes: Sequence[Axis], lessons: Lessons, *, seed: int) -> Iterator[Point]:
        """Points to try, the most promising first; it may end.

        Args:
            axes: What the search moves along; at least one of them moves.
            lessons: What is known; enough of them for the strategy (``DrawThenSearch.least``).
            seed: From 0 to 2**63-1.
        """
        ...


@dataclass(frozen=True)
class DrawThenSearch(DrawsFirst):
    """A few random draws, then what a search suggests.

    Attributes:
        suggest: The search.
        words: What it suggests, for people.
        draws: How many draws come first, at most half of all.
        least: How many trials must have ended well before it can suggest anything.
    """

    suggest: Suggest
    words: str
    draws: int
    least: int = 2

    def samples(self, problem: Problem, explore: int) -> int:
        """As many as are asked for, or its own number."""
        asked = problem.search.samples
        if asked is not None:
            return min(asked, explore)
        return max(1, min(self.draws, explore // 2))

    def propose(
        self, problem: Problem, history: History, *, number: int, explore: int
    ) -> Proposal | None:
        """A draw, then what the search suggests; see ``Strategy.propose``."""
        axes = axes_of(problem)
        samples, index = self.samples(problem, explore), sampled(history)
        if len(history.own(Purpose.CANDIDATE)) >= explore or not axes:
            return None
        if index < samples:
            names = tuple(axis.name for axis in axes)
            return propose_draw(
                problem, history, "random", index, number=number, n=samples, over=names
            )
        return self._searched(problem, history, axes, problem.seed_of(number))

    def _searched(
        self, problem: Problem, history: History, axes: Sequence[Axis], seed: int
    ) -> Proposal | None:
        lessons = lessons_of(problem, history, axes)
        enough = sum(lesson.admissible for lesson in lessons.ended) >= self.least
        able = enough and any(axis.moves for axis in axes)
        suggested = self.suggest(axes, lessons, seed=seed) if able else iter(())
        rng = Random(seed)

        def point(attempt: int) -> Point:  # noqa: ARG001
            return next(suggested, None) or random_point(axes, rng)

        why = self.words if able else "a random draw: too few trials have ended well"
        return first_new(problem, history, Phase.SEARCH, why, point)
