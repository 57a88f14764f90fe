"""What a search over the latent cube moves along: a range, or a choice between levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from optimizer.trials.problem import Problem
from sampler.space.latent import Point

_LAST = math.nextafter(1.0, 0.0)  # a coordinate is below 1


@dataclass(frozen=True)
class Axis:
    """One coordinate of the latent cube.

    Attributes:
        name: Of the parameter.
        levels: How many values a category, a switch or a list of numbers has; 0: a range. Special
            values of a range lie within its coordinate (see ``sampler.space.latent``).
    """

    name: str
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
    """The coordinates that a search over the whole cube moves along.

    All parameters that may be searched, or those that the user named.
    """
    space = problem.space
    names = problem.search.over or [n for n in space.names if n not in space.unsearched]
    parameters = [space.by_name[name] for name in names]
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
