"""A parameter space: which parameters move, and what everything else stays at."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Literal

from sampler.common.errors import InputError
from sampler.rocksdb.parameters import Parameter, Value, catalogue
from sampler.workload.workload import COLUMN_FAMILIES

Configuration = Mapping[str, Value]
# column_family.cc, SanitizeOptions: smaller write buffers are raised to this.
LEAST_WRITE_BUFFER = 64 * 2**10


@dataclass(frozen=True)
class Space:
    """The parameters that move, and the values of those that do not."""

    name: str
    parameters: tuple[Parameter, ...]  # the tuned parameters, in the order of the space's file
    fixed: Configuration  # values that every configuration of the space has, the baseline excepted
    context: Configuration  # the value of every known parameter at the baseline
    # What trials are compared with: the defaults of ``library`` or ``db_bench``, or a shipped
    # starting point.
    baseline: str = "library"
    # Parameters that are drawn and ranked but never searched.
    unsearched: frozenset[str] = frozenset()
    memory_budget: bool = True  # whether draws keep within the baseline's memory

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The tuned parameters' names."""
        return tuple(parameter.name for parameter in self.parameters)

    @cached_property
    def by_name(self) -> dict[str, Parameter]:
        """The tuned parameters by name."""
        return {parameter.name: parameter for parameter in self.parameters}

    @cached_property
    def known(self) -> dict[str, Parameter]:
        """The catalogue, with the space's own parameters and overrides over it."""
        return {**catalogue(), **self.by_name}

    @cached_property
    def bounded_by(self) -> dict[str, tuple[Parameter, ...]]:
        """The parameters whose floor or ceiling is set by another one, by the other's name."""
        bounded: dict[str, tuple[Parameter, ...]] = {}
        for other in self.known.values():
            for bound in (other.floor, other.ceiling):
                if bound:
                    bounded[bound.parameter] = (*bounded.get(bound.parameter, ()), other)
        return bounded

    @cached_property
    def decided_order(self) -> tuple[str, ...]:
        """The tuned parameters so ordered that each follows those that it refers to.

        Raises:
            InputError: Bounds or conditions refer to each other in a circle.
        """
        graph = {p.name: sorted(refers_to(p) & self.by_name.keys()) for p in self.parameters}
        try:
            return tuple(TopologicalSorter(graph).static_order())
        except CycleError as error:
            circle = " -> ".join(error.args[1])
            raise InputError("space.parameter", f"bounds refer to each other: {circle}") from None

    @cached_property
    def start(self) -> dict[str, Value]:
        """The value of every known parameter before any of the space moves."""
        return {**self.context, **self.fixed}

    def complete(self, configuration: Configuration) -> dict[str, Value]:
        """The value of every known parameter under a configuration."""
        return {**self.context, **configuration}

    def default_configuration(self) -> dict[str, Value]:
        """The baseline, restricted to the active parameters of the space."""
        return {n: self.context[n] for n in self.names if self.is_active(n, self.context)}

    def is_active(self, name: str, values: Configuration) -> bool:
        """Whether a parameter does anything, given the values of the others."""
        parameter = self.known.get(name)
        return parameter is None or all(
            values.get(condition.parameter) in condition.values
            and self.is_active(condition.parameter, values)
            for condition in parameter.active_if
        )

    def without(self, names: Iterable[str]) -> Space:
        """The same space with some parameters left at the baseline."""
        dropped = set(names)
        kept = tuple(p for p in self.parameters if p.name not in dropped)
        return replace(self, parameters=kept)

    def at_baseline(self, values: Configuration) -> Space:
        """The same space around another baseline."""
        return replace(self, context={**self.context, **values})


def holding(space: Space, values: Configuration) -> Space:
    """The same space with ranges and choices that hold its parameters' values, as its baseline's.

    Someone who runs with a value is not told that it is outside of what is searched.
    """
    wide = tuple(_holding(p, values[p.name], values) for p in space.parameters)
    return space if wide == space.parameters else replace(space, parameters=wide)


def _holding(parameter: Parameter, value: Value, context: Configuration) -> Parameter:
    if value in parameter.special or parameter.section == "workload":
        return parameter
    if parameter.kind == "cat":
        if value in parameter.values:
            return parameter
        return replace(parameter, choices=(*parameter.choices, (value, str(value))))
    low, high = parameter.low, parameter.high
    if low is None or high is None:
        return parameter
    number = float(value)
    if parameter.multiple_of:
        unit = float(context[parameter.multiple_of])
        number = number / unit if unit else low
    if number <= 0 and parameter.log:
        return replace(parameter, special=(*parameter.special, value))
    if low <= number <= high:
        return parameter
    whole = parameter.kind == "int"
    return replace(
        parameter,
        low=min(low, math.floor(number) if whole else number),
        high=max(high, math.ceil(number) if whole else number),
    )


def refers_to(parameter: Parameter) -> frozenset[str]:
    """What must be decided before a parameter, shared memory included.

    The memtable's size comes last of the three that share the memory budget, so that it takes
    what the others leave.
    """
    shared = {
        "max_write_buffer_number": {"cache_size"},
        "write_buffer_size": {"cache_size", "max_write_buffer_number"},
    }
    return parameter.refers_to | frozenset(shared.get(parameter.name, ()))


def default_values(which: Literal["library", "db_bench"]) -> dict[str, Value]:
    """The default of every catalogued parameter."""
    return {
        name: parameter.default if which == "library" else parameter.default_db_bench
        for name, parameter in catalogue().items()
    }


def digest(configuration: Configuration) -> str:
    """A short name for a configuration that is the same wherever it is computed."""
    text = json.dumps(dict(configuration), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def memtable_bytes(values: Configuration) -> int:
    """Bytes that all memtables may hold, at full scale.

    Each column family of the load has memtables of its own. All of them together may have a limit
    of their own, ``db_write_buffer_size``.
    """
    families = int(values.get(COLUMN_FAMILIES, 1))
    buffers = families * int(values["write_buffer_size"]) * int(values["max_write_buffer_number"])
    limit = int(values.get("db_write_buffer_size", 0))
    return min(limit, buffers) if limit > 0 else buffers


def flushed_at(values: Configuration) -> int:
    """Bytes of a memtable when it is flushed, at full scale.

    With a limit of all memtables together RocksDB flushes at seven eighths of it
    (write_buffer_manager.h, ShouldFlush), whatever one memtable may hold.
    """
    buffer, limit = int(values["write_buffer_size"]), int(values.get("db_write_buffer_size", 0))
    return min(buffer, limit * 7 // 8) if limit > 0 else buffer


def memory_bytes(values: Configuration) -> int:
    """Bytes that a configuration may hold: memtables plus caches, at full scale."""
    return memtable_bytes(values) + cache_bytes(values)


def cache_bytes(values: Configuration) -> int:
    """Bytes of the block cache and of what other caches a user's own file names."""
    return int(values["cache_size"]) + int(values.get("other_caches", 0))
