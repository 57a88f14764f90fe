"""Reads a LOG or db_bench's output into the parts of its dumps, and gathers the parts into dumps.

A dump has a part for the database and one for each column family that is told. RocksDB 3.x writes
the families first and the one clock last; 5.x and 6.x write each family twice, the second time
with an interval of 0; since 7.9 idle families are left out (pull request 10891).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from io import StringIO

from sampler.rocksdb.figure_lines import (
    Cell,
    StallLine,
    figures_in,
    header_columns,
    level_row,
    stall_counts,
    stall_line,
    stall_seconds,
)
from sampler.rocksdb.log_reader import LogEvent, read_log, stamp_of

_UPTIME = re.compile(r"Uptime\(secs\): (\d{1,12}\.\d{1,6}) total, (\d{1,12}\.\d{1,6}) interval")
# What stands before and after the name of a column family.
_FAMILY = ("** Compaction Stats [", "] **")
_OPTIONS_OF = ("Options for column family [", "]:")
_LONGEST_NAME = 1024  # of a family whose name has line breaks in it
_VERSION = re.compile(r"\b(RocksDB|Speedb)(?: version:|:\s+version) v?(\d{1,4}(?:\.\d{1,6}){1,3})")
_KEYS = re.compile(r"^\s*Keys:\s+\d+ bytes each")
_TICKER = re.compile(r"^\s*(rocksdb\.[\w.-]{1,200}) COUNT :? ?(\d{1,20})\s*$")
# RocksDB 5 writes `statistics Percentiles :=> 50 : 1.0 95 : ...`, later ones `P50 : 1.0 ...`.
_HISTOGRAM = re.compile(
    r"^\s*(rocksdb\.[\w.-]{1,200}) (?:statistics Percentiles :=> )?(?=P?50 : )"
)
_PERCENTILE = re.compile(r"(P?\d{1,3}|COUNT|SUM) : (\d{1,20}(?:\.\d{1,9})?)")
# Below its header a LOG has lines with the place in the source, and events; warnings and errors
# have their level before it. Header lines have neither (logging/logging.h, file/env_logger.h).
_INFO = re.compile(r"EVENT_LOG_v1|(?<!\] )\[[\w./\\:-]{1,200}\.(?:cc|h):\d{1,6}\]")
_OPTION = re.compile(r"\bOptions\.([\w.\[\]]{1,80}): (\S{1,80})")
# Options that hold writes back, bound what is still in memory (see `jobs.interval_report`), or
# tell what drops entries and where values are.
OPTIONS = (
    "level0_slowdown_writes_trigger", "level0_stop_writes_trigger", "max_write_buffer_number",
    "soft_pending_compaction_bytes_limit", "hard_pending_compaction_bytes_limit",
    "write_buffer_size", "compression", "max_background_jobs", "db_write_buffer_size",
    "blob_compression_type", "compaction_filter", "compaction_filter_factory", "compaction_style",
)  # fmt: skip
DATABASE = None
DEFAULT = "default"
# Both clocks of a dump are rounded to tenths, and its parts are written one after the other.
SLACK = 0.25


@dataclass(kw_only=True)
class Part:
    """What a dump tells of the database or of one column family."""

    family: str | None  # name of the family; None for the database
    line: int  # where it begins, from 0
    block: int  # which ``DUMPING STATS`` of the file it is below, from 1; 0 is none (db_bench)
    at: float | None = None  # seconds since the opening; None if the part has no clock of its own
    seconds: float | None = None  # length of its interval
    figures: dict[str, float | int | str] = field(default_factory=dict)  # see ``figure_lines``
    # Counts since the opening by (reason, kind).
    stalls: dict[tuple[str, str], int] = field(default_factory=dict)
    levels: list[dict[str, Cell]] = field(default_factory=list)  # rows of the table by level
    # Whether ``at`` stood in the part itself; not in a family of RocksDB 3.x.
    own_clock: bool = True


@dataclass(kw_only=True)
class Contents:
    """All that was found, each with its line."""

    parts: list[Part] = field(default_factory=list)  # in the order of the file
    # The clock of each ``DUMPING STATS``, in seconds of the LOG's own time zone.
    stamps: dict[int, float] = field(default_factory=dict)
    # Lines that a run of db_bench writes once in each of its outputs, or an opening of a database
    # in its LOG, and which of them.
    runs: list[tuple[int, str]] = field(default_factory=list)
    versions: list[tuple[int, str]] = field(default_factory=list)  # ``7.8.3``, or ``Speedb 2.1.0``
    # Lines at which a LOG begins; a rolled LOG repeats them.
    headers: list[int] = field(default_factory=list)
    # Lines at which a LOG says that a database was opened.
    recovered: list[int] = field(default_factory=list)
    # Lines that say that writes are held back.
    stalls: list[tuple[int, StallLine]] = field(default_factory=list)
    # Statistics of type ticker, by name.
    tickers: list[tuple[int, dict[str, int]]] = field(default_factory=list)
    # Those of type histogram beside them: name -> ``P50``, ``P95``, ``P99``, ``P100``, ``COUNT``,
    # ``SUM``, as far as they are told.
    histograms: list[dict[str, dict[str, float]]] = field(default_factory=list)
    # Some options of a column family, as a LOG's header lists them.
    options: list[tuple[int, str, dict[str, str]]] = field(default_factory=list)
    older: bool = False  # whether tables of LevelDB or of a RocksDB before 2.0 were seen
    opened: bool = False  # whether a LOG's header has its last line, which an opening writes
    informed: bool = False  # whether a line of the level INFO was seen outside of dumps

    @property
    def quiet(self) -> bool:
        """Whether a LOG has its header and nothing of the level INFO, events and dumps included.

        So it is with ``info_log_level`` above ``INFO_LEVEL``. RocksDB before 5.0, whose lines tell
        no place in its source, is never said to be so.
        """
        return self.opened and not (self.informed or self.recovered or self.parts)


def read_contents(text: str) -> Contents:
    """Everything that the text tells. Never raises; lines of no known kind are passed over."""
    return read_lines(StringIO(text, newline="\n"))


def read_lines(lines: Iterable[str], *, totals: bool = False) -> Contents:
    """What lines tell, each with its line break. Never raises.

    With ``totals`` memory is bounded by the number of dumps, some 1 KB each: of each opening that
    the LOG tells of the database's parts are kept, of each family the last two, and the last two
    statistics; lines that say that writes are held back are not. So an opening's totals and the
    rates of what came in are whole, the rates of its compactions are not.
    """
    dumps = Dumps(totals=totals)
    read_log(lines, dumps)
    return dumps.contents


class Dumps:
    """Takes the lines of a LOG, or of db_bench's output, for what its dumps tell."""

    def __init__(self, *, totals: bool) -> None:
        """See ``read_lines``."""
        self.contents = Contents()
        self._totals = totals
        self._kept: dict[str, list[Part]] = {}  # the last parts of each family of the opening
        self._part: Part | None = None
        self._columns: tuple[str, ...] | None = None
        self._tickers: dict[str, int] | None = None
        self._options: dict[str, str] | None = None
        self._block = self._lines = 0
        # The name of a family is any bytes: what it is so far, and what it is the name of.
        self._name: str | None = None
        self._named = _FAMILY

    def take(self, line: str, event: LogEvent | None) -> None:
        """See ``Taker``."""
        number, self._lines = self._lines, self._lines + 1
        line = line.removesuffix("\n").rstrip("\r")
        if event is not None and self._name is None:
            self.contents.informed = True
        elif _FAMILY[0] in line:
            self._heading(number, line, _FAMILY)
        elif _OPTIONS_OF[0] in line:
            self._heading(number, line, _OPTIONS_OF)
        elif self._name is not None:
            self._rest_of_name(number, line)
        elif "** DB Stats **" in line:
            self._begin(number, DATABASE)
        elif line.strip() == "Compactions":  # RocksDB 2.x has one table, of the default family
            self._begin(number, DEFAULT)
        elif "Uptime(secs)" in line and (found := _UPTIME.search(line)):
            self._clock(number, float(found[1]), float(found[2]))
        elif "DUMPING STATS" in line:
            self._block += 1
            self._part = self._columns = self._tickers = None
            if (stamp := stamp_of(line)) is not None:
                self.contents.stamps[self._block] = stamp
        elif "ing writes" in line and (stalled := stall_line(line)):
            if not self._totals:
                self.contents.stalls.append((number, stalled))
        elif self._part is None or not self._of_part(number, line, self._part):
            self._of_file(number, line)

    def _begin(self, number: int, family: str | None) -> Part:
        self._columns = self._tickers = None
        self._part = Part(family=family, line=number, block=self._block)
        self.contents.parts.append(self._part)
        if self._totals and family is not DATABASE:
            kept = self._kept.setdefault(family, [])
            kept.append(self._part)
            if len(kept) > 3:  # the newest is still empty
                gone, parts = kept.pop(0), self.contents.parts
                del parts[next(i for i in reversed(range(len(parts))) if parts[i] is gone)]
        return self._part

    def _heading(self, number: int, line: str, named: tuple[str, str]) -> None:
        rest = line.partition(named[0])[2]
        name, end, _ = rest.rpartition(named[1])
        self._name, self._named = (None, named) if end else (rest, named)
        if end:
            self._begin_named(number, name)

    def _rest_of_name(self, number: int, line: str) -> None:
        name, end, _ = line.rpartition(self._named[1])
        whole = f"{self._name}\n{name if end else line}"
        if end or len(whole) > _LONGEST_NAME:  # the rest of a heading that is cut off is lost
            self._name = None
            self._begin_named(number, whole)
        else:
            self._name = whole

    def _begin_named(self, number: int, name: str) -> None:
        if self._named is not _FAMILY:
            self._options = {}
            self.contents.options.append((number, name, self._options))
            return
        part = self._part
        # The table by priority of the same family has a heading of its own, before the clock.
        if part is None or part.family != name or part.at is not None or part.figures:
            self._begin(number, name)
        self._columns = None

    def _clock(self, number: int, at: float, seconds: float) -> None:
        part = self._part
        if part is None or part.at is not None:
            part = self._begin(number, part.family if part is not None else DATABASE)
        part.at, part.seconds = at, seconds
        self._columns = None

    def _of_part(self, number: int, line: str, part: Part) -> bool:
        if "(count):" in line and "tall" in line:
            part.stalls |= stall_counts(line)
            return True
        if "Stalls(secs):" in line:
            part.figures["total_stall_reasons_seconds"] = stall_seconds(line)
            return True
        if found := figures_in(line):
            figures, of_database = found
            if of_database and part.family is not DATABASE:
                part = self._database_beside(number, part)
            part.figures |= figures
            return True
        if part.at is None and (columns := header_columns(line)) is not None:
            self._columns = columns
            self.contents.older |= "Time(sec)" in columns
            return True
        if self._columns and (row := level_row(line, self._columns)):
            part.levels.append(row)
            return True
        return False

    def _database_beside(self, number: int, part: Part) -> Part:
        """RocksDB 2.x tells of the database and of its family below one clock."""
        parts = self.contents.parts
        if len(parts) > 1 and parts[-2].family is DATABASE and parts[-2].line >= part.line:
            return parts[-2]
        beside = Part(
            family=DATABASE, line=max(part.line, number), block=self._block,
            at=part.at, seconds=part.seconds,
        )  # fmt: skip
        parts.insert(len(parts) - 1, beside)
        return beside

    def _of_file(self, number: int, line: str) -> None:
        contents = self.contents
        if not contents.informed:
            contents.informed = _INFO.search(line) is not None
        if "COUNT" in line and (found := _TICKER.match(line)):
            if self._tickers is None:
                self._tickers = self._statistics(number)
            self._tickers[found[1]] = int(found[2])
        elif "50 : " in line and (found := _HISTOGRAM.match(line)):
            if self._tickers is not None:
                told = {
                    f"P{n.removeprefix('P')}" if n[-1].isdigit() else n: float(value)
                    for n, value in _PERCENTILE.findall(line, found.end())
                }
                contents.histograms[-1][found[1]] = told
        elif "STATISTICS:" in line:
            self._tickers = None
        elif "version" in line and (found := _VERSION.search(line)):
            version = found[2] if found[1] == "RocksDB" else f"{found[1]} {found[2]}"
            contents.versions.append((number, version))
            if f"{found[1]}:" in line:
                contents.runs.append((number, "stderr"))
            else:
                contents.headers.append(number)
            self._part = self._options = None
        elif "Recovered from manifest" in line:  # VersionSet::Recover, once in each opening
            contents.runs.append((number, "recovered"))
            contents.recovered.append(number)
            self._kept = {}
        elif "Keys:" in line and _KEYS.match(line):
            contents.runs.append((number, "stdout"))
            self._part = None
        elif "Options" in line:
            self._option(number, line)
        elif "DB pointer " in line:
            contents.opened = True
        elif (columns := header_columns(line)) is not None:
            # 2.8 and 3.0 have no heading, and in what people post it may be cut off.
            contents.older |= "Time(sec)" in columns
            self._begin(number, DEFAULT)
            self._columns = columns

    def _statistics(self, number: int) -> dict[str, int]:
        contents = self.contents
        opened = contents.recovered[-1] if contents.recovered else -1
        if self._totals and len(contents.tickers) > 1 and contents.tickers[-2][0] > opened:
            del contents.tickers[-2], contents.histograms[-2]
        contents.tickers.append((number, {}))
        contents.histograms.append({})
        return contents.tickers[-1][1]

    def _option(self, number: int, line: str) -> None:
        if (found := _OPTION.search(line)) and found[1] in OPTIONS:
            if self._options is None:
                self._options = {}
                self.contents.options.append((number, "", self._options))
            self._options[found[1]] = found[2]


