"""The values that a sweep over one parameter tries, all others staying where they are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from optimizer.trials.problem import Problem
from sampler.parameters.parameter import Parameter, Value
from sampler.space.latent import SPECIAL_SHARE, Point, decode, encode
from sampler.space.space import Configuration, Space, digest

MOST_VALUES = 5  # of a range; a list of choices is tried whole
_BELOW_ONE = math.nextafter(1.0, 0.0)  # a coordinate is below 1


@dataclass(frozen=True)
class Probe:
    """One value of a parameter, around a configuration.

    Attributes:
        asked: The value that the sweep is for; rules between parameters may allow only another.
        value: The value that it is.
        point: Coordinates of all parameters that are searched.
        configuration: What the point stands for.
    """

    asked: Value
    value: Value
    point: Point
    configuration: Configuration

    @property
    def digest(self) -> str:
        """The name of the configuration."""
        return digest(self.configuration)


def probes_of(problem: Problem, around: Configuration, name: str) -> tuple[Probe, ...]:
    """The configurations of a sweep, in the order in which they are measured.

    The values are those that the space lists (``sweep``); else the special ones, and up to five in
    all spread over the range as its scale says, both ends among them; or all choices. Where a rule
    binds other parameters to this one, they give way, as in a draw.

    Args:
        problem: What is tuned.
        around: The configuration that is varied; the parameter is active in it.
        name: The parameter.

    Returns:
        Each configuration once, the one that is varied left out.
    """
    # The parameters that are not searched are no coordinates: they stay at the baseline.
    space = problem.space.without(set(problem.space.names) - set(problem.searched))
    parameter = space.by_name[name]
    held = {**space.start, **around}
    found: dict[str, Probe] = {}
    for asked in _values(space, parameter, held, problem.memory):
        point = encode(space, {**held, name: asked}, memory=problem.memory)
        configuration = problem.configuration(point)
        probe = Probe(asked, configuration[name], point, configuration)
        found.setdefault(probe.digest, probe)
    found.pop(digest(around), None)
    return tuple(found.values())


def _values(
    space: Space, parameter: Parameter, held: Configuration, memory: int | None
) -> Iterator[Value]:
    if parameter.sweep:
        yield from (_in_full(parameter, value, held) for value in parameter.sweep)
    elif not parameter.is_numeric:
        yield from parameter.values
    else:
        yield from parameter.special
        yield from _spread(space, parameter, held, memory)


def _in_full(parameter: Parameter, value: Value, held: Configuration) -> Value:
    """A listed value as a configuration holds it: multiples become what they stand for."""
    if not parameter.multiple_of or value in parameter.special:
        return value
    number = float(value) * float(held[parameter.multiple_of])
    return round(number) if parameter.kind == "int" else number


def _spread(
    space: Space, parameter: Parameter, held: Configuration, memory: int | None
) -> Iterator[Value]:
    """Values at even distances on the parameter's coordinate, within the rules."""
    middle = encode(space, held, memory=memory)
    lowest = SPECIAL_SHARE if parameter.special else 0.0
    steps = max(1, MOST_VALUES - 1 - len(parameter.special))
    for step in range(steps + 1):
        u = min(lowest + (1 - lowest) * step / steps, _BELOW_ONE)
        yield decode(space, {**middle, parameter.name: u}, memory=memory)[parameter.name]
