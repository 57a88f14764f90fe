"""RocksDB's LOG: when flushes and compactions ended, and the counters of its last dump.

It is read in pieces, and again only from where it was last read: RocksDB writes some 12 KB of
counters into it every second of a trial, so after an hour it is larger than should be held at
once, or read whole beside the compactions that are timed; and half of it would not tell which
compactions are under way.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from sampler.bench.db_bench_output import parse_tickers

_STAMP = re.compile(r"^(\d{4}/\d{2}/\d{2}-\d{2}:\d{2}:\d{2}\.\d{6}) \d+ ", re.MULTILINE)
_EVENT = re.compile(r"EVENT_LOG_v1 (\{.*\})$", re.MULTILINE)
# Of files that were made (event_helpers.cc): a table's event tells its size, a blob file's the
# bytes of its blobs; neither is one that failed.
_CREATED = re.compile(
    r'"event": "(table|blob)_file_creation", "file_number": \d+, '
    r'"(?:file_size|total_blob_count": \d+, "total_blob_bytes)": (\d{1,15})\b'
)
# Of compactions that ended (compaction_job.cc): the level that they wrote to, and how much.
_COMPACTED = re.compile(
    r'"event": "compaction_finished", .*?"output_level": (\d{1,2}), .*?'
    r'"total_output_size": (\d{1,15})\b'
)
_WORK = {
    "flush_started": True,
    "flush_finished": False,
    "compaction_started": True,
    "compaction_finished": False,
}
_DUMP = "STATISTICS:"
# Beside RocksDB's own counters in a trial: what compactions wrote to a level.
LEVEL_BYTES = "compact.write.bytes.level{}"
_HISTOGRAM = " P50 : "
_PIECE_BYTES = 32 * 2**20
# Of a line, or a dump, that the end of a piece cuts: a longer one is none of RocksDB's.
_MOST_CUT_BYTES = 2**20


@dataclass(frozen=True)
class RocksdbLog:
    """What a LOG tells; times in seconds since the epoch, by the database's clock."""

    opened: float | None = None  # when the database was last opened
    closed: float | None = None  # when it was last told to close
    # When the manual flush after the load began; None if there was none.
    load_ended: float | None = None
    flushed: float | None = None  # when that flush, and those that it waited for, had ended
    work_ended: float | None = None  # when the last flush or compaction ended
    # Numbers of the flushes and compactions that have begun and not ended.
    under_way: frozenset[int] = frozenset()
    ended: frozenset[int] = frozenset()  # numbers of those that have ended
    # The counters of the last whole dump of statistics.
    tickers: Mapping[str, int] = field(default_factory=dict)
    created_bytes: int = 0  # of all table and blob files that flushes and compactions have made
    compacted: Mapping[int, int] = field(default_factory=dict)  # bytes by the level written to

    @property
    def working(self) -> int:
        """How many flushes and compactions have begun and not ended."""
        return len(self.under_way)


def parse_log(text: str) -> RocksdbLog:
    """Reads a LOG. Never raises, whatever the text holds or where it is cut off."""
    work = work_events(text)
    last_event = {job: begins for _, begins, job in work}
    # RocksDB writes its LOG in blocks of 64 KiB, so the end is often the middle of a dump. The
    # counters are whole when the histograms after them have begun.
    last = text.rfind(_HISTOGRAM)
    compacted = Counter[int]()
    for match in _COMPACTED.finditer(text):
        compacted[int(match[1])] += int(match[2])
    dump = text.rfind(_DUMP, 0, last) if last >= 0 else -1
    dump_end = text.find(_HISTOGRAM, dump)
    return RocksdbLog(
        opened=_last_stamp(text, "DB pointer"),
        closed=_last_stamp(text, "Shutdown: canceling all background work"),
        load_ended=_last_stamp(text, "Manual flush start"),
        flushed=_last_stamp(text, "Manual flush finished"),
        work_ended=max((moment for moment, begins, _ in work if not begins), default=None),
        under_way=frozenset(job for job, begins in last_event.items() if begins),
        ended=frozenset(job for _, begins, job in work if not begins),
        tickers=parse_tickers(text[dump:dump_end]) if dump >= 0 else {},
        created_bytes=sum(int(match[2]) for match in _CREATED.finditer(text)),
        compacted=+compacted,  # without levels that nothing was written to
    )


