"""The rules between parameters, checked on a configuration however it came about.

Draws keep them by construction (``limits``); what is put together from two configurations
need not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sampler.parameters.parameter import Parameter
from sampler.space.space import Configuration, Space, refers_to

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


def bound_together(space: Space) -> dict[str, frozenset[str]]:
    """For each parameter those that a chain of rules connects with it, itself among them.

    Rules are bounds, conditions, multiples and the shared memory.
    """
    found: dict[str, frozenset[str]] = {name: frozenset((name,)) for name in space.names}
    for parameter in space.parameters:
        for other in refers_to(parameter) & found.keys():
            whole = found[parameter.name] | found[other]
            found |= dict.fromkeys(whole, whole)
    return found
