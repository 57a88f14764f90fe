"""The reader of RocksDB's LOG: each line once, each event parsed once, for whoever takes them.

A trial's LOG is read while it grows, each time only what is new: RocksDB writes some 12 KB of
counters into it every second, so after an hour it is larger than should be held at once, or read
whole beside the compactions that are timed. The LOGs of a user's database are read from their
beginning to their end. Neither takes more memory than a line.

An event is a line of JSON after ``EVENT_LOG_v1`` (logging/event_logger.cc). Fields were renamed
and added from version to version: ``event_fields.csv`` names each with the first and the last
version whose sources have it (read on 2026-11-28: 4.13.0, 5.11.3, 5.18.3, 6.7.3, 6.20.3, 7.4.4,
8.1.1, 9.9.3, 10.4.2 and 11.12.0). A field that an event does not have is None, never 0. One
without which nothing can be counted, a needed one, is missing when no version's name is there:
the event is of a version that the table does not know.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from sampler.common.documents import packaged_rows

MARK = "EVENT_LOG_v1 "
LONGEST_LINE = 2**20  # no line of RocksDB's is longer; one that is comes in pieces
_MOST_NUMBER = 2**63
_STAMP = re.compile(r"\d{4}/\d\d/\d\d-\d\d:\d\d:\d\d\.\d{6}")
_ROWS = packaged_rows("sampler.rocksdb", "event_fields.csv")
# By event and field: its names, an object's field after a slash; and the fields that are needed.
_NAMES: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = {}
_NEEDED: dict[str, tuple[str, ...]] = {}
for _row in _ROWS:
    _key = _row["event"], _row["field"]
    _NAMES[_key] = (*_NAMES.get(_key, ()), tuple(_row["name"].split("/")))
    _NEEDED.setdefault(_row["event"], ())
    if _row["needed"] and _row["field"] not in _NEEDED[_row["event"]]:
        _NEEDED[_row["event"]] += (_row["field"],)


@dataclass(frozen=True)
class LogEvent:
    """One event; its fields have the names of ``event_fields.csv``, whatever the version."""

    kind: str
    raw: Mapping[str, Any]
    cut: bool = False  # whether its end is missing

    @property
    def micros(self) -> int | None:
        """Microseconds since the epoch."""
        return _whole(self.raw.get("time_micros"))

    @property
    def failed(self) -> bool:
        """Whether it tells of a file that was not made: since 9.x those are told, too."""
        return str(self.raw.get("status", "OK")) != "OK"

    @property
    def properties(self) -> Mapping[str, Any]:
        """The properties of a table; empty where none are told."""
        found = self.raw.get("table_properties")
        return found if isinstance(found, dict) else {}

    @property
    def inputs(self) -> tuple[int, ...]:
        """Numbers of the tables that a compaction reads: ``files_L0``, ``files_L1``, ..."""
        lists = (each for name, each in self.raw.items() if name.startswith("files_L"))
        return tuple(
            number
            for each in lists
            if isinstance(each, list)
            for number in each
            if type(number) is int
        )

    @property
    def levels(self) -> tuple[int, ...] | None:
        """Tables by level after a flush or a compaction: ``lsm_state``."""
        found = self.raw.get("lsm_state")
        if self.cut or not isinstance(found, list) or any(type(each) is not int for each in found):
            return None
        return tuple(found)

    def has(self, name: str) -> bool:
        """Whether the table has such a field of the event."""
        return (self.kind, name) in _NAMES

    def number(self, name: str) -> int | None:
        """A count or size; None where the event does not tell it.

        Raises:
            KeyError: The table has no such field of the event.
        """
        for path in _NAMES[self.kind, name]:
            value: Any = self.raw
            for step in path:
                value = value.get(step) if isinstance(value, dict) else None
            if (found := _whole(_digits(value) if len(path) > 1 else value)) is not None:
                return found
        return None

    def count(self, name: str) -> int:
        """A count, for figures that are 0 where nothing of that kind is told."""
        return self.number(name) or 0

    def missing(self, fields: Iterable[str] | None = None) -> tuple[str, ...]:
        """The needed fields that it lacks, by all their names; of ``fields`` where given."""
        needed = _NEEDED.get(self.kind, ()) if fields is None else fields
        if self.failed:
            return ()
        return tuple(
            " or ".join(path[-1] for path in _NAMES[self.kind, name])
            for name in needed
            if self.number(name) is None
        )


def event_of(line: str) -> LogEvent | None:
    """The event that a line of a LOG tells; None if it tells none.

    A line may be cut off: at the end of a LOG, or at 512 bytes, as ``LogToBuffer`` did up to 6.x
    (logging/event_logger.h). The fields before the cut are then told.
    """
    if MARK not in line:
        return None
    text = line.partition(MARK)[2].strip()
    found, cut = _object(text), False
    if found is None and text.startswith("{"):
        whole = text.rpartition(", ")[0]  # the last field, or number of a list, may lack its end
        ends = ("}", "}}", "]}")
        found, cut = next(filter(None, (_object(whole + end) for end in ends)), None), True
    if found is None or not isinstance(found.get("event"), str):
        return None
    return LogEvent(found["event"], found, cut)


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _whole(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < _MOST_NUMBER else None


def _digits(value: object) -> object:
    """A property of a table: up to 5.11 those of its collectors are strings."""
    whole = isinstance(value, str) and len(value) < 20 and value.isascii() and value.isdigit()
    return int(value) if whole and isinstance(value, str) else value


def stamp_of(line: str) -> float | None:
    """When a line of a LOG was written: seconds since the epoch, if its local time were UTC."""
    found = _STAMP.match(line)
    try:
        moment = datetime.strptime(found[0], "%Y/%m/%d-%H:%M:%S.%f") if found else None
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC).timestamp() if moment and moment.year >= 1970 else None


@dataclass
class UnknownEvents:
    """Events of a known name that lack a needed field: how many, of how many."""

    seen: Counter[str] = field(default_factory=Counter)
    lacking: Counter[tuple[str, str]] = field(default_factory=Counter)  # (event, names)

    def take(self, event: LogEvent) -> tuple[str, ...]:
        """Counts an event; returns what it lacks."""
        missing = event.missing()
        self.seen[event.kind] += 1
        self.lacking.update((event.kind, names) for names in missing)
        return missing

    def lacks(self, kind: str) -> bool:
        """Whether an event of this kind lacked a field."""
        return any(lacking == kind for lacking, _ in self.lacking)

    def words(self) -> tuple[str, ...]:
        """A phrase for each: the event, its field, how many."""
        return tuple(
            f"{count} of {self.seen[kind]} {kind} events have no number {names}"
            for (kind, names), count in sorted(self.lacking.items())
        )


class Taker(Protocol):
    """Keeps something of a LOG, whose lines it is given in their order."""

    def take(self, line: str, event: LogEvent | None) -> None:
        """Takes a line, and the event that it tells; never raises, whatever the line holds."""


def read_log(lines: Iterable[str], *takers: Taker) -> None:
    """Gives all takers all lines."""
    for line in lines:
        event = event_of(line)
        for taker in takers:
            taker.take(line, event)


T = TypeVar("T", bound=Taker)


class LogReader(Generic[T]):
    """Reads a LOG that grows, each time only what is new."""

    def __init__(self, path: Path, empty: Callable[[], T]) -> None:
        """Reads nothing yet; another file that is found there later is read from its beginning.

        ``empty`` makes what takes the lines of a file.
        """
        self._path, self._empty = path, empty
        self._inode, self._offset, self._taker = 0, 0, empty()

    def read(self) -> T:
        """What the LOG tells now; an empty one where there is no file.

        A last line without its end is left for the next time. RocksDB writes its LOG in blocks of
        64 KiB, so it is usual while a process runs.
        """
        try:
            with self._path.open("rb") as file:
                stat = os.fstat(file.fileno())
                if stat.st_ino != self._inode or stat.st_size < self._offset:
                    self._inode, self._offset, self._taker = stat.st_ino, 0, self._empty()
                file.seek(self._offset)
                while line := file.readline(LONGEST_LINE):
                    if not line.endswith(b"\n") and len(line) < LONGEST_LINE:
                        break
                    self._offset += len(line)
                    read_log([line.decode("utf-8", errors="replace")], self._taker)
        except OSError:
            self._inode, self._offset, self._taker = 0, 0, self._empty()
        return self._taker
