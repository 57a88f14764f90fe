"""Points of the unit cube, and the configurations that they stand for; columns of models.

Draws and searches move in the unit cube: a latent coordinate is a number in [0, 1) for each
parameter. Rules between parameters become ranges (``Ranges``), so every point of the cube is a
valid configuration: nothing is rejected, and no budget is lost on it. What is put together from
two configurations need not keep the rules, and is checked (``broken_rules``). Special values (-1,
0 = automatic) take the lowest fifth of their coordinate, apart from the numeric range, as in
LlamaTune (VLDB 2022).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from sampler.rocksdb.parameters import Parameter, Value
from sampler.space.space import Configuration, Space, cache_bytes, refers_to
from sampler.workload.workload import COLUMN_FAMILIES

if TYPE_CHECKING:  # the server reads points and makes no arrays
    import numpy as np
    from numpy.typing import NDArray

_MEMTABLES = ("write_buffer_size", "max_write_buffer_number")
_TINY = 1e-9
SPECIAL_SHARE = 0.2
Point = Mapping[str, float]
INACTIVE = -2.0
SPECIAL = -1.0
Design = Literal["random", "lhs", "sobol"]
_LARGEST_DOUBLE_BELOW_1 = math.nextafter(1.0, 0.0)
_BLOCK = 256


@dataclass(frozen=True)
class Ranges:
    """The ranges that parameters have left while others are decided."""

    space: Space  # where the parameters belong
    # The values of all parameters; those of ``moving`` that come before the one that is asked for
    # are moved already.
    decided: Mapping[str, Value]
    moving: Collection[str]  # the names that move together
    memory: int | None = None  # the memory budget in bytes, or None for none

    def of(self, parameter: Parameter) -> tuple[float, float]:
        """The range of a numeric parameter of the space, both ends included, in its own units.

        Returns:
            ``(low, high)``; ``high`` is never below ``low``. With ``multiple_of`` in multiples.
        """
        assert parameter.low is not None and parameter.high is not None
        low, high = parameter.low, parameter.high
        floor, ceiling = parameter.floor, parameter.ceiling
        if floor:
            low = max(low, float(self.decided[floor.parameter]) + floor.offset)
        if ceiling:
            high = min(high, float(self.decided[ceiling.parameter]) + ceiling.offset)
        if not parameter.multiple_of:
            low = max(low, self._fitting(parameter.name, least=True))
            high = min(high, self._fitting(parameter.name, least=False))
        if self.memory is not None:
            high = min(high, self._memory_ceiling(parameter.name, self.memory))
        # A single ill-fitting baseline value must not empty the range: the rule of the parameter
        # that was decided first wins, as RocksDB itself would clip.
        return low, max(low, high)

    def _fitting(self, name: str, *, least: bool) -> float:
        """The least that it can be so that those below it in a chain of rules still fit.

        Else the most, so that those above it do.
        """
        parameter, nothing = self.space.known[name], -math.inf if least else math.inf
        if name not in self.moving:
            value = self.decided[name]
            return nothing if value in parameter.special else float(value)
        end = parameter.low if least else parameter.high
        found, tighter = nothing if end is None else end, max if least else min
        for other in self.space.bounded_by.get(name, ()):
            bound = other.ceiling if least else other.floor
            if not bound or bound.parameter != name:
                continue
            if self.space.is_active(other.name, self.decided):
                found = tighter(found, self._fitting(other.name, least=least) - bound.offset)
        return found

    def _memory_ceiling(self, name: str, memory: int) -> float:
        """The most that a parameter may be so that memtables and cache fit the budget."""
        decided = self.decided
        if decided.get("db_write_buffer_size") and name in _MEMTABLES:
            return math.inf  # all memtables together have a limit of their own
        left = memory - float(cache_bytes(decided))
        families = int(self.space.start.get(COLUMN_FAMILIES, 1))
        match name:
            case "write_buffer_size":
                return left // (families * float(decided["max_write_buffer_number"]))
            case "max_write_buffer_number":
                return left // (families * self._low("write_buffer_size"))
            case "cache_size":
                limit = float(decided.get("db_write_buffer_size") or "inf")
                buffers = self._low("write_buffer_size") * self._low("max_write_buffer_number")
                others = float(decided.get("other_caches", 0))
                return memory - min(limit, families * buffers) - others
        return math.inf

    def _low(self, name: str) -> float:
        low = self.space.by_name[name].low if name in self.moving else None
        return float(self.decided[name]) if low is None else low


def broken_rules(space: Space, values: Configuration, moved: Collection[str]) -> frozenset[str]:
    """The rules that a configuration breaks, each as the name of a parameter and its rule.

    Parameters that were ``moved``, not left where they were, must be active, and a multiple of
    another one must be a whole one within its range. ``values`` are of every known parameter.
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
    if parameter.multiple_of and moved:
        assert parameter.low is not None and parameter.high is not None
        unit = float(values[parameter.multiple_of])
        times = number / unit if unit else 0.0
        inside = parameter.low - _TINY <= times <= parameter.high + _TINY
        if not inside or abs(times - round(times)) >= _TINY:
            yield f"is no multiple of {parameter.multiple_of}"


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


