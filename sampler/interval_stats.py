"""RocksDB's dumps of statistics, interval by interval: from db_bench's output or from a LOG.

db_bench prints them with ``--stats_interval_seconds=1 --stats_per_interval=1``, a database writes
them into its LOG every ``stats_dump_period_sec`` (db/internal_stats.cc, DumpDBStats and
DumpCFStatsNoFileHistogram). MB are RocksDB's: 2**20 bytes. "Compaction" counts flushes as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

_UPTIME = re.compile(r"Uptime\(secs\): (\d{1,12}\.\d) total, (\d{1,12}\.\d) interval")
_FAMILY = re.compile(r"\*\* Compaction Stats \[(.*)\] \*\*")
_COMPACTION = re.compile(
    r"(Cumulative|Interval) compaction: (\d{1,12}\.\d+) GB write, (\d{1,9}\.\d+) MB/s write, "
    r"\d{1,12}\.\d+ GB read, (\d{1,9}\.\d+) MB/s read"
)
_WRITES = re.compile(
    r"(Cumulative|Interval) writes: .*ingest: (\d{1,12}\.\d+) [GM]B, (\d{1,9}\.\d+) MB/s"
)
_STALL = re.compile(r"(Cumulative|Interval) stall: .*, (\d{1,9}\.\d+) percent")
# Both clocks of a dump are rounded to tenths, and its parts are written one after the other.
_SLACK = 0.25


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


def parse_intervals(text: str) -> tuple[tuple[Interval, ...], ...]:
    """The intervals of each opening of a database, by time. Never raises; empty if there are none.

    db_bench's last dump stands on its standard output, the others on standard error: kept in one
    file they may come in any order. A dump as long as its database is old begins an opening.
    """
    openings: list[list[Interval]] = [[]]
    for dump in _dumps(text):
        first = abs(dump.at - dump.seconds) <= _SLACK
        begun = any(abs(each.at - each.seconds) <= _SLACK for each in openings[-1])
        if first and begun and not _follows(dump, openings[-1]):
            openings.append([])
        openings[-1].append(dump)
    return tuple(_in_order(opening) for opening in openings if opening)


def _follows(dump: Interval, opening: Sequence[Interval]) -> bool:
    """Whether a very young database was dumped twice: the first dump is empty then."""
    return any(each.at <= _SLACK and dump.at > each.at for each in opening) and not any(
        each.at > _SLACK for each in opening
    )


def _in_order(opening: Sequence[Interval]) -> tuple[Interval, ...]:
    by_time = sorted(opening, key=lambda each: each.at)
    # The same moment told twice: db_bench's `stats` after a last interval of the same length.
    told = [a for a, b in pairwise(by_time) if a.at != b.at]
    return (*told, by_time[-1])


@dataclass
class _Dump:
    """What was read of a dump so far."""

    at: float
    interval: Interval
    families: set[str] = field(default_factory=set)
    has_writes: bool = False

    def take(self, uptime: re.Match[str], *, family: str | None) -> bool:
        """Whether a part belongs to this dump: none is twice in it, and all are of one moment."""
        known = family in self.families if family is not None else self.has_writes
        if known or abs(float(uptime.group(1)) - self.at) > _SLACK:
            return False
        if family is None:
            self.has_writes = True
        else:
            self.families.add(family)
        return True


def _dumps(text: str) -> Iterator[Interval]:
    dump: _Dump | None = None
    family: str | None = None
    for line in text.splitlines():
        if found := _FAMILY.search(line):
            family = found.group(1)
        elif "** DB Stats **" in line:
            family = None
        elif found := _UPTIME.search(line):
            if dump is None or not dump.take(found, family=family):
                if dump is not None:
                    yield dump.interval
                at, seconds = float(found.group(1)), float(found.group(2))
                dump = _Dump(at, Interval(at=at, seconds=seconds))
                dump.take(found, family=family)
        elif dump is not None:
            for pattern, reader in _READERS:
                if found := pattern.search(line):
                    dump.interval = reader(dump.interval, found)
    if dump is not None:
        yield dump.interval


def _compaction(dump: Interval, found: re.Match[str]) -> Interval:
    size, write, read = (float(found.group(i)) for i in (2, 3, 4))
    if found.group(1) == "Interval":
        return replace(
            dump,
            compaction=(dump.compaction or 0.0) + write,
            compaction_read=(dump.compaction_read or 0.0) + read,
        )
    return replace(
        dump,
        compacted_gb=(dump.compacted_gb or 0.0) + size,
        cumulative_compaction=(dump.cumulative_compaction or 0.0) + write,
        cumulative_compaction_read=(dump.cumulative_compaction_read or 0.0) + read,
    )


def _writes(dump: Interval, found: re.Match[str]) -> Interval:
    if found.group(1) == "Interval":
        return replace(dump, writes=float(found.group(3)))
    return replace(
        dump, ingested_gb=float(found.group(2)), cumulative_writes=float(found.group(3))
    )


def _stall(dump: Interval, found: re.Match[str]) -> Interval:
    percent = float(found.group(2))
    if found.group(1) == "Interval":
        return replace(dump, stall_percent=percent)
    return replace(dump, cumulative_stall_percent=percent)


_Reader = Callable[[Interval, "re.Match[str]"], Interval]
_READERS: tuple[tuple[re.Pattern[str], _Reader], ...] = (
    (_COMPACTION, _compaction),
    (_WRITES, _writes),
    (_STALL, _stall),
)
