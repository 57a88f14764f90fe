"""The reader of RocksDB's LOG: each line once, each event parsed once, for whoever takes them.

A trial's LOG is read while it grows, each time only what is new: RocksDB writes some 12 KB of
counters into it every second, so after an hour it is larger than should be held at once, or read
whole beside the compactions that are timed. The LOGs of a user's database are read from their
beginning to their end. Neither takes more memory than a line. In a user's folder nothing is
followed out of it, and no file of another kind (a pipe, a device) is waited for. RocksDB holds no
lock on its files that would keep a reader out.

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
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from sampler.common.documents import packaged_rows
from sampler.common.errors import InputError
from sampler.rocksdb.options_file import DB, parse_options

MARK = "EVENT_LOG_v1 "
LONGEST_LINE = 2**20  # no line of RocksDB's is longer; one that is comes in pieces
_MOST_NUMBER = 2**63
# As RocksDB writes it, and as a journal or a paste may have put it before the line.
_STAMP = re.compile(
    r"(\d{4})[/-](\d\d)[/-](\d\d)[-T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{3,9}))?(?=[\s\]Z+-]|$)"
)
_EPOCH = datetime(1970, 1, 1)
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
_OLD_LOG = re.compile(r"LOG\.old\.(\d{1,20})")
_OPTIONS = re.compile(r"OPTIONS-(\d{1,12})")
_COPIED_OPTIONS = ("OPTIONS", "OPTIONS.ini")
_MOST_OPTIONS_BYTES = 16 * 2**20
# What a rotated log is packed with, by its first bytes.
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
}


@dataclass(frozen=True)
class LogEvent:
    """One event; its fields have the names of ``event_fields.csv``, whatever the version."""

    kind: str
    raw: Mapping[str, Any]
    cut: bool = False  # whether its end is missing

    @property
    def micros(self) -> int | None:
        """Microseconds since the epoch."""
        return whole_number(self.raw.get("time_micros"))

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
            if (found := whole_number(_digits(value) if len(path) > 1 else value)) is not None:
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


def whole_number(value: object) -> int | None:
    """A value of an event as a count; None where it is no whole number from 0 to 2^63 - 1."""
    return value if type(value) is int and 0 <= value < _MOST_NUMBER else None


def _digits(value: object) -> object:
    """A property of a table: up to 5.11 those of its collectors are strings."""
    whole = isinstance(value, str) and len(value) < 20 and value.isascii() and value.isdigit()
    return int(value) if whole and isinstance(value, str) else value


def stamp_of(line: str) -> float | None:
    """When a line of a LOG was written: seconds since the epoch, if its local time were UTC.

    None where it does not say, or says what is no time since 1970.
    """
    found = _STAMP.search(line)
    if found is None:
        return None
    *clock, fraction = found.groups()
    try:
        moment = datetime.strptime(" ".join(clock), "%Y %m %d %H %M %S")
    except ValueError:
        return None
    seconds = (moment - _EPOCH).total_seconds() + float(f"0.{fraction or 0}")
    return seconds if seconds >= 0 else None


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


def packed_with(first: bytes) -> str | None:
    """The program that packed a file that begins with these bytes; None if none is known."""
    return next((name for mark, name in _PACKED.items() if first.startswith(mark)), None)


def encoding_of(first: bytes) -> str:
    """UTF-16 where a file's mark says so, as a Windows shell writes outputs; UTF-8 else."""
    return "utf-16" if first[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


def find_files(path: Path, told: Callable[[str], None]) -> tuple[list[Path], str | None]:
    """The LOGs of a database's folder, the oldest first, or a LOG alone; and its OPTIONS.

    There is at least one LOG. The text is that of the newest OPTIONS file that can be read;
    ``told`` is given a line on each that is passed over.

    Raises:
        InputError: There is nothing there, it cannot be listed, or it holds no LOG.
    """
    field = f"database {path}"
    try:
        if not path.exists():
            raise InputError(field, "does not exist; give a database folder or its LOG")
        if not path.is_dir():
            options = newest_options_text(path.parent, told) if path.name == "LOG" else None
            return [path.resolve()], options
        logs = logs_in(path)
    except OSError as error:
        raise InputError(field, f"cannot be read: {error.strerror}") from None
    if not logs:
        raise InputError(
            field,
            "has no LOG, so it is not a RocksDB database folder; if its OPTIONS file sets "
            "db_log_dir, give the LOG there",
        )
    return logs, newest_options_text(path, told)


def quiet_log(log: Path) -> str:
    """Why a LOG that holds its header alone tells nothing, and how to get one that does."""
    try:
        options = newest_options_text(log.parent, lambda _: None)
    except OSError:
        options = None
    level = parse_options(options).get(DB, "info_log_level") if options else None
    said = f" = {level} in the OPTIONS file beside it" if level else ""
    return (
        f"holds its header but no event and no dump, whatever stats_dump_period_sec is: "
        f"info_log_level{said} is above INFO_LEVEL; open the database with "
        "info_log_level=INFO_LEVEL, run the load, and give the LOG"
    )


def logs_in(folder: Path) -> list[Path]:
    """The LOGs of a database's folder, the oldest first."""
    names = [each.name for each in folder.iterdir()]
    old = sorted((int(found[1]), name) for name in names if (found := _OLD_LOG.fullmatch(name)))
    return [folder / name for _, name in old] + [folder / name for name in names if name == "LOG"]


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a LOG with their breaks; a longer one than RocksDB writes comes in pieces.

    Names of column families may be any bytes and stay apart.

    Raises:
        InputError: The file cannot be read, is none, or is packed.
    """
    field = f"LOG {path}"
    try:
        with open(_opened(path, field), "rb") as file:
            first = file.peek(8)[:8]
            if packed := packed_with(first):
                raise InputError(field, f"is compressed with {packed}; decompress it first")
            text = TextIOWrapper(
                file, encoding=encoding_of(first), errors="backslashreplace", newline="\n"
            )
            while line := text.readline(LONGEST_LINE):
                yield line
    except OSError as error:
        raise InputError(field, f"cannot be read: {error.strerror}") from None


def _opened(path: Path, field: str) -> int:
    """A descriptor of a regular file; what a link leads to is not opened."""
    if path.is_symlink():
        raise InputError(field, f"is a symbolic link to {path.readlink()}; give that file")
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise InputError(field, "is not a file")
    return handle


def is_regular(path: Path) -> bool:
    """Whether it is a file that may be read: none that a link leads to, no pipe, no device."""
    try:
        os.close(_opened(path, ""))
    except (InputError, OSError):
        return False
    return True


def newest_options_text(folder: Path, told: Callable[[str], None]) -> str | None:
    """The text of the newest OPTIONS file of a folder that can be read; None where there is none.

    ``told`` is given a line on each that is passed over, such as a link or a pipe.

    Raises:
        OSError: The folder may not be listed.
    """
    names = [each.name for each in folder.iterdir()]
    numbered = sorted((int(f[1]), n) for n in names if (f := _OPTIONS.fullmatch(n)))
    newest_first = [name for _, name in reversed(numbered)]
    for name in (*newest_first, *(name for name in _COPIED_OPTIONS if name in names)):
        try:
            with open(_opened(folder / name, name), "rb") as file:  # its line ends are kept
                text = file.read(_MOST_OPTIONS_BYTES).decode("utf-8", errors="replace")
            parse_options(text, name=name)
        except InputError as error:
            told(f"{error}; trying an older OPTIONS file")
        except OSError as error:
            told(f"{name} cannot be read: {error.strerror}; trying an older OPTIONS file")
        else:
            return text
    return None
