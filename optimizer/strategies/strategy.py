"""What a strategy is, and those that draw: random, Latin hypercube and Sobol designs.

A strategy is a pure function from what is known to the next configuration. Draws stand alone or
come before a search, which (``Suggest``) sees axes and observations: coordinates that move, and
what was measured.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, ClassVar, Protocol

from optimizer.evaluation.evaluation import Evaluation
from optimizer.surrogate.predictions import StoppingRule
from optimizer.trials.problem import Problem, StartingPoint, planned_starts
from optimizer.trials.trial import (
    MOST_IN_FLIGHT,
    STARTING_POINT,
    Basis,
    History,
    Phase,
    Purpose,
    Trial,
)
from sampler.rocksdb.parameters import Value
from sampler.space.latent import Design, Point, draw, encode
from sampler.space.space import digest

if TYPE_CHECKING:
    from optimizer.strategies.greedy import SweepProgress


_ATTEMPTS = 1000


@dataclass(frozen=True)
class Proposal:
    """A configuration to measure, and why."""

    phase: Phase
    point: Point | None  # the latent coordinates it was decoded from; None: given as it is
    configuration: Mapping[str, Value]
    why: str
    subject: int | None = None  # the trial that measured it first; None: it is new
    basis: Basis = Basis.PLAIN  # what it rests on; ``why`` says more of it, to people alone


class Strategy(ABC):
    """Proposes configurations.

    A strategy keeps nothing that cannot be rebuilt from its arguments, so a killed job resumes by
    reading its trials back, and trials in flight (in the history with state ``running``) need no
    special care.
    """

    # The settings of a search (``SearchSettings``) that change what it proposes; ``warm_start``
    # among them: its models learn from earlier jobs (``Problem.prior``).
    settings: ClassVar[frozenset[str]]
    # Whether models guide it: they know what matters, and learn from every trial of the search.
    has_models: ClassVar[bool] = False
    phase_words: ClassVar[Mapping[Phase, str]] = {}  # of phases it does its own way

    @abstractmethod
    def samples(self, problem: Problem, explore: int) -> int:
        """How many of ``explore`` new configurations are drawn at most before the search."""

    @abstractmethod
    def propose(self, evaluation: Evaluation, *, number: int, explore: int) -> Proposal | None:
        """The next configuration, where the budget holds ``explore`` new ones in all.

        ``number`` is that of the trial; its seed is ``problem.seed_of(number)``. Of the trials so
        far some may be in flight.

        Returns:
            A configuration that was never proposed before, or one that is measured again on
                purpose (``Proposal.subject``), or None: there is nothing to add.
        """

    def needs_all_samples(self, evaluation: Evaluation, explore: int) -> bool:
        """Whether the next proposal rests on the draws so far, so that all of them must be in."""
        return False

    def sampling_done(self, evaluation: Evaluation, explore: int) -> bool:
        """Whether the draws have ended and the search comes next, or goes on.

        Asked only when all draws have ended where ``needs_all_samples`` says so.
        """
        return self.needs_all_samples(evaluation, explore)

    def preferred(self, evaluation: Evaluation) -> Sequence[int]:
        """The numbers of whole measurements, those first that it predicts to be the best.

        Empty where it knows no more of them than they tell, or too little.
        """
        return ()

    def stopping_rule(self, evaluation: Evaluation, explore: int) -> StoppingRule | None:
        """What is expected of one more run; None where that cannot be said."""
        return None

    def sweep_progress(self, evaluation: Evaluation, explore: int) -> SweepProgress | None:
        """How far it has come that varies one parameter after the other; None: it does not."""
        return None


def first_new(
    evaluation: Evaluation,
    phase: Phase,
    why: str,
    points: Callable[[int], Point],
    *,
    basis: Basis = Basis.PLAIN,
) -> Proposal | None:
    """The first new configuration, by the points of attempts from 0 on; None: all are known."""
    for attempt in range(_ATTEMPTS):
        point = points(attempt)
        configuration = evaluation.problem.configuration(point)
        if digest(configuration) not in evaluation.history:
            return Proposal(phase, point, configuration, why, basis=basis)
    return None


_MOST_SAID = 6


def next_start(evaluation: Evaluation, explore: int) -> Proposal | None:
    """The next starting point that was not measured; None: all were, or the search began."""
    problem, history = evaluation.problem, evaluation.history
    if history.numbers(Purpose.CANDIDATE, Phase.SEARCH):
        return None
    for start in planned_starts(problem, explore):
        configuration = problem.configuration(start.point)
        if digest(configuration) not in history:
            why = _why(start)
            return Proposal(Phase.SAMPLE, start.point, configuration, why, basis=Basis.START)
    return None


def _why(start: StartingPoint) -> str:
    why = f"{STARTING_POINT} {start.name}"
    if not start.changed:
        return why
    said, more = list(start.changed[:_MOST_SAID]), len(start.changed) - _MOST_SAID
    said += [f"{more} more"] if more > 0 else []
    return f"{why}, fitted to the space and its memory: {', '.join(said)}"


_LAST = math.nextafter(1.0, 0.0)  # a coordinate is below 1


@dataclass(frozen=True)
class Axis:
    """One coordinate of the latent cube."""

    name: str  # of the parameter
    # How many values a category, a switch or a list of numbers has; 0: a range. Special values of
    # a range lie within its coordinate (see ``sampler.space.latent``).
    levels: int = 0

    @property
    def moves(self) -> bool:
        """Whether there is anything to choose."""
        return self.levels != 1

    def level(self, coordinate: float) -> int:
        """The level that a coordinate in [0, 1) stands for."""
        return min(int(coordinate * self.levels), self.levels - 1)

    def coordinate(self, chosen: float) -> float:
        """The coordinate of a level (its middle) or of a number in [0, 1] of a range."""
        if self.levels:
            return (int(chosen) + 0.5) / self.levels
        return min(max(float(chosen), 0.0), _LAST)


def axes_of(problem: Problem) -> tuple[Axis, ...]:
    """The coordinates a search moves along: what the user named, or all that may be searched."""
    parameters = [problem.space.by_name[name] for name in problem.searched]
    return tuple(Axis(p.name, 0 if p.is_numeric else len(p.values)) for p in parameters)


def random_point(axes: Sequence[Axis], rng: Random) -> Point:
    """A uniform draw of the cube."""
    return {axis.name: rng.random() for axis in axes}


def chosen_of(axes: Sequence[Axis], point: Point) -> dict[str, float]:
    """What a point chooses on each axis that moves: a level, or a number in [0, 1)."""
    return {
        axis.name: axis.level(point[axis.name]) if axis.levels else point[axis.name]
        for axis in axes
        if axis.moves
    }


def point_of(axes: Sequence[Axis], chosen: Mapping[str, float]) -> Point:
    """The inverse of ``chosen_of``: axes that do not move stay in their middle."""
    return {axis.name: axis.coordinate(chosen.get(axis.name, 0)) for axis in axes}


@dataclass(frozen=True)
class Observation:
    """A candidate that has ended."""

    point: Point  # its coordinates on the axes of the search
    # ``Objective.rank_value``; of a trial that failed, was cut off or broke a limit the worst
    # fitness of those that did not, so that no scale is stretched by it.
    fitness: float
    # The terms of the fitness in order, each better when higher; None where one is unknown.
    gains: tuple[float, ...] | None = None
    admissible: bool = True  # whether it was measured whole and every limit holds


@dataclass(frozen=True)
class Observations:
    """What is known, and what is being measured."""

    ended: tuple[Observation, ...]  # in the order of proposal
    running: tuple[Point, ...]  # of the newest trials that have no outcome yet, at most 64

    @property
    def worst(self) -> float:
        """The worst fitness so far; 0, the baseline's, where there is none."""
        return min((observation.fitness for observation in self.ended), default=0.0)


