"""Figures as people read them: on reports and pages, and in the terminal."""

from collections.abc import Mapping
from typing import Any

from sampler.common.byte_size import format_bytes
from sampler.parameters.parameter import Parameter
from sampler.workload.metric_units import BYTES, metric_unit

_BYTES = ("memory", "peak_rss", "device_bytes", "lsm_bytes")


def figure(value: float | None) -> str:
    """A number with four significant digits and thousands apart."""
    if value is None:
        return "n/a"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def metric_amount(value: float | None, metric: str) -> str:
    """A metric's value with its unit where that is bytes."""
    return format_bytes(value) if metric in _BYTES and value is not None else figure(value)


def amount_with_unit(value: float | None, metric: str) -> str:
    """A metric's value with its unit; a number of bytes in KiB, MiB and so on."""
    unit = metric_unit(metric)
    if value is None or unit is None:
        return figure(value)
    return format_bytes(value) if unit == BYTES else f"{figure(value)} {unit}"


def option_value(value: Any, parameter: Parameter | None) -> str:
    """An option's value; a size of 1 KiB or more with its unit."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if parameter is None or not parameter.is_bytes or not number or value < 1024:
        return str(value)
    return str(value) if value in parameter.special else format_bytes(value)


def signed(change: Mapping[str, Any], name: str) -> str:
    """A percentage with its sign."""
    value = change.get(name)
    return "n/a" if value is None else f"{value:+z.1f}%"


def share_percent(share: float) -> str:
    """A share as a percentage of two digits, without an exponent: 0.0123 is ``1.2%``."""
    return f"{float(f'{100 * share:.2g}'):.12g}%"
