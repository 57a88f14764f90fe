"""RocksDB's dumps of statistics, interval by interval: from db_bench's output or from a LOG.

db_bench prints them with ``--stats_interval_seconds=1 --stats_per_interval=1``, a database writes
them into its LOG every ``stats_dump_period_sec`` (db/internal_stats.cc, DumpDBStats and
DumpCFStatsNoFileHistogram). MB are RocksDB's: 2**20 bytes. "Compaction" counts flushes as well.
"""

from __future__ import annotations

from sampler.stats_dumps.interval import Interval
from sampler.stats_dumps.opening import parse_openings

__all__ = ["Interval", "parse_intervals"]


def parse_intervals(text: str) -> tuple[tuple[Interval, ...], ...]:
    """The intervals of each opening of a database, by time. Never raises; empty if there are none.

    db_bench's last dump stands on its standard output, the others on standard error: kept in one
    file they may come in any order. ``sampler.stats_dumps.opening`` tells more of each opening.
    """
    return tuple(opening.intervals for opening in parse_openings(text))