def observations_of(evaluation: Evaluation, axes: Sequence[Axis]) -> Observations:
    """What the candidates so far teach about the cube of some axes.

    Trials that were given teach as well, as far as they differ from the baseline on these axes
    only. A run of the baseline has ended well.
    """
    problem, history = evaluation.problem, evaluation.history
    ended: list[Observation] = []
    running: list[Point] = []
    for trial in history.of(Purpose.CANDIDATE):
        point = _point(problem, trial, axes)
        if point is not None and trial.has_outcome:
            ended.append(_observed(evaluation, trial, point))
        elif point is not None:
            running.append(point)
    worst = min((each.fitness for each in ended if each.admissible), default=0.0)
    ended = [each if each.admissible else replace(each, fitness=worst) for each in ended]
    return Observations(tuple(ended), tuple(running[-MOST_IN_FLIGHT:]))


def _point(problem: Problem, trial: Trial, axes: Sequence[Axis]) -> Point | None:
    """Where a trial lies in the cube of the axes; None: not in it."""
    names = [axis.name for axis in axes]
    if trial.point is not None and trial.point.keys() == set(names):
        return {name: trial.point[name] for name in names}
    whole = encode(problem.space, trial.configuration, memory=problem.memory)
    point = {name: whole[name] for name in names}
    return point if problem.configuration(point) == dict(trial.configuration) else None


def _observed(evaluation: Evaluation, trial: Trial, point: Point) -> Observation:
    objective, baseline = evaluation.problem.objective, evaluation.baseline
    metrics = baseline.corrected_trial(trial) if trial.done else {}
    gains = objective.gains(metrics, baseline.metrics)
    if len(gains) < len(objective.terms):
        return Observation(point, 0.0, admissible=False)
    fitness = objective.rank_value(metrics, baseline.metrics)
    admissible = objective.admissible(metrics, baseline.metrics)
    return Observation(point, fitness, tuple(gains.values()), admissible)


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
