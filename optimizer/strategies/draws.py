"""Strategies that draw: random, Latin hypercube and Sobol designs, alone or before a search."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar, Protocol

from optimizer.evaluation.evaluation import Evaluation
from optimizer.strategies.observations import (
    Axis,
    Observations,
    axes_of,
    observations_of,
    random_point,
)
from optimizer.strategies.strategy import Proposal, Strategy, first_new
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Phase, Purpose
from sampler.space.encoding import Design, draw
from sampler.space.latent import Point

_WORDS = {"random": "random draw", "lhs": "Latin hypercube draw", "sobol": "Sobol draw"}


@dataclass(frozen=True)
class Drawn(Strategy):
    """One design through the whole budget."""

    # Nothing is searched; ``top`` says of how many the ranking's stability is told.
    settings: ClassVar[frozenset[str]] = frozenset({"top"})
    phase_words: ClassVar[Mapping[Phase, str]] = {
        Phase.SEARCH: "measure the best sampled configurations with fewer of their changes"
    }
    design: Design

    def samples(self, problem: Problem, explore: int) -> int:
        """All of them."""
        return explore

    def propose(self, evaluation: Evaluation, *, number: int, explore: int) -> Proposal | None:
        """The design's next point; see ``Strategy.propose``."""
        history = evaluation.history
        measured = len(history.own(Purpose.CANDIDATE, Phase.SAMPLE))
        if measured >= explore:
            return None
        # Starting points, which come first, take of the budget but no points of the design.
        n = explore - (measured - len(history.drawn))
        return propose_draw(evaluation, self.design, number=number, n=n)


def sampled(history: History) -> int:
    """How many configurations there are to learn from: drawn, in flight included, or given."""
    return len(history.own(Purpose.CANDIDATE, Phase.SAMPLE)) + history.given_samples


def draws_planned(history: History, samples: int) -> int:
    """How many of so many configurations are draws: all but starting points and given trials."""
    return samples - (sampled(history) - len(history.drawn))


class DrawsFirst(Strategy):
    """What strategies share that make a few draws and then search over the same parameters."""

    design: ClassVar[Design] = "random"  # of the draws
    settings: ClassVar[frozenset[str]] = frozenset({"samples", "over"})
    phase_words: ClassVar[Mapping[Phase, str]] = {
        Phase.SEARCH: "search all parameters that may move"
    }

    def needs_all_samples(self, evaluation: Evaluation, explore: int) -> bool:
        """At the end of the draws."""
        problem, history = evaluation.problem, evaluation.history
        planned = self.samples(problem, explore)
        return planned < explore and sampled(history) >= planned

    def propose(self, evaluation: Evaluation, *, number: int, explore: int) -> Proposal | None:
        """A draw, then what the search finds; see ``Strategy.propose``."""
        problem, history = evaluation.problem, evaluation.history
        names, samples = problem.searched, self.samples(problem, explore)
        if len(history.own(Purpose.CANDIDATE)) >= explore or not names:
            return None
        if sampled(history) < samples:
            n = draws_planned(history, samples)
            return propose_draw(evaluation, self.design, number=number, n=n, over=names)
        return self.search(evaluation, number=number, explore=explore)

    @abstractmethod
    def search(self, evaluation: Evaluation, *, number: int, explore: int) -> Proposal | None:
        """What is measured next when the draws have ended; arguments as in ``propose``."""


def propose_draw(
    evaluation: Evaluation, design: Design, *, number: int, n: int, over: Sequence[str] = ()
) -> Proposal | None:
    """The next point of a design of ``n`` draws; a random one if it was measured before.

    Only draws are counted: a design that lacks the points at which a starting point or a given
    trial was measured is none. ``number`` is that of the trial. The parameters ``over`` are drawn;
    empty: all of the space.
    """
    problem, index = evaluation.problem, len(evaluation.history.drawn)
    names = over or problem.space.names

    def point(attempt: int) -> Point:
        chosen, where, seed = design, index, problem.seed
        if attempt:
            chosen, where, seed = "random", attempt, problem.seed_of(number)
        drawn = draw(chosen, where, n=n, dimensions=len(names), seed=seed)
        return dict(zip(names, drawn.tolist(), strict=True))

    return first_new(evaluation, Phase.SAMPLE, f"{_WORDS[design]} {index + 1} of {n}", point)


class Suggest(Protocol):
    """Suggests where to measure next: a pure function of what is known."""

    def __call__(
        self, axes: Sequence[Axis], observations: Observations, *, seed: int
    ) -> Iterator[Point]:
        """Points to try, the most promising first; it may end.

        At least one of the axes moves, and enough is observed for the strategy
        (``DrawThenSearch.least``). The seed is from 0 to 2**63-1.
        """


@dataclass(frozen=True)
class DrawThenSearch(DrawsFirst):
    """A few random draws, then what a search suggests."""

    suggest: Suggest  # the search
    words: str  # what it suggests, for people
    draws: int  # how many draws come first, at most half of all
    least: int = 2  # how many trials must have ended well before it can suggest anything

    def samples(self, problem: Problem, explore: int) -> int:
        """As many as are asked for, or its own number."""
        asked = problem.search.samples
        if asked is not None:
            return min(asked, explore)
        return max(1, min(self.draws, explore // 2))

    def search(self, evaluation: Evaluation, *, number: int, explore: int) -> Proposal | None:
        """What the search suggests."""
        axes, seed = axes_of(evaluation.problem), evaluation.problem.seed_of(number)
        observations = observations_of(evaluation, axes)
        enough = sum(observation.admissible for observation in observations.ended) >= self.least
        able = enough and any(axis.moves for axis in axes)
        suggested = self.suggest(axes, observations, seed=seed) if able else iter(())
        rng = Random(seed)

        def point(attempt: int) -> Point:  # noqa: ARG001
            return next(suggested, None) or random_point(axes, rng)

        why = self.words if able else "random draw: too few successful trials so far"
        return first_new(evaluation, Phase.SEARCH, why, point)
