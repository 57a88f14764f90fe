"""What a run is asked for: the shape of its load, sizes, durations, and when compaction may run.

A policy is pure: from what was counted to whether compaction is on. Its shares are of a capacity:
what flushes can write when nothing else does (the thesis limits its tuner's background I/O to that
rate, 380 MB/s halved, section 3.5.1). Its tuner counts how often the rate limiter ran dry; here
bytes are counted, so nothing needs to be limited.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sampler.common.documents import finite_number
from sampler.common.errors import InputError

# on, off, tuned: section 4.2.1. lifted: on, without holding writes back (section 4.5).
# duty: compaction takes what flushes leave of the capacity (section 5.2, "Rate-limiting
# Compactions"). RocksDB has no limiter for compaction alone, so it is switched.
POLICIES = ("on", "lifted", "off", "tuned", "duty")
SWITCHING = ("tuned", "duty")
FULL_STEP_SECONDS = 10.0  # kRefillsPerTune x refill_period_us: 100 x 0.1 s
_TICKS = 10  # of a step, for `duty`


@dataclass(frozen=True, kw_only=True)
class Marks:
    """Where compaction is switched."""

    capacity: float = 190e6  # bytes/s that count as 100%
    # `tuned` stops compaction only where flushes take at least this share, and starts it only
    # where they take less.
    low: float = 0.5
    # `tuned` stops compaction only where all background I/O takes at least this share, and starts
    # it only where it takes no more.
    high: float = 0.9
    full: float = 1.0  # `duty` holds compaction back altogether where flushes take this share
    step: float = FULL_STEP_SECONDS  # seconds over which shares are measured

    def __post_init__(self) -> None:
        """Refuses, with an InputError, what means nothing."""
        for field, value, most in (
            ("capacity", self.capacity, 1e12), ("low_mark", self.low, 10.0),
            ("high_mark", self.high, 10.0), ("full_mark", self.full, 10.0),
            ("step", self.step, 1e5),
        ):  # fmt: skip
            if not (math.isfinite(value) and 0 < value <= most):
                raise InputError(field, f"{value:g} is not in the range above 0 to {most:g}")

    def tick(self, policy: str) -> float:
        """How often the policy looks, in seconds."""
        return self.step / (_TICKS if policy == "duty" else 1)


@dataclass(frozen=True)
class WriteCounts:
    """What was counted since the database was opened, in bytes."""

    at: float  # seconds, by any clock that never goes back
    flushed: int  # written by flushes
    background: int  # written by flushes and compactions


@dataclass(frozen=True)
class Switch:
    """A policy's state."""

    on: bool  # whether compaction may run
    last: WriteCounts  # what was counted when it was last looked at
    flush_rate: float = 0.0  # `duty`: bytes/s of flushes, smoothed over a step
    # `duty`: bytes that compaction may still write; negative: it wrote too many
    credit: float = 0.0


def first_switch(policy: str, reading: WriteCounts) -> Switch:
    """How a load begins: compaction is on unless it is off throughout."""
    return Switch(policy != "off", reading)


def next_switch(policy: str, marks: Marks, before: Switch, reading: WriteCounts) -> Switch:
    """The state after a look, the same object if it is too early."""
    passed = reading.at - before.last.at
    if policy not in SWITCHING or passed < marks.tick(policy):
        return before
    flushed = (reading.flushed - before.last.flushed) / passed
    # The two are read one after the other, and a flush is counted when it has ended.
    background = max((reading.background - before.last.background) / passed, flushed)
    if policy == "tuned":
        on = _tuned(marks, before.on, flushed / marks.capacity, background / marks.capacity)
        return Switch(on, reading)
    return _duty(marks, before, reading, flushed, background - flushed)


def _tuned(marks: Marks, on: bool, flush: float, total: float) -> bool:
    """TuneCompaction (figure 3.9): between the marks everything stays as it is."""
    if total == 0:
        return on
    if total <= marks.high and flush < marks.low:
        return True
    return on and not (total >= marks.high and flush >= marks.low)


def _duty(
    marks: Marks, before: Switch, reading: WriteCounts, flushed: float, compacted: float
) -> Switch:
    """Compaction earns what flushes leave of the capacity, and is off while it has overspent.

    A compaction that has begun runs to its end, so it overspends, and pays afterwards. At most a
    step's worth is carried over, either way: idle hours buy no burst.
    """
    passed = reading.at - before.last.at
    weight = -math.expm1(-passed / marks.step)
    rate = before.flush_rate + weight * (flushed - before.flush_rate)
    left = max(marks.full * marks.capacity - rate, 0.0)
    most = marks.capacity * marks.step
    credit = min(max(before.credit + (left - compacted) * passed, -most), most)
    on = credit > 0 if left > 0 else False
    return replace(before, on=on, last=reading, flush_rate=rate, credit=credit)


