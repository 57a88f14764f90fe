"""Figures and times as a page writes them, with their units."""

from __future__ import annotations

from datetime import UTC, datetime

from jobs.results.figures import figure
from sampler.common.byte_size import format_bytes
from sampler.workload.metric_units import BYTES, metric_unit

UNKNOWN = "-"


def duration(seconds: float | None) -> str:
    """``45 s``, ``12 min``, ``3 h 20 min``, ``2 d 4 h``; ``-`` for what is not known."""
    if seconds is None:
        return UNKNOWN
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h"


def moment(at: datetime | None) -> str:
    """A time in UTC; the page's script writes it anew in the reader's zone."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if at else UNKNOWN


def moment_iso(at: datetime | None) -> str:
    """The same for the ``datetime`` of a ``<time>``."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds") if at else ""


def grouped(number: int | None) -> str:
    """A count with its thousands apart."""
    return UNKNOWN if number is None else f"{number:,}"


def bytes_or_figure(value: float | None, metric: str) -> str:
    """A metric's value with its unit."""
    if value is None:
        return UNKNOWN
    unit = metric_unit(metric)
    if unit == BYTES:
        return format_bytes(value)
    return f"{figure(value)} {unit}" if unit else figure(value)
