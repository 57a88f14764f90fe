"""Latent coordinates: a number in [0, 1) for each parameter, and the configuration it stands for.

Draws and searches move in the unit cube; rules between parameters become ranges (see ``Ranges``),
so every point of the cube is a valid configuration. Special values (-1, 0 = automatic) take the
lowest fifth of their coordinate, apart from the numeric range, as in LlamaTune (VLDB 2022).
"""

import math
from collections.abc import Mapping

from sampler.parameters.parameter import Parameter, Value
from sampler.space.rules import Ranges
from sampler.space.space import Configuration, Space

SPECIAL_SHARE = 0.2
Point = Mapping[str, float]


def decode(space: Space, point: Point, *, memory: int | None = None) -> dict[str, Value]:
    """The configuration at a point of the unit cube: of every active parameter, fixed ones too.

    A point has a coordinate in [0, 1) for each parameter that moves; the others stay at the
    baseline (or at the space's fixed value). The memory budget is in bytes at full scale.
    """
    moving = [name for name in space.decided_order if name in point]
    values = dict(space.start)
    ranges = Ranges(space, values, moving, memory)
    for name in moving:
        if space.is_active(name, values):
            values[name] = _value(space.by_name[name], point[name], ranges)
    shown = [*space.fixed, *(name for name in space.names if name not in space.fixed)]
    return {name: values[name] for name in shown if space.is_active(name, values)}


def encode(space: Space, configuration: Configuration, *, memory: int | None = None) -> Point:
    """A point that decodes to a configuration: the middle of the cell that it fills.

    A value outside the space's range gets the nearest end, and inactive parameters 0.5.
    """
    values = {**space.start, **configuration}
    ranges = Ranges(space, values, space.decided_order, memory)
    return {
        name: _coordinate(space.by_name[name], ranges) if space.is_active(name, values) else 0.5
        for name in space.decided_order
    }


def _value(parameter: Parameter, u: float, ranges: Ranges) -> Value:
    if not parameter.is_numeric:
        return parameter.values[min(int(u * len(parameter.values)), len(parameter.values) - 1)]
    if parameter.special:
        if u < SPECIAL_SHARE:
            return parameter.special[int(u / SPECIAL_SHARE * len(parameter.special))]
        u = (u - SPECIAL_SHARE) / (1 - SPECIAL_SHARE)
    low, high = ranges.of(parameter)
    number = _stretch(parameter, u, low, high)
    if parameter.multiple_of:
        number *= float(ranges.decided[parameter.multiple_of])
    return round(number) if parameter.kind == "int" else number


def _stretch(parameter: Parameter, u: float, low: float, high: float) -> float:
    """The number at a share of a range; whole ones have cells of equal width."""
    if parameter.kind == "float":
        number = low * (high / low) ** u if parameter.log else low + u * (high - low)
        return min(max(float(f"{number:.4g}"), low), high)
    first, last = _cells(parameter, low, high)
    if parameter.log:
        cell = math.exp(math.log(first) + u * (math.log(last + 1) - math.log(first)))
    else:
        cell = first + u * (last + 1 - first)
    return float(min(max(math.floor(cell), first), last) * parameter.quantum)


def _cells(parameter: Parameter, low: float, high: float) -> tuple[int, int]:
    """The first and last multiple of the quantum in a range; at least one."""
    first = math.ceil(low / parameter.quantum)
    return first, max(first, math.floor(high / parameter.quantum))


def _coordinate(parameter: Parameter, ranges: Ranges) -> float:
    value = ranges.decided[parameter.name]
    if not parameter.is_numeric:
        if value not in parameter.values:
            return 0.5
        return (parameter.values.index(value) + 0.5) / len(parameter.values)
    if value in parameter.special:
        share = (parameter.special.index(value) + 0.5) / len(parameter.special)
        return share * SPECIAL_SHARE
    low, high = ranges.of(parameter)
    number = float(value)
    if parameter.multiple_of:
        number /= float(ranges.decided[parameter.multiple_of])
    u = _shrink(parameter, min(max(number, low), high), low, high)
    u = SPECIAL_SHARE + u * (1 - SPECIAL_SHARE) if parameter.special else u
    return min(u, math.nextafter(1.0, 0.0))  # a share of 1 is outside the cube


def _shrink(parameter: Parameter, number: float, low: float, high: float) -> float:
    """The inverse of ``_stretch``: the middle of a whole number's cell."""
    if parameter.kind == "float":
        if high <= low:
            return 0.5
        if parameter.log:
            return math.log(number / low) / math.log(high / low)
        return (number - low) / (high - low)
    first, last = _cells(parameter, low, high)
    cell = min(max(round(number / parameter.quantum), first), last)
    if parameter.log:
        middle = (math.log(cell) + math.log(cell + 1)) / 2 - math.log(first)
        return middle / (math.log(last + 1) - math.log(first))
    return (cell + 0.5 - first) / (last + 1 - first)
