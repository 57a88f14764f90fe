"""The range that a parameter has left once those before it are decided.

Dependencies hold by construction: a configuration that breaks a rule cannot be drawn, so nothing
is rejected and no budget is lost on it.
"""

from collections.abc import Collection, Mapping

from sampler.parameter import Parameter, Value
from sampler.space import Space


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
    for other in space.bounded_by(parameter.name):
        if space.is_active(other.name, decided):
            low, high = _leave_room(parameter.name, other, low, high, decided, moving)
    if memory is not None:
        high = min(high, _memory_ceiling(parameter.name, decided, moving, space, memory))
    # A single ill-fitting baseline value must not empty the range: the rule of the parameter that
    # was decided first wins, as RocksDB itself would clip.
    return low, max(low, high)


def _number(decided: Mapping[str, Value], name: str) -> float:
    return float(decided[name])


def _leave_room(
    name: str,
    other: Parameter,
    low: float,
    high: float,
    decided: Mapping[str, Value],
    moving: Collection[str],
) -> tuple[float, float]:
    """Keeps this parameter where the one that it bounds can still be."""
    stays = other.name not in moving
    if stays and decided[other.name] in other.special:
        return low, high
    if other.floor and other.floor.parameter == name:
        room = _number(decided, other.name) if stays else other.high
        high = high if room is None else min(high, room - other.floor.offset)
    if other.ceiling and other.ceiling.parameter == name:
        room = _number(decided, other.name) if stays else other.low
        low = low if room is None else max(low, room - other.ceiling.offset)
    return low, high


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

    cache = float(decided["cache_size"])
    match name:
        case "write_buffer_size":
            return (memory - cache) // float(decided["max_write_buffer_number"])
        case "max_write_buffer_number":
            return (memory - cache) // least("write_buffer_size")
        case "cache_size":
            return memory - least("write_buffer_size") * least("max_write_buffer_number")
        case _:
            return float("inf")
