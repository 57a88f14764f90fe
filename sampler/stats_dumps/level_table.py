"""Rows of a ``** Compaction Stats [family] **`` table: what each level holds, read and wrote.

Columns came and went (db/internal_stats.cc, PrintLevelStatsHeader), so they are read by the names
in the header. ``GB`` and ``MB`` there are 2**30 and 2**20 bytes, to one decimal.
"""

import re
from collections.abc import Sequence

from sampler.common.documents import packaged_rows

Cell = float | int | str | None
# The header's name -> (our name, divisor to our unit), RocksDB 2.x included.
_COLUMNS = {
    row["header"]: (row["name"], int(row["divisor"] or 1))
    for row in packaged_rows("sampler.stats_dumps", "level_columns.csv")
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
            name, divisor = _COLUMNS.get(column, (column, 1))
            value = _number(cells[at])
            row[name] = (
                value / divisor if divisor > 1 and isinstance(value, int | float) else value
            )
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
