"""The range that a parameter has left once those before it are decided.

Dependencies hold by construction: a configuration that breaks a rule cannot be drawn, so nothing
is rejected and no budget is lost on it.
"""

import math
from collections.abc import Collection, Mapping

from sampler.parameters.parameter import Parameter, Value
from sampler.space.space import Space, cache_bytes
from sampler.workload.workload import COLUMN_FAMILIES

_MEMTABLES = ("write_buffer_size", "max_write_buffer_number")


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