def encode_columns(
    space: Space, configurations: Sequence[Configuration]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Effective values as columns.

    Numbers become a share of their range, special values -1 and lower, inactive parameters -2
    and lower still; a categorical parameter has one column for each of its values.

    Returns:
        ``values`` (n_configurations, n_columns) and ``owner`` (n_columns,): the index in
        ``space.parameters`` that each column belongs to.
    """
    import numpy as np

    columns: list[list[float]] = []
    owner: list[int] = []
    for index, parameter in enumerate(space.parameters):
        given = [configuration.get(parameter.name) for configuration in configurations]
        if parameter.kind == "cat":
            own = [[float(value == level) for value in given] for level in parameter.values]
        else:
            own = [[_number(parameter, value) for value in given]]
        columns += own
        owner += [index] * len(own)
    shape = (len(owner), len(configurations))
    return np.asarray(columns, dtype=np.float64).reshape(shape).T, np.asarray(owner, dtype=np.intp)


def _number(parameter: Parameter, value: Value | None) -> float:
    if value is None:
        return INACTIVE
    if value in parameter.special and not isinstance(value, bool):
        return SPECIAL - 0.1 * parameter.special.index(value)
    if not parameter.is_numeric:
        return float(value)
    number = float(value)
    return math.log2(number) if parameter.log and number > 0 else number


def draw(design: Design, index: int, *, n: int, dimensions: int, seed: int) -> NDArray[np.float64]:
    """One point of a design, (dimensions,), each coordinate in [0, 1).

    ``random``: independent uniform; ``lhs``: a Latin hypercube of ``n`` points, each coordinate
    once in every n-th of its range, and independent points beyond; ``sobol``: a scrambled Sobol
    sequence. Points are counted from 0; the same seed and index give the same point.
    """
    import numpy as np

    if design == "sobol":
        point = _sobol(dimensions, seed, index // _BLOCK)[index % _BLOCK]
    elif design == "lhs" and index < n:
        point = _latin_hypercube(n, dimensions, seed)[index]
    else:
        point = np.random.default_rng([seed, index]).random(dimensions)
    return np.asarray(np.minimum(point, _LARGEST_DOUBLE_BELOW_1))


@lru_cache(maxsize=2)
def _latin_hypercube(n: int, dimensions: int, seed: int) -> NDArray[np.float64]:
    import numpy as np
    from scipy.stats import qmc

    rng = np.random.default_rng(seed)
    return np.asarray(qmc.LatinHypercube(dimensions, rng=rng).random(n))


@lru_cache(maxsize=2)
def _sobol(dimensions: int, seed: int, block: int) -> NDArray[np.float64]:
    import numpy as np
    from scipy.stats import qmc

    sequence = qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng(seed))
    if block:
        sequence.fast_forward(block * _BLOCK)  # by 0 it fails (SciPy 1.17)
    return np.asarray(sequence.random(_BLOCK))
