"""Why RocksDB held writes back: its counts by reason, and the lines in which a LOG says so.

The names of the counts changed twice (db/internal_stats.cc, db/write_stall_stats.cc):

* 2.0 to 3.x: ``Stalls(count): 4 level0_slowdown, 0 level0_numfiles, 1 memtable_compaction, ...``
* 3.x to 7.x: the same with ``_with_compaction`` and ``pending_compaction_bytes``
* 8.1 and later: ``Write Stall (count): l0-file-count-limit-delays: 4, ...``

The lines are of ``ColumnFamilyData::RecalculateWriteStallConditions`` (db/column_family.cc).
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from sampler.common.documents import packaged_rows

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

_COUNTS = {
    row["count"]: (row["reason"], row["kind"])
    for row in packaged_rows("sampler.stats_dumps", "stall_counts.csv")
}
_BEFORE = re.compile(r"(\d{1,18}) ((?:(?:stop|slowdown) for )?\w+)")
_AFTER = re.compile(r"([\w-]+): (\d{1,18})")
_LINE = re.compile(
    r"(?:\[(?P<family>[^\[\]]*))?\] (?P<kind>Stopping|Stalling) writes\b(?P<because>[^\n]{0,200})"
)
_BECAUSE = (
    ("pending compaction", PENDING_BYTES), ("level-0", L0_FILES), ("L0 files", L0_FILES),
    ("memtable", MEMTABLES), ("score", LEVEL_SCORE), ("rate_limit", LEVEL_SCORE),
)  # fmt: skip


def stall_counts(line: str) -> dict[tuple[str, str], int]:
    """The counts of a ``Stalls(count):`` or ``Write Stall (count):`` line, by (reason, kind).

    Names that no version is known to write are left out; so are the totals.
    """
    _, _, told = line.partition("count):")
    pairs = _AFTER.findall(told) + [(name, number) for number, name in _BEFORE.findall(told)]
    return {_COUNTS[name]: int(number) for name, number in pairs if name in _COUNTS}


@dataclass(frozen=True)
class StallLine:
    """A line of a LOG that says that writes are delayed (or stopped) from now on."""

    family: str  # the column family
    reason: str  # one of ``REASONS``
    kind: str  # ``delays`` or ``stops``


def stall_line(line: str) -> StallLine | None:
    """What a ``[family] Stalling writes because ...`` line says; None for any other line."""
    found = _LINE.search(line)
    if found is None:
        return None
    reason = next((reason for words, reason in _BECAUSE if words in found["because"]), None)
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
