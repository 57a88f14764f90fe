"""The lines of a dump that hold figures, and the rows of its tables by level, of every version.

Names of figures end in their unit: ``_gib`` and ``_mib`` are 2**30 and 2**20 bytes, which RocksDB
calls GB and MB; ``_count`` is as the file has it, exact below 10,000 and cut to ``24K`` above
(util/string_util.cc, NumberToHumanString). ``total_`` counts from the opening, ``interval_`` from
the dump before. Columns of a ``** Compaction Stats [family] **`` table came and went
(db/internal_stats.cc, PrintLevelStatsHeader), so they are read by the names in the header.

Names of the counts of stalls changed twice (db/internal_stats.cc, db/write_stall_stats.cc):

* 2.0 to 3.x: ``Stalls(count): 4 level0_slowdown, 0 level0_numfiles, 1 memtable_compaction, ...``
* 3.x to 7.x: the same with ``_with_compaction`` and ``pending_compaction_bytes``
* 8.1 and later: ``Write Stall (count): l0-file-count-limit-delays: 4, ...``
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from sampler.common.documents import packaged_rows

Figures = Mapping[str, float | int | str]
Cell = float | int | str | None
# The header's name -> (our name, divisor to our unit), RocksDB 2.x included.
_COLUMNS = {
    row["header"]: (row["name"], int(row["divisor"] or 1))
    for row in packaged_rows("sampler.rocksdb", "level_columns.csv")
}
_MIB = {"B": 1 / 2**20, "KB": 1 / 1024, "MB": 1.0, "GB": 1024.0, "TB": 1024.0**2}
_FLOAT = re.compile(r"-?\d{1,18}(?:\.\d{1,9})?")
_SUFFIXED = re.compile(r"-?\d{1,18}[KMGT]")
_ROW = re.compile(r"(?:^|\s)(L\d{1,3}|Sum|Int)\s+(\d{1,9})(?:/(-?\d{1,9}))?\s+(.*)$")
_OLD_ROW = re.compile(r"^\s*(\d{1,3})\s+(\d{1,9})\s+(.*)$")


def _real(name: str, sign: str = "") -> str:
    return rf"(?P<{name}>{sign}\d{{1,9}}\.\d{{1,9}})"


def _whole(name: str) -> str:
    return rf"(?P<{name}>\d{{1,20}})"


def _count(name: str) -> str:
    return rf"(?P<{name}_count>\w{{1,20}})"


# Groups are named after their figures, without the span, which is put before them.
_SPAN = "(?P<span>Cumulative|Interval)"
_OLD_SPAN = "(?P<span>cumulative|interval)"
_UNIT = "(?P<unit>[GM]B)"
_WRITES = re.compile(
    rf"{_SPAN} writes: {_count('writes')} writes, (?:{_count('keys')} keys, )?"
    rf"{_count('commit_groups')} (?:commit groups|batches), .*?"
    rf"(?P<marked>ingest: )?{_real('ingest')} {_UNIT}"
    rf"(?(marked), {_real('ingest_mib_s')} MB/s| user ingest)"
    rf"(?:, stall micros: {_whole('stall_micros')})?"
)
_WAL = re.compile(
    rf"{_SPAN} WAL: {_count('wal_writes')} writes, {_count('wal_syncs')} syncs, "
    rf".*?(?P<marked>written: )?{_real('wal_gib')} [GM]B"
    rf"(?(marked), {_real('wal_mib_s')} MB/s| written)"
)
_COMPACTION = re.compile(
    rf"{_SPAN} compaction: {_real('compaction_write_gib', '-?')} GB write, "
    rf"{_real('compaction_write_mib_s')} MB/s write, "
    rf"{_real('compaction_read_gib', '-?')} GB read, {_real('compaction_read_mib_s')} MB/s read"
    rf"(?:, {_real('compaction_seconds')} seconds)?"
)
_STALL = re.compile(
    rf"{_SPAN} stall: (?:(?P<hours>\d{{1,9}}):(?P<minutes>\d{{1,2}}):"
    rf"(?P<seconds>\d{{1,2}}\.\d{{1,6}}) H:M:S)?.*?, {_real('stall_percent')} percent"
)
_FLUSH = re.compile(
    rf"Flush\(GB\): (?:ac)?cumulative {_real('total_flush_gib')}, "
    rf"interval {_real('interval_flush_gib')}"
)
_ADDED = re.compile(
    r"AddFile\((GB|Total Files|L0 Files|Keys)\): cumulative (\d{1,18}(?:\.\d{1,9})?), "
    r"interval (\d{1,18}(?:\.\d{1,9})?)"
)
_PENDING = re.compile(rf"Estimated pending compaction bytes: {_whole('pending_compaction_bytes')}")
_BLOBS = re.compile(
    rf"Blob file count: {_whole('blob_files')}, total size: {_real('blob_gib')} GB"
    rf"(?:, garbage size: {_real('blob_garbage_gib')} GB, "
    rf"space amp: {_real('blob_space_amplification')})?"
)
# RocksDB 2.x and 3.0.
_OLD_WRITES = re.compile(
    rf"Writes {_OLD_SPAN}: {_count('writes')} total, {_count('commit_groups')} batches, "
    rf".*?{_real('ingest')} ingest {_UNIT}"
)
_OLD_WAL = re.compile(
    rf"WAL {_OLD_SPAN}: {_count('wal_writes')} WAL writes, {_count('wal_syncs')} WAL syncs, "
    rf".*?{_real('wal_gib')} [GM]B written"
)
_OLD_COMPACTION = re.compile(
    rf"Compaction IO {_OLD_SPAN} \((?P<unit>GB|MB|MB/sec)\): "
    rf"{_real('new', '-?')} new, {_real('read', '-?')} read, {_real('write', '-?')} write"
)
_STALL_SECONDS = re.compile(r"(\d{1,9}\.\d{1,6}) \w+")
_CUT_COUNT = re.compile(r"(\d{1,18})([KMG]?)")
_ADDED_NAMES = {
    "GB": "added_files_gib",
    "Total Files": "added_files",
    "L0 Files": "added_files_l0",
    "Keys": "added_keys",
}
L0_FILES = "l0_files"
MEMTABLES = "memtables"
PENDING_BYTES = "pending_compaction_bytes"
WRITE_BUFFER_MANAGER = "write_buffer_manager"
LEVEL_SCORE = "level_score"
REASONS = (L0_FILES, MEMTABLES, PENDING_BYTES, WRITE_BUFFER_MANAGER, LEVEL_SCORE)
DELAYS, STOPS = "delays", "stops"
# Subsets of the two: a compaction out of level 0 ran at that moment.
KINDS = (DELAYS, STOPS, "delays_with_compaction", "stops_with_compaction")

# (reason, kind) -> how often.
Stalls = Mapping[tuple[str, str], int]

_STALL_COUNTS = {
    row["count"]: (row["reason"], row["kind"])
    for row in packaged_rows("sampler.rocksdb", "stall_counts.csv")
}
_COUNT_BEFORE = re.compile(r"(\d{1,18}) ((?:(?:stop|slowdown) for )?\w+)")
_COUNT_AFTER = re.compile(r"([\w-]+): (\d{1,18})")
# Of ColumnFamilyData::RecalculateWriteStallConditions (db/column_family.cc).
_STALL_LINE = re.compile(
    r"(?:\[(?P<family>[^\[\]]*))?\] (?P<kind>Stopping|Stalling) writes\b(?P<because>[^\n]{0,200})"
)
_STALL_BECAUSE = (
    ("pending compaction", PENDING_BYTES), ("level-0", L0_FILES), ("L0 files", L0_FILES),
    ("memtable", MEMTABLES), ("score", LEVEL_SCORE), ("rate_limit", LEVEL_SCORE),
)  # fmt: skip


def count_of(cell: object) -> float | None:
    """A count that RocksDB may have cut to ``24K`` or ``1081M``; None for what is no count."""
    if isinstance(cell, int | float):
        return float(cell)
    found = _CUT_COUNT.fullmatch(cell) if isinstance(cell, str) else None
    return int(found[1]) * 1000 ** "_KMG".index(found[2] or "_") if found else None


def _span(found: re.Match[str]) -> str:
    return "interval" if found["span"].lower() == "interval" else "total"


def _number(text: str) -> float | int:
    return float(text) if "." in text else int(text)


def _as_named(found: re.Match[str], prefix: str = "") -> dict[str, float | int | str]:
    return {
        prefix + name: text if name.endswith("_count") else _number(text)
        for name, text in found.groupdict().items()
        if text is not None and name not in ("span", "marked")
    }


def _of_span(found: re.Match[str]) -> dict[str, float | int | str]:
    return _as_named(found, f"{_span(found)}_")


def _writes(found: re.Match[str]) -> dict[str, float | int | str]:
    """Writes; what came in is told in GiB since the opening, in MiB of an interval."""
    span, told = _span(found), found.groupdict()
    amount, unit, micros = float(told["ingest"]), told["unit"], told.get("stall_micros")
    counts = {n: text for n, text in told.items() if n.endswith("_count") and text is not None}
    figures: dict[str, float | int | str] = {f"{span}_{n}": text for n, text in counts.items()}
    if span == "total":
        figures["total_ingest_gib"] = amount if unit == "GB" else amount / 1024
    else:
        figures["interval_ingest_mib"] = amount if unit == "MB" else amount * 1024
    if told.get("ingest_mib_s"):
        figures[f"{span}_ingest_mib_s"] = float(told["ingest_mib_s"])
    if micros is not None:
        figures[f"{span}_stall_seconds"] = int(micros) / 1e6
    return figures


def _wal(found: re.Match[str]) -> dict[str, float | int | str]:
    # The interval's size is divided by 2**30 and called MB up to 7.x: only its rate is right.
    return {n: figure for n, figure in _of_span(found).items() if n != "interval_wal_gib"}


def _stall(found: re.Match[str]) -> dict[str, float | int | str]:
    span = _span(found)
    figures: dict[str, float | int | str] = {
        f"{span}_stall_percent": float(found["stall_percent"])
    }
    if found["hours"] is not None:
        minutes = int(found["hours"]) * 60 + int(found["minutes"])
        milliseconds = minutes * 60_000 + float(found["seconds"]) * 1000
        figures[f"{span}_stall_seconds"] = round(milliseconds) / 1000
    return figures


def _added(found: re.Match[str]) -> dict[str, float | int | str]:
    what, total, interval = found.groups()
    name = _ADDED_NAMES[what]
    return {f"total_{name}": _number(total), f"interval_{name}": _number(interval)}


def _old_compaction(found: re.Match[str]) -> dict[str, float | int | str]:
    ends = {"MB/sec": ("mib_s", 1.0), "GB": ("gib", 1.0), "MB": ("gib", 1 / 1024)}
    span, (end, factor) = _span(found), ends[found["unit"]]
    return {f"{span}_compaction_{n}_{end}": float(found[n]) * factor for n in ("write", "read")}


# What the line holds, how it is read, and whether it is of the database (else of a family).
_Reader = Callable[["re.Match[str]"], dict[str, float | int | str]]
_READERS: tuple[tuple[str, re.Pattern[str], _Reader, bool], ...] = (
    (" writes: ", _WRITES, _writes, True),
    (" WAL: ", _WAL, _wal, True),
    (" stall: ", _STALL, _stall, True),
    (" compaction: ", _COMPACTION, _of_span, False),
    ("Flush(GB): ", _FLUSH, _as_named, False),
    ("AddFile(", _ADDED, _added, False),
    ("Estimated pending compaction bytes: ", _PENDING, _as_named, False),
    ("Blob file count: ", _BLOBS, _as_named, False),
    ("Writes ", _OLD_WRITES, _writes, True),
    ("WAL ", _OLD_WAL, _wal, True),
    ("Compaction IO ", _OLD_COMPACTION, _old_compaction, False),
)


def figures_in(line: str) -> tuple[Figures, bool] | None:
    """The figures of a line, and whether they are of the whole database; None for other lines."""
    for mark, pattern, reader, of_database in _READERS:
        if mark in line and (found := pattern.search(line)):
            return reader(found), of_database
    return None


def stall_seconds(line: str) -> float:
    """Seconds of all reasons together in a ``Stalls(secs):`` line (2.0 to 3.x)."""
    return sum(float(told) for told in _STALL_SECONDS.findall(line.partition("secs):")[2]))


def header_columns(line: str) -> tuple[str, ...] | None:
    """The columns after ``Files`` if the line is the header of a table by level, else None.

    The table by ``Priority`` of the threads has the same columns but is no table by level; the
    one of db_bench's ``levelstats`` has only sizes.
    """
    _, found, rest = line.partition("Level ")
    columns = tuple(rest.split())
    return columns[1:] if found and columns[:1] == ("Files",) and len(columns) > 2 else None


def level_row(line: str, columns: Sequence[str]) -> dict[str, Cell] | None:
    """A row: ``level`` (``L0``, ``Sum``, ``Int``), ``files`` and the columns that were told.

    Sizes and counts that RocksDB rounds to a suffix (``174.83 MB``, ``1081M``) stay texts;
    ``size_mib`` is the size as a number. What is no number (``nan``) is None, and so is a line
    that is no row.
    """
    if found := _ROW.search(line):
        level, files, compacting, rest = found.groups()
        row: dict[str, Cell] = {"level": level, "files": int(files)}
        if compacting is not None:
            row["compacting"] = int(compacting)
    elif "Time(sec)" in columns and (found := _OLD_ROW.match(line)):
        level, files, rest = found.groups()
        row = {"level": f"L{level}", "files": int(files)}
    else:
        return None
    cells = iter(rest.split())
    for column, cell in zip(columns, cells, strict=False):
        if column == "Size":  # two cells, unless the line is cut off
            told = " ".join((cell, *islice(cells, 1)))
            row |= {"size": told, "size_mib": _mib(told)}
            continue
        name, divisor = _COLUMNS.get(column, (column, 1))
        value = _cell(cell)
        row[name] = value / divisor if divisor > 1 and isinstance(value, int | float) else value
    return row


def _cell(cell: str) -> Cell:
    if _FLOAT.fullmatch(cell):
        return float(cell) if "." in cell else int(cell)
    return cell if _SUFFIXED.fullmatch(cell) else None


def _mib(told: str) -> float | None:
    amount, _, unit = told.partition(" ")
    if unit not in _MIB or not _FLOAT.fullmatch(amount):
        return None
    return float(amount) * _MIB[unit]


def stall_counts(line: str) -> dict[tuple[str, str], int]:
    """The counts of a ``Stalls(count):`` or ``Write Stall (count):`` line, by (reason, kind).

    Names that no version is known to write are left out; so are the totals.
    """
    _, _, told = line.partition("count):")
    pairs = _COUNT_AFTER.findall(told) + [
        (name, number) for number, name in _COUNT_BEFORE.findall(told)
    ]
    return {_STALL_COUNTS[name]: int(number) for name, number in pairs if name in _STALL_COUNTS}


@dataclass(frozen=True)
class StallLine:
    """A line of a LOG that says that writes are delayed (or stopped) from now on."""

    family: str  # the column family
    reason: str  # one of ``REASONS``
    kind: str  # ``delays`` or ``stops``


def stall_line(line: str) -> StallLine | None:
    """What a ``[family] Stalling writes because ...`` line says; None for any other line."""
    found = _STALL_LINE.search(line)
    if found is None:
        return None
    reason = next((reason for words, reason in _STALL_BECAUSE if words in found["because"]), None)
    if reason is None:
        return None
    kind = STOPS if found["kind"] == "Stopping" else DELAYS
    return StallLine(found["family"] or "", reason, kind)  # a name may end the line before


def added(*several: Stalls) -> dict[tuple[str, str], int]:
    """The counts of several families together."""
    total = Counter[tuple[str, str]]()
    for each in several:
        total.update(each)
    return dict(total)


def as_document(stalls: Stalls) -> dict[str, dict[str, int]]:
    """The counts as ``{reason: {kind: how often}}``, in the order of ``REASONS``."""
    return {
        reason: {kind: stalls[reason, kind] for kind in KINDS if (reason, kind) in stalls}
        for reason in REASONS
        if any((reason, kind) in stalls for kind in KINDS)
    }
