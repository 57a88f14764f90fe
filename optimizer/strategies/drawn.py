"""Strategies that learn nothing: random, Latin hypercube and Sobol draws of the whole space."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from optimizer.strategies.strategy import Proposal, first_new
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Phase, Purpose
from sampler.space.draws import Design, draw
from sampler.space.latent import Point

_WORDS = {"random": "a random draw", "lhs": "a Latin hypercube's draw", "sobol": "a Sobol draw"}


@dataclass(frozen=True)
class Drawn:
    """One design through the whole budget."""

    design: Design

    @property
    def heeds(self) -> frozenset[str]:
        """Nothing is searched; ``top`` says of how many the ranking's stability is told."""
        return frozenset({"top"})

    def samples(self, problem: Problem, explore: int) -> int:  # noqa: ARG002
        """All of them."""
        return explore

    def learns(self, problem: Problem, history: History, explore: int) -> bool:  # noqa: ARG002
        """Never."""
        return False

    def searches(self, problem: Problem, history: History, explore: int) -> bool:  # noqa: ARG002
        """Never."""
        return False

    def propose(
        self, problem: Problem, history: History, *, number: int, explore: int
    ) -> Proposal | None:
        """The design's next point; see ``Strategy.propose``."""
        index = len(history.own(Purpose.CANDIDATE, Phase.SAMPLE))
        if index >= explore:
            return None
        return propose_draw(problem, history, self.design, index, number=number, n=explore)


def sampled(history: History) -> int:
    """How many configurations there are to learn from: drawn, in flight included, or given."""
    drawn = history.own(Purpose.CANDIDATE, Phase.SAMPLE)
    return len(drawn) + history.lessons(Purpose.CANDIDATE, Phase.SAMPLE)


class DrawsFirst(ABC):
    """What strategies share that make a few draws and then search over the same parameters."""

    @property
    def heeds(self) -> frozenset[str]:
        """How many draws, and over what."""
        return frozenset({"samples", "over"})

    @abstractmethod
    def samples(self, problem: Problem, explore: int) -> int:
        """How many draws there are at most; see ``Strategy.samples``."""

    def learns(self, problem: Problem, history: History, explore: int) -> bool:
        """At the end of the draws."""
        planned = self.samples(problem, explore)
        return planned < explore and sampled(history) >= planned

    def searches(self, problem: Problem, history: History, explore: int) -> bool:
        """When as many as planned are drawn."""
        return self.learns(problem, history, explore)


def propose_draw(
    problem: Problem,
    history: History,
    design: Design,
    index: int,
    *,
    number: int,
    n: int,
    over: Sequence[str] = (),
) -> Proposal | None:
    """The point ``index`` of a design of ``n``; a random one instead if it was measured before.

    Args:
        problem: What is tuned.
        history: The trials so far.
        design: Of the draws.
        index: Of the draw in the design, from 0.
        number: The number that the trial will have.
        n: How many draws the design has.
        over: The parameters that are drawn; empty: all of the space.
    """
    names = over or problem.space.names

    def point(attempt: int) -> Point:
        chosen: Design = design if attempt == 0 else "random"
        seed = problem.seed if attempt == 0 else problem.seed_of(number)
        where = index if attempt == 0 else attempt
        drawn = draw(chosen, where, n=n, dimensions=len(names), seed=seed)
        return dict(zip(names, drawn.tolist(), strict=True))

    why = f"{_WORDS[design]}, {index + 1} of {n}"
    return first_new(problem, history, Phase.SAMPLE, why, point)