def joined(earlier: RocksdbLog, later: RocksdbLog) -> RocksdbLog:
    """What two pieces of a LOG tell, the first of which ends before any dump that goes on."""
    ends = [moment for moment in (earlier.work_ended, later.work_ended) if moment is not None]
    latest = {
        name: getattr(earlier if getattr(later, name) is None else later, name)
        for name in ("opened", "closed", "load_ended", "flushed")
    }
    return RocksdbLog(
        **latest,
        work_ended=max(ends, default=None),
        under_way=(earlier.under_way - later.ended) | later.under_way,
        ended=earlier.ended | later.ended,
        tickers=later.tickers or earlier.tickers,
        created_bytes=earlier.created_bytes + later.created_bytes,
        compacted=Counter(earlier.compacted) + Counter(later.compacted),
    )


def work_events(text: str) -> list[tuple[float, bool, int]]:
    """When flushes and compactions began (True) and ended (False), and their numbers."""
    events: list[tuple[float, bool, int]] = []
    for match in _EVENT.finditer(text):
        try:
            event = json.loads(match.group(1))
        except (ValueError, RecursionError):
            continue
        micros, name, job = (event.get(key) for key in ("time_micros", "event", "job"))
        known = isinstance(name, str) and name in _WORK and type(job) is int
        if known and type(micros) is int and 0 <= micros < 10**17:
            events.append((micros / 1e6, _WORK[name], job))
    return events


def _last_stamp(text: str, words: str) -> float | None:
    """When the last line with these words was written."""
    position = text.rfind(words)
    stamp = _STAMP.match(text, text.rfind("\n", 0, max(position, 0)) + 1)
    if position < 0 or stamp is None:
        return None
    try:
        moment = datetime.strptime(stamp.group(1), "%Y/%m/%d-%H:%M:%S.%f")
    except ValueError:
        return None
    # Stamps are local time; db_bench is run with TZ=UTC so that they compare with events.
    return None if moment.year < 1970 else moment.replace(tzinfo=UTC).timestamp()


class LogReader:
    """Reads a LOG that grows, each time only what is new."""

    def __init__(self, path: Path, *, piece_bytes: int = _PIECE_BYTES) -> None:
        """Reads nothing yet; another file that is found there later is read from its beginning.

        So many bytes of the LOG are held at a time.
        """
        self._path, self._piece_bytes = path, piece_bytes
        # Where to go on is the beginning of a line, and not within the counters of a dump.
        self._inode, self._offset, self._log = 0, 0, RocksdbLog()

    def read(self) -> RocksdbLog:
        """What it tells now, a last unfinished line included; all unknown where there is none."""
        kept = b""
        try:
            with self._path.open("rb") as file:
                stat = os.fstat(file.fileno())
                if stat.st_ino != self._inode or stat.st_size < self._offset:
                    self._inode, self._offset, self._log = stat.st_ino, 0, RocksdbLog()
                file.seek(self._offset)
                while read := file.read(self._piece_bytes):
                    piece = kept + read
                    end = _whole(piece)
                    self._offset += end
                    self._log, kept = joined(self._log, _parsed(piece[:end])), piece[end:]
        except OSError:
            self._inode, self._offset, self._log = 0, 0, RocksdbLog()
            return self._log
        return joined(self._log, _parsed(kept))


def _whole(piece: bytes) -> int:
    """Where a piece of whole lines ends; a dump's counters stay in one."""
    start = piece.rfind(_DUMP.encode())
    histogram = piece.find(_HISTOGRAM.encode(), max(start, 0))
    # A dump is whole with the line that says so.
    is_cut = start >= 0 and (histogram < 0 or piece.find(b"\n", histogram) < 0)
    end = piece.rfind(b"\n", 0, start if is_cut else len(piece)) + 1
    return end if len(piece) - end <= _MOST_CUT_BYTES else len(piece)


def _parsed(text: bytes) -> RocksdbLog:
    return parse_log(text.decode("utf-8", errors="replace"))