# Seconds in all, of which the wave takes 350: sections 4.3.1 to 4.3.3.
FULL_SECONDS = {"350": 350.0, "700": 700.0, "1000": 1000.0}
_WAVE = 350.0
LOW, HIGH, TAIL = 50e6, 200e6, 10e6  # bytes/s


@dataclass(frozen=True, kw_only=True)
class LoadShape:
    """How many bytes a second come in, and when."""

    name: str = "350"  # `350`, `700` or `1000`
    seconds: float = 35.0  # of the whole load
    low: float = LOW  # bytes/s at the wave's trough, where it begins and ends
    high: float = HIGH  # bytes/s at its peak, in its middle
    tail: float = TAIL  # bytes/s after the wave

    def __post_init__(self) -> None:
        """Refuses, with an InputError, what cannot be run."""
        if self.name not in FULL_SECONDS:
            raise InputError("shape", f"{self.name!r} is not one of {', '.join(FULL_SECONDS)}")
        if not 0.5 <= self.seconds <= 86_400:
            raise InputError("seconds", f"{self.seconds:g} is not from 0.5 to 86,400")
        if not 1e5 <= self.low <= self.high <= 1e11:
            raise InputError("low", "give 100 kB <= low <= high <= 100 GB, in bytes/s")
        if not 1e5 <= self.tail <= 1e11:
            raise InputError("tail", "give 100 kB to 100 GB, in bytes/s")

    @property
    def factor(self) -> float:
        """How much shorter than the thesis's it is; sizes of the tree are divided alike."""
        return self.seconds / FULL_SECONDS[self.name]

    @property
    def step(self) -> float:
        """The thesis's ten seconds over which shares are measured, as much shorter as the load."""
        return FULL_STEP_SECONDS * self.factor

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


# As many keys for each planned write as the thesis has: 1,000,000 to 437,500.
_KEYS_PER_WRITE = 16 / 7
_FIELDS = {"low_mark": "low", "high_mark": "high", "full_mark": "full", "step_seconds": "step"}


@dataclass(frozen=True, kw_only=True)
class AutotuneRequest:
    """One run: a load under a policy, then reads, then recovery."""

    policy: str  # one of `POLICIES`
    shape: LoadShape
    marks: Marks
    value_size: int = 100_000  # in bytes
    rate_limit: float = 0.0  # bytes/s of all background writes; 0: none
    read_seconds: float = 3.0  # of reads with filters, and as many without; 0: none
    direct_reads: bool = True  # whether reads go past the page cache
    recovery_seconds: float = 600.0  # how long recovery is waited for
    seed: int = 1  # of keys and values
    tree: float | None = None  # the factor of all sizes of the tree; None: the shape's

    def __post_init__(self) -> None:
        """Refuses, with an InputError, what cannot be run."""
        if self.policy not in POLICIES:
            raise InputError("policy", f"{self.policy!r} is not one of {', '.join(POLICIES)}")
        for field, value, least, most in (
            ("value_size", self.value_size, 1, 2**24),
            ("read_seconds", self.read_seconds, 0, 86_400),
            ("recovery_seconds", self.recovery_seconds, 1, 86_400),
            ("rate_limit", self.rate_limit, 0, 1e12),
        ):
            if not least <= value <= most:
                raise InputError(field, f"{value:g} is not from {least:,} to {most:,}")
        if self.keys > 2**27:
            raise InputError("value_size", f"is too small: the run would exceed {2**27:,} keys")

    @property
    def pair_bytes(self) -> int:
        """Of a key and its value."""
        return 16 + self.value_size

    @property
    def factor(self) -> float:
        """Of all sizes of the tree, against RocksDB's defaults."""
        return self.shape.factor if self.tree is None else self.tree

    @property
    def keys(self) -> int:
        """Size of the key space."""
        planned = self.shape.planned_bytes / self.pair_bytes
        return max(round(planned * _KEYS_PER_WRITE), 1)


def read_configuration(path: Path) -> dict[str, Any]:
    """The parameters that a ``[command]`` workload hands over as JSON; else an InputError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError("configuration", f"cannot read {str(path)!r}: {error}") from None
    if not isinstance(document, dict):
        raise InputError("configuration", f"{str(path)!r} does not hold a JSON object")
    return document


def configured(asked: AutotuneRequest, configuration: Mapping[str, Any]) -> AutotuneRequest:
    """The run with a configuration of the space ``warlo``; an InputError of a wrong name or value.

    ``step_seconds`` is at full scale: that of a load of 350 s.
    """
    marks: dict[str, float] = {}
    policy = asked.policy
    for name, value in configuration.items():
        if name == "policy" and isinstance(value, str):
            policy = value
        elif name in _FIELDS and (number := finite_number(value)) is not None:
            scale = asked.shape.factor if name == "step_seconds" else 1.0
            marks[_FIELDS[name]] = number * scale
        else:
            known = ", ".join(["policy", *_FIELDS])
            raise InputError(f"configuration {name}", f"is not one of {known}, or not valid")
    return replace(asked, policy=policy, marks=replace(asked.marks, **marks))
