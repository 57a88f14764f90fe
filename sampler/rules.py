"""The rules between parameters, checked on a configuration however it came about.

Draws keep them by construction (``limits``); what is put together from two configurations
need not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sampler.parameter import Parameter
from sampler.space import Configuration, Space, refers_to

_TINY = 1e-9


def broken_rules(space: Space, values: Configuration, moved: Collection[str]) -> frozenset[str]:
    """The rules that a configuration breaks, each as the name of a parameter and its rule.

    Args:
        space: Whose rules.
        values: The value of every known parameter.
        moved: The parameters that were chosen, not left where they were: they must be active, and
            a multiple of another one must be a whole one within its range.
    """
    return frozenset(
        f"{parameter.name} {rule}"
        for parameter in space.parameters
        for rule in _broken(space, parameter, values, parameter.name in moved)
    )


def _broken(
    space: Space, parameter: Parameter, values: Configuration, moved: bool
) -> Iterator[str]:
    if not space.is_active(parameter.name, values):
        if moved:
            yield "is inactive"
        return
    value = values[parameter.name]
    if not parameter.is_numeric or value in parameter.special:
        return
    number = float(value)
    if parameter.floor:
        least = float(values[parameter.floor.parameter]) + parameter.floor.offset
        if number < least - _TINY:
            yield f"is below {parameter.floor.parameter}"
    if parameter.ceiling:
        most = float(values[parameter.ceiling.parameter]) + parameter.ceiling.offset
        if number > most + _TINY:
            yield f"is above {parameter.ceiling.parameter}"
    if parameter.multiple_of and moved and not _is_multiple(parameter, number, values):
        yield f"is no multiple of {parameter.multiple_of}"


def _is_multiple(parameter: Parameter, number: float, values: Configuration) -> bool:
    assert parameter.low is not None and parameter.high is not None
    unit = float(values[parameter.multiple_of])
    times = number / unit if unit else 0.0
    whole = abs(times - round(times)) < _TINY
    return whole and parameter.low - _TINY <= times <= parameter.high + _TINY


def bound_together(space: Space, name: str) -> frozenset[str]:
    """The parameters that a chain of rules connects with one: bounds, conditions, memory."""
    found, new = {name}, [name]
    while new:
        here = new.pop()
        near = refers_to(space.by_name[here]) | {
            other.name for other in space.parameters if here in refers_to(other)
        }
        fresh = (near & space.by_name.keys()) - found
        found |= fresh
        new += sorted(fresh)
    return frozenset(found)
