"""How full each level of the tree is: the table of levels that RocksDB prints and logs."""

from __future__ import annotations

import re

_HEAD = re.compile(r"^Level +Files +Size .*$", re.MULTILINE)
_ROW = re.compile(r" +L(\d{1,2}) +\d{1,9}/\d{1,9} +(\d{1,9}(?:\.\d{1,9})?) (KB|MB|GB|TB)\s")
_UNITS = {"KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}


def parse_levels(text: str) -> tuple[int, ...]:
    """Bytes of table files by level, from level 0, of the last whole table; empty without one.

    The table (internal_stats.cc, ``DumpCFStats``) leaves out levels that never held anything, and
    gives two decimals: a level of a few bytes may read 0. Never raises, whatever the text holds.
    """
    for head in reversed(list(_HEAD.finditer(text))):
        rows = text[head.end() + 1 :].split("\n")
        levels: dict[int, int] = {}
        for row in rows[1:-1]:  # a line of dashes first; what is not ended may be cut off
            if row.startswith(" Sum "):
                return tuple(levels.get(level, 0) for level in range(max(levels, default=-1) + 1))
            found = _ROW.match(row)
            if found:
                levels[int(found[1])] = round(float(found[2]) * _UNITS[found[3]])
    return ()
