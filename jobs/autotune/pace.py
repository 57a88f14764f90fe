"""Keeps a writer at a rate that changes: a limit, as db_bench's, and no debt to catch up with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# A writer that was held up may make up for so many seconds, not for more: RocksDB's rate limiter,
# which db_bench paces its writes with, refills every tenth of a second.
_SLACK = 0.1


@dataclass(frozen=True)
class Pace:
    """When the next write is due.

    Attributes:
        rate: Bytes/s at a time since the beginning.
        due: Seconds since the beginning.
    """

    rate: Callable[[float], float]
    due: float = 0.0

    def wait(self, now: float) -> float:
        """Seconds until the next write may begin; 0 or less: at once."""
        return self.due - now

    def wrote(self, size: int, now: float) -> Pace:
        """The pace after a write of so many bytes that was begun at ``now``."""
        begun = max(self.due, now - _SLACK)
        return Pace(self.rate, begun + size / self.rate(now))
