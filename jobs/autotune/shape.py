"""A load whose rate follows a sine wave, and a steady low one after it (thesis, section 3.4.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sampler.common.errors import InputError

# Seconds in all, of which the wave takes 350: sections 4.3.1 to 4.3.3.
FULL_SECONDS = {"350": 350.0, "700": 700.0, "1000": 1000.0}
_WAVE = 350.0
LOW, HIGH, TAIL = 50e6, 200e6, 10e6  # bytes/s


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How many bytes a second come in, and when.

    Attributes:
        name: ``350``, ``700`` or ``1000``.
        seconds: Of the whole load.
        low: Bytes/s at the wave's trough, where it begins and ends.
        high: Bytes/s at its peak, in its middle.
        tail: Bytes/s after the wave.
    """

    name: str = "350"
    seconds: float = 35.0
    low: float = LOW
    high: float = HIGH
    tail: float = TAIL

    def __post_init__(self) -> None:
        """Refuses what cannot be run.

        Raises:
            InputError: A value is out of range.
        """
        if self.name not in FULL_SECONDS:
            raise InputError("--shape", f"{self.name!r} is none of {', '.join(FULL_SECONDS)}")
        if not 0.5 <= self.seconds <= 86_400:
            raise InputError("--seconds", f"{self.seconds:g} is not from 0.5 to 86,400")
        if not 1e5 <= self.low <= self.high <= 1e11:
            raise InputError("--low", "give 100 kB <= --low <= --high <= 100 GB, in bytes/s")
        if not 1e5 <= self.tail <= 1e11:
            raise InputError("--tail", "is not from 100 kB to 100 GB, in bytes/s")

    @property
    def factor(self) -> float:
        """How much shorter than the thesis's it is; sizes of the tree are divided alike."""
        return self.seconds / FULL_SECONDS[self.name]

    @property
    def wave_seconds(self) -> float:
        """The wave's period."""
        return _WAVE * self.factor

    def rate(self, at: float) -> float:
        """Bytes/s at a time since the beginning: a sin(b x + c) + d, then the tail."""
        if at > self.wave_seconds:
            return self.tail
        swing, middle = (self.high - self.low) / 2, (self.high + self.low) / 2
        return middle + swing * math.sin(2 * math.pi * at / self.wave_seconds + 1.5 * math.pi)

    @property
    def planned_bytes(self) -> float:
        """What comes in when nothing holds it back."""
        wave = (self.low + self.high) / 2 * self.wave_seconds
        return wave + self.tail * (self.seconds - self.wave_seconds)
