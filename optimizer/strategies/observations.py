"""What a search over the latent cube moves along, and what it has observed there."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from optimizer.evaluation.evaluation import Evaluation
from optimizer.trials.history import MOST_IN_FLIGHT
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Purpose, Trial
from sampler.space.latent import Point, encode

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
