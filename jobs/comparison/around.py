"""Half, as it is, and double: whether a parameter is well set, in three configurations.

KIOXIA's tuning guide for TRocksDB ends with this check of what its formulas give.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from jobs.comparison.side import Side
from sampler.byte_size import format_bytes
from sampler.catalogue import catalogue
from sampler.errors import InputError
from sampler.parameter import Parameter, Value

HALF, MIDDLE, DOUBLE = "half", "as-is", "double"
_FIELD = "--around"
_LEAST_BYTES = 2**10  # smaller numbers are counts, and are written as they are


def sides_around(side: Side, values: Mapping[str, Value], name: str) -> dict[str, Side]:
    """The three sides, the middle one first: what the others are compared with.

    Args:
        side: The middle.
        values: Of every known parameter in it, full scale.
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
    value = values[name]
    if value in parameter.special or not float(value) > 0:
        mend = f"write A as {name}=..."
        raise InputError(_FIELD, f"{name} is {value} in A, which cannot be halved; {mend}")
    half, double = _times(parameter, value, 0.5), _times(parameter, value, 2)
    if half == value:
        raise InputError(_FIELD, f"{name} is {value} in A, and half of that is no value of it")
    return {
        MIDDLE: _at(side, parameter, value),
        HALF: _at(side, parameter, half),
        DOUBLE: _at(side, parameter, double),
    }


def _times(parameter: Parameter, value: Value, factor: float) -> Value:
    """The product, as near as the parameter's type has it, and at least its quantum."""
    product = float(value) * factor
    if parameter.kind == "float":
        return product
    quantum = parameter.quantum
    return max(quantum, round(product / quantum) * quantum)


def _at(side: Side, parameter: Parameter, value: Value) -> Side:
    sized = parameter.scaled and float(value) >= _LEAST_BYTES
    shown = format_bytes(float(value)) if sized else value
    return replace(
        side,
        what=f"{parameter.name} = {shown} in {side.what}",
        values={**side.values, parameter.name: value},
    )
