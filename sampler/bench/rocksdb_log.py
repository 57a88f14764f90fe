"""RocksDB's LOG: when flushes and compactions ended, and the counters of its last dump.

It is read in pieces, and again only from where it was last read: RocksDB writes some 12 KB of
counters into it every second of a trial, so after an hour it is larger than should be held at
once, or read whole beside the compactions that are timed; and half of it would not tell which
compactions are under way.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from sampler.bench.db_bench_output import parse_tickers
from sampler.stats_dumps.events import MARK, LogEvent, event_of

_STAMP = re.compile(r"^(\d{4}/\d{2}/\d{2}-\d{2}:\d{2}:\d{2}\.\d{6}) \d+ ", re.MULTILINE)
# Of files that were made: a blob file's event tells the bytes of its blobs, not its size.
_SIZES = {"table_file_creation": "file_size", "blob_file_creation": "total_blob_bytes"}
_COMPACTED = ("output_level", "total_output_size")
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
    # What is counted here of events that lack it, by (event, names of the field), and how many.
    lacking: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @property
    def level_bytes(self) -> dict[str, int]:
        """What compactions wrote, by level, as counters; none where an event does not tell it."""
        if any(event == "compaction_finished" for event, _ in self.lacking):
            return {}
        return {LEVEL_BYTES.format(n): size for n, size in sorted(self.compacted.items())}

    @property
    def working(self) -> int:
        """How many flushes and compactions have begun and not ended."""
        return len(self.under_way)


def parse_log(text: str) -> RocksdbLog:
    """Reads a LOG. Never raises, whatever the text holds or where it is cut off."""
    work: list[tuple[float, bool, int]] = []
    compacted, created, lacking = Counter[int](), 0, Counter[tuple[str, str]]()
    for event in _events(text):
        if event.kind in _WORK:
            work += [found] if (found := _work(event)) else []
            lacking.update(_lacking(event, ["job"]))
        if size := _SIZES.get(event.kind):
            created += 0 if event.failed else event.count(size)
            lacking.update(_lacking(event, [size]))
        if event.kind == "compaction_finished":
            level = event.count("output_level")
            blobs = event.count("total_blob_output_size")
            compacted[level] += event.count("total_output_size") + blobs
            lacking.update(_lacking(event, _COMPACTED))
    last_event = {job: begins for _, begins, job in work}
    # RocksDB writes its LOG in blocks of 64 KiB, so the end is often the middle of a dump. The
    # counters are whole when the histograms after them have begun.
    last = text.rfind(_HISTOGRAM)
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
        created_bytes=created,
        compacted=+compacted,  # without levels that nothing was written to
        lacking=lacking,
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
        lacking=Counter(earlier.lacking) + Counter(later.lacking),
    )


def work_events(text: str) -> list[tuple[float, bool, int]]:
    """When flushes and compactions began (True) and ended (False), and their numbers."""
    return [found for event in _events(text) if (found := _work(event))]


def _events(text: str) -> Iterator[LogEvent]:
    at = text.find(MARK)
    while at >= 0:
        end = text.find("\n", at)
        if event := event_of(text[at : end if end >= 0 else len(text)]):
            yield event
        at = text.find(MARK, at + 1)


def _lacking(event: LogEvent, fields: Sequence[str]) -> list[tuple[str, str]]:
    return [] if event.cut else [(event.kind, names) for names in event.missing(fields)]


def _work(event: LogEvent) -> tuple[float, bool, int] | None:
    micros, job = event.micros, event.number("job") if event.kind in _WORK else None
    if job is None or micros is None or micros >= 10**17:
        return None
    return micros / 1e6, _WORK[event.kind], job


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