@dataclass
class Dump:
    """The database and the column families at one moment."""

    at: float  # seconds since the opening
    seconds: float  # length of the interval
    line: int  # where it begins in the file
    block: int  # of its parts
    # By family; the database is under None. No family is twice in it.
    parts: dict[str | None, Part] = field(default_factory=dict)

    @property
    def begin(self) -> float:
        """Seconds since the opening at which the interval begins."""
        return self.at - self.seconds

    def add(self, part: Part) -> None:
        """Takes a part in; one of the same family is merged with it."""
        before = self.parts.get(part.family)
        self.parts[part.family] = part if before is None else merged(before, part)


def dumps_of(parts: Sequence[Part]) -> list[Dump]:
    """The parts gathered into dumps; parts that no clock belongs to are left out."""
    dumps: list[Dump] = []
    waiting: list[Part] = []
    for part in parts:
        waiting = [each for each in waiting if each.block == part.block]
        if part.at is None:
            waiting.append(part)
            continue
        if not dumps or not _joins(part, dumps[-1]):
            dumps.append(Dump(part.at, part.seconds or 0.0, part.line, part.block))
        dump = dumps[-1]
        for each in (*waiting, part):
            _add(each, dump)
        waiting = []
    return dumps


def _joins(part: Part, dump: Dump) -> bool:
    """Whether a part is of the dump before it: of the same moment, and not its next telling."""
    assert part.at is not None
    if part.block != dump.block:
        return False
    before = dump.parts.get(part.family)
    in_log = part.block > 0
    if before is None:
        return part.at >= dump.at - SLACK and (in_log or part.at <= dump.at + SLACK)
    since = part.at - (before.at if before.at is not None else dump.at)
    if in_log:  # 5.x and 6.x write a family again, with an interval since the first time
        return since >= -SLACK and (part.seconds or 0.0) <= since + 0.15
    return abs(since) <= SLACK and (part.seconds or 0.0) < 0.05


def _add(part: Part, dump: Dump) -> None:
    if part.at is None:
        part.at, part.seconds, part.own_clock = dump.at, dump.seconds, False
    if part.family is DATABASE and DATABASE not in dump.parts:
        dump.at, dump.seconds = part.at, part.seconds or 0.0
    dump.add(part)


def merged(first: Part, second: Part) -> Part:
    """One part of two that tell of the same family at the same moment.

    Totals are of the second; what is of an interval is of the longer one: the other begins where
    the first part ended, and is empty.
    """
    longer = first if (first.seconds or 0.0) >= (second.seconds or 0.0) else second
    intervals = {n: v for n, v in longer.figures.items() if n.startswith("interval_")}
    return replace(
        first,
        at=longer.at,
        seconds=longer.seconds,
        figures={**first.figures, **second.figures, **intervals},
        stalls={**first.stalls, **second.stalls},
        levels=longer.levels or first.levels or second.levels,
        own_clock=first.own_clock or second.own_clock,
    )
