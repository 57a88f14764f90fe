"""A space that its baseline is a part of, so that models tell the baseline from every draw."""

from __future__ import annotations

from dataclasses import replace

from sampler.parameters.parameter import Parameter, Value
from sampler.space.space import Space


def widened(space: Space) -> Space:
    """The space with the baseline's values in it; the same one where they are in it already.

    A codec that is no choice of the space, or a size beyond its range, would otherwise be taken
    for the nearest that it has, and the change from it for no change.
    """
    parameters = tuple(_with(each, space.start[each.name]) for each in space.parameters)
    return space if parameters == space.parameters else replace(space, parameters=parameters)


def _with(parameter: Parameter, value: Value) -> Parameter:
    if not parameter.is_numeric:
        known = value in parameter.values
        more = (*parameter.choices, (value, str(value)))
        return parameter if known else replace(parameter, choices=more)
    if value in parameter.special or parameter.multiple_of:
        return parameter
    assert parameter.low is not None and parameter.high is not None
    low, high = min(parameter.low, float(value)), max(parameter.high, float(value))
    if (low, high) == (parameter.low, parameter.high) or (parameter.log and low <= 0):
        return parameter
    return replace(parameter, low=low, high=high)
