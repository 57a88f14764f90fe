"""Half, as it is, and double: whether a parameter is well set, in three configurations.

KIOXIA's tuning guide for TRocksDB ends with this check of what its formulas give.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from jobs.experiments.comparison.side import Side
from sampler.common.byte_size import format_bytes
from sampler.common.errors import InputError
from sampler.parameters.catalogue import catalogue
from sampler.parameters.parameter import Parameter, Value

HALF, MIDDLE, DOUBLE = "half", "as-is", "double"
_FIELD = "--around"
_LEAST_BYTES = 2**10  # smaller numbers are counts, and are written as they are


def sides_around(
    side: Side, values: Mapping[str, Mapping[str, Value]], name: str
) -> dict[str, Side]:
    """The three sides, the middle one first: what the others are compared with.

    Args:
        side: The middle.
        values: Of every known parameter in it, full scale, by workload.
        name: The parameter.

    Raises:
        InputError: There is no such parameter, it is no number, or its value is one that means
            something else (automatic, none).
    """
    parameter = catalogue().get(name)
    if parameter is None:
        raise InputError(_FIELD, f"there is no parameter {name!r:.60}; see `rocktune space all`")
    if not parameter.is_numeric or parameter.section == "workload":
        raise InputError(_FIELD, f"{name} cannot be halved and doubled")
    middle = {workload: _halvable(parameter, each[name]) for workload, each in values.items()}

    def times(factor: float) -> Side:
        moved = {load: _times(parameter, value, factor) for load, value in middle.items()}
        return _at(side, parameter, moved)

    return {MIDDLE: _at(side, parameter, middle), HALF: times(0.5), DOUBLE: times(2)}


def _halvable(parameter: Parameter, value: Value) -> Value:
    name = parameter.name
    if value in parameter.special or not float(value) > 0:
        mend = f"write A as {name}=..."
        raise InputError(_FIELD, f"{name} is {value} in A, which cannot be halved; {mend}")
    if _times(parameter, value, 0.5) == value:
        raise InputError(_FIELD, f"{name} is {value} in A, and half of that is no value of it")
    return value


def _times(parameter: Parameter, value: Value, factor: float) -> Value:
    """The product, as near as the parameter's type has it, and at least its quantum."""
    product = float(value) * factor
    return product if parameter.kind == "float" else parameter.nearest_multiple(product)


def _at(side: Side, parameter: Parameter, values: Mapping[str, Value]) -> Side:
    """The side with the parameter's value under each workload."""
    name = parameter.name
    shown = {load: _shown(parameter, value) for load, value in values.items()}
    if len(set(shown.values())) == 1:
        told = next(iter(shown.values()))
    else:
        told = ", ".join(f"{text} ({load})" for load, text in shown.items())
    what = f"{name} = {told} in {side.what}"
    if not side.by_workload:
        return replace(side, what=what, values={**side.values, name: next(iter(values.values()))})
    moved = {load: {**side.by_workload[load], name: value} for load, value in values.items()}
    return replace(side, what=what, by_workload=moved)


def _shown(parameter: Parameter, value: Value) -> str:
    sized = parameter.scaled and float(value) >= _LEAST_BYTES
    return format_bytes(float(value)) if sized else str(value)
