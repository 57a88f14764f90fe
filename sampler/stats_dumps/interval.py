"""One interval of an opening of a database: rates, totals and stalls at the end of a dump."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Interval:
    """One dump. What it did not hold is None; rates in MiB/s, clocks in seconds since the opening.

    Attributes:
        at: When it ended.
        seconds: How long it was.
        writes: Rate of keys and values that came in.
        cumulative_writes: The same since the opening.
        ingested_gb: GiB that came in since the opening, to two decimals.
        compaction: Rate at which flushes and compactions wrote, all column families together.
        cumulative_compaction: The same since the opening.
        compacted_gb: GiB that they wrote since the opening, to two decimals.
        compaction_read: Rate at which compactions read.
        cumulative_compaction_read: The same since the opening.
        stall_percent: Share of the time in which writes waited.
        cumulative_stall_percent: The same since the opening.
    """

    at: float
    seconds: float
    writes: float | None = None
    cumulative_writes: float | None = None
    ingested_gb: float | None = None
    compaction: float | None = None
    cumulative_compaction: float | None = None
    compacted_gb: float | None = None
    compaction_read: float | None = None
    cumulative_compaction_read: float | None = None
    stall_percent: float | None = None
    cumulative_stall_percent: float | None = None
