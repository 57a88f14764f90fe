"""The rules between parameters: the range that each has left, and what breaks them.

Dependencies hold by construction: a configuration that breaks a rule cannot be drawn, so nothing
is rejected and no budget is lost on it. What is put together from two configurations need not keep
them, and is checked.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping

from sampler.parameters.parameter import Parameter, Value
from sampler.space.space import Configuration, Space, cache_bytes, refers_to
from sampler.workload.workload import COLUMN_FAMILIES

_MEMTABLES = ("write_buffer_size", "max_write_buffer_number")
_TINY = 1e-9


def limits(
    parameter: Parameter,
    decided: Mapping[str, Value],
    moving: Collection[str],
    space: Space,
    memory: int | None,
) -> tuple[float, float]:
    """The numeric range of a parameter, both ends included, in its own units.

    Args:
        parameter: A numeric parameter of the space.
        decided: The values of all parameters; those of ``moving`` that come before this one are
            already moved.
        moving: The names that move together with this one.
        space: Where the parameter belongs.
        memory: The memory budget in bytes, or None for none.

    Returns:
        ``(low, high)``; ``high`` is never below ``low``. With ``multiple_of`` in multiples.
    """
    assert parameter.low is not None and parameter.high is not None
    low, high = parameter.low, parameter.high
    if parameter.floor:
        low = max(low, _number(decided, parameter.floor.parameter) + parameter.floor.offset)
    if parameter.ceiling:
        high = min(high, _number(decided, parameter.ceiling.parameter) + parameter.ceiling.offset)
    if not parameter.multiple_of:
        low = max(low, _least(parameter.name, decided, moving, space))
        high = min(high, _most(parameter.name, decided, moving, space))
    if memory is not None:
        high = min(high, _memory_ceiling(parameter.name, decided, moving, space, memory))
    # A single ill-fitting baseline value must not empty the range: the rule of the parameter that
    # was decided first wins, as RocksDB itself would clip.
    return low, max(low, high)


def _number(decided: Mapping[str, Value], name: str) -> float:
    return float(decided[name])


def _most(name: str, decided: Mapping[str, Value], moving: Collection[str], space: Space) -> float:
    """The most that a parameter can be so that those above it in a chain of rules still fit."""
    if name not in moving:
        stays = decided[name]
        special = stays in space.known[name].special
        return math.inf if special else float(stays)
    high = space.by_name[name].high
    most = math.inf if high is None else high
    for other in space.bounded_by(name):
        if other.floor and other.floor.parameter == name and space.is_active(other.name, decided):
            most = min(most, _most(other.name, decided, moving, space) - other.floor.offset)
    return most


def _least(
    name: str, decided: Mapping[str, Value], moving: Collection[str], space: Space
) -> float:
    """The least that a parameter can be so that those below it in a chain of rules still fit."""
    if name not in moving:
        stays = decided[name]
        special = stays in space.known[name].special
        return -math.inf if special else float(stays)
    low = space.by_name[name].low
    least = -math.inf if low is None else low
    for other in space.bounded_by(name):
        bound = other.ceiling
        if bound and bound.parameter == name and space.is_active(other.name, decided):
            least = max(least, _least(other.name, decided, moving, space) - bound.offset)
    return least


def _memory_ceiling(
    name: str,
    decided: Mapping[str, Value],
    moving: Collection[str],
    space: Space,
    memory: int,
) -> float:
    """The most that a parameter may be so that memtables and cache fit the budget."""

    def least(other: str) -> float:
        low = space.by_name[other].low if other in moving else None
        return float(decided[other]) if low is None else low

    if decided.get("db_write_buffer_size") and name in _MEMTABLES:
        return float("inf")  # all memtables together have a limit of their own
    cache = float(cache_bytes(decided))
    families = int(space.start.get(COLUMN_FAMILIES, 1))
    match name:
        case "write_buffer_size":
            return (memory - cache) // (families * float(decided["max_write_buffer_number"]))
        case "max_write_buffer_number":
            return (memory - cache) // (families * least("write_buffer_size"))
        case "cache_size":
            limit = float(decided.get("db_write_buffer_size") or "inf")
            buffers = least("write_buffer_size") * least("max_write_buffer_number")
            return memory - min(limit, families * buffers) - float(decided.get("other_caches", 0))
        case _:
            return float("inf")


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
