"""Rows of a ``** Compaction Stats [family] **`` table: what each level holds, read and wrote.

Columns came and went (db/internal_stats.cc, PrintLevelStatsHeader), so they are read by the names
in the header. ``GB`` and ``MB`` there are 2**30 and 2**20 bytes, to one decimal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Cell = float | int | str | None
# The header's name -> (our name, factor to our unit).
_COLUMNS: dict[str, tuple[str, float]] = {
    "Score": ("score", 1),
    "Read(GB)": ("read_gib", 1),
    "Rn(GB)": ("read_upper_gib", 1),
    "Rnp1(GB)": ("read_output_gib", 1),
    "Write(GB)": ("write_gib", 1),
    "WPreComp(GB)": ("write_before_compression_gib", 1),
    "Wnew(GB)": ("write_new_gib", 1),
    "Moved(GB)": ("moved_gib", 1),
    "RW-Amp": ("read_write_amplification", 1),
    "RW-Amplify": ("read_write_amplification", 1),
    "W-Amp": ("write_amplification", 1),
    "Amplify": ("read_write_amplification", 1),
    "Rd(MB/s)": ("read_mib_s", 1),
    "Wr(MB/s)": ("write_mib_s", 1),
    "Comp(sec)": ("compaction_seconds", 1),
    "CompMergeCPU(sec)": ("compaction_cpu_seconds", 1),
    "Comp(cnt)": ("compactions", 1),
    "Avg(sec)": ("average_seconds", 1),
    "Stall(sec)": ("stall_seconds", 1),
    "Stall(cnt)": ("stalls", 1),
    "Avg(ms)": ("average_stall_ms", 1),
    "Rn(cnt)": ("files_read_upper", 1),
    "Rnp1(cnt)": ("files_read_output", 1),
    "Wnp1(cnt)": ("files_written", 1),
    "Wnew(cnt)": ("files_new", 1),
    "KeyIn": ("keys_in", 1),
    "RecordIn": ("keys_in", 1),
    "KeyDrop": ("keys_dropped", 1),
    "RecordDrop": ("keys_dropped", 1),
    "Rblob(GB)": ("read_blob_gib", 1),
    "Wblob(GB)": ("write_blob_gib", 1),
    # RocksDB 2.x
    "Time(sec)": ("compaction_seconds", 1),
    "Read(MB)": ("read_gib", 1 / 1024),
    "Write(MB)": ("write_gib", 1 / 1024),
    "Rn(MB)": ("read_upper_gib", 1 / 1024),
    "Rnp1(MB)": ("read_output_gib", 1 / 1024),
    "Wnew(MB)": ("write_new_gib", 1 / 1024),
    "Read(MB/s)": ("read_mib_s", 1),
    "Write(MB/s)": ("write_mib_s", 1),
    "Rn": ("files_read_upper", 1),
    "Rnp1": ("files_read_output", 1),
    "Wnp1": ("files_written", 1),
    "NewW": ("files_new", 1),
    "Count": ("compactions", 1),
    "msComp": ("average_ms", 1),
    "msStall": ("average_stall_ms", 1),
    "Ln-stall": ("stall_seconds", 1),
    "Stall-cnt": ("stalls", 1),
}
_MIB = {"B": 1 / 2**20, "KB": 1 / 1024, "MB": 1.0, "GB": 1024.0, "TB": 1024.0**2}
_FLOAT = re.compile(r"-?\d{1,18}(?:\.\d{1,9})?")
_SUFFIXED = re.compile(r"-?\d{1,18}[KMGT]")
_ROW = re.compile(r"(?:^|\s)(L\d{1,3}|Sum|Int)\s+(\d{1,9})(?:/(-?\d{1,9}))?\s+(.*)$")
_OLD_ROW = re.compile(r"^\s*(\d{1,3})\s+(\d{1,9})\s+(.*)$")


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
    ``size_mib`` is the size as a number. What is no number (``nan``) is None.

    Args:
        line: A line below the header.
        columns: Of ``header_columns``.
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
    cells = rest.split()
    at = 0
    for column in columns:
        if at >= len(cells):
            break
        if column == "Size":
            told = " ".join(cells[at : at + 2])
            row |= {"size": told, "size_mib": _mib(told)}
            at += 2
            continue
        if column == "Size(MB)":
            row["size_mib"] = _number(cells[at])
        else:
            name, factor = _COLUMNS.get(column, (column, 1))
            value = _number(cells[at])
            row[name] = value * factor if isinstance(value, int | float) and factor != 1 else value
        at += 1
    return row


def _number(cell: str) -> Cell:
    if _FLOAT.fullmatch(cell):
        return float(cell) if "." in cell else int(cell)
    return cell if _SUFFIXED.fullmatch(cell) else None


def _mib(told: str) -> float | None:
    amount, _, unit = told.partition(" ")
    if unit not in _MIB or not _FLOAT.fullmatch(amount):
        return None
    return float(amount) * _MIB[unit]
