"""When compaction may run. Pure: from what was counted to whether it is on.

Shares are of a capacity: what flushes can write when nothing else does (the thesis limits its
tuner's background I/O to that rate, 380 MB/s halved, section 3.5.1). Its tuner counts how often
the rate limiter ran dry; here bytes are counted, so nothing needs to be limited.
"""

import math
from dataclasses import dataclass, replace

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
class Reading:
    """What was counted since the database was opened, in bytes."""

    at: float  # seconds, by any clock that never goes back
    flushed: int  # written by flushes
    background: int  # written by flushes and compactions


@dataclass(frozen=True)
class Switch:
    """A policy's state."""

    on: bool  # whether compaction may run
    last: Reading  # what was counted when it was last looked at
    flush_rate: float = 0.0  # `duty`: bytes/s of flushes, smoothed over a step
    # `duty`: bytes that compaction may still write; negative: it wrote too many
    credit: float = 0.0


def first_switch(policy: str, reading: Reading) -> Switch:
    """How a load begins: compaction is on unless it is off throughout."""
    return Switch(policy != "off", reading)


def next_switch(policy: str, marks: Marks, before: Switch, reading: Reading) -> Switch:
    """The state after a look, the same object if it is too early; an InputError of no policy."""
    if policy not in POLICIES:
        raise InputError("policy", f"{policy!r} is not one of {', '.join(POLICIES)}")
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
    marks: Marks, before: Switch, reading: Reading, flushed: float, compacted: float
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
