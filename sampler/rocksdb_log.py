"""RocksDB's LOG: when flushes and compactions ended, and the counters of its last dump."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sampler.db_bench_output import parse_stall_percent, parse_tickers

_STAMP = re.compile(r"^(\d{4}/\d{2}/\d{2}-\d{2}:\d{2}:\d{2}\.\d{6}) \d+ ", re.MULTILINE)
_EVENT = re.compile(r"EVENT_LOG_v1 (\{.*\})$", re.MULTILINE)
_WORK = {
    "flush_started": True,
    "flush_finished": False,
    "compaction_started": True,
    "compaction_finished": False,
}
_DUMP = "STATISTICS:"
_HISTOGRAM = " P50 : "
_MANUAL_FLUSH = "Manual flush start"
_OPENED = "DB pointer"
_FIRST_YEAR = 1970


@dataclass(frozen=True)
class RocksdbLog:
    """What a LOG tells; times in seconds since the epoch, by the database's clock.

    Attributes:
        opened: When the database was last opened.
        load_ended: When the manual flush after the load began; None if there was none.
        flushed: When that flush, and those that it waited for, had ended.
        work_ended: When the last flush or compaction ended.
        working: How many flushes and compactions have begun and not ended.
        dumped: When the last whole dump of statistics was written.
        tickers: The counters of that dump.
        stall_percent: Share of the time that writes stalled, as of that dump.
    """

    opened: float | None = None
    load_ended: float | None = None
    flushed: float | None = None
    work_ended: float | None = None
    working: int = 0
    dumped: float | None = None
    tickers: Mapping[str, int] = field(default_factory=dict)
    stall_percent: float | None = None


def parse_log(text: str) -> RocksdbLog:
    """Reads a LOG. Never raises, whatever the text holds or where it is cut off."""
    load_ended = _last_stamp(text, _MANUAL_FLUSH)
    work = _work(text)
    dump, dump_end = _last_whole_dump(text)
    return RocksdbLog(
        opened=_last_stamp(text, _OPENED),
        load_ended=load_ended,
        flushed=_last_stamp(text, "Manual flush finished"),
        work_ended=max((moment for moment, begins in work if not begins), default=None),
        working=sum(1 if begins else -1 for _, begins in work),
        dumped=_stamp_before(text, dump),
        tickers=parse_tickers(text[dump:dump_end]) if dump >= 0 else {},
        stall_percent=parse_stall_percent(text),
    )


def _work(text: str) -> list[tuple[float, bool]]:
    """When flushes and compactions began (True) and ended (False)."""
    events: list[tuple[float, bool]] = []
    for match in _EVENT.finditer(text):
        try:
            event = json.loads(match.group(1))
        except (ValueError, RecursionError):
            continue
        micros, name = event.get("time_micros"), event.get("event")
        known = isinstance(name, str) and name in _WORK
        if known and type(micros) is int and 0 <= micros < 10**17:
            events.append((micros / 1e6, _WORK[name]))
    return events


def _last_whole_dump(text: str) -> tuple[int, int]:
    """Where the counters of the last dump that is not cut off begin and end; -1 if there is none.

    RocksDB writes its LOG in blocks of 64 KiB, so the end is often the middle of a dump. The
    counters are whole when the histograms after them have begun.
    """
    last = text.rfind(_HISTOGRAM)
    start = text.rfind(_DUMP, 0, last) if last >= 0 else -1
    return start, text.find(_HISTOGRAM, start)


def _last_stamp(text: str, words: str) -> float | None:
    """When the last line with these words was written."""
    return _stamp_before(text, text.rfind(words))


def _stamp_before(text: str, position: int) -> float | None:
    """The stamp of the line around a position."""
    if position < 0:
        return None
    start = text.rfind("\n", 0, position) + 1
    stamp = _STAMP.match(text, start)
    if stamp is None:
        return None
    try:
        moment = datetime.strptime(stamp.group(1), "%Y/%m/%d-%H:%M:%S.%f")
    except ValueError:
        return None
    if moment.year < _FIRST_YEAR:
        return None
    # Stamps are local time; db_bench is run with TZ=UTC so that they compare with events.
    return moment.replace(tzinfo=UTC).timestamp()
