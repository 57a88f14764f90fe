"""What a controller asks of a host: to measure one trial, or to answer for its builds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jobs.specification.specification import Specification
from sampler.parameters.parameter import Value


@dataclass(frozen=True, kw_only=True)
class MeasureRequest:
    """One trial, whole: a host knows nothing of the job but this.

    Attributes:
        specification: The job's; the host makes its own benchmark of it.
        configuration: What is measured, full scale.
        cutoff_seconds: After it the trial is cut off; None: never.
        confirms: Whether it belongs to the confirmation, which may be at a larger scale.
        shares: Whether a database that must be prepared may be a copy of the host's own.
    """

    specification: Specification
    configuration: Mapping[str, Value]
    cutoff_seconds: float | None
    confirms: bool = False
    shares: bool = False


class HostUnfit(RuntimeError):
    """The host cannot measure just now, whatever the configuration: its disk is full, say."""


class Abandoned(RuntimeError):
    """Nobody waits for the trial any more; it was ended."""
