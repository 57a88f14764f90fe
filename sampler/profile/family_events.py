"""What the events of a column family come to: counts of an opening, tables, flushes."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from sampler.rocksdb.log_reader import LogEvent

MOST_STEPS = 2000  # of the history of a family in an opening, even; more are merged
FLUSH, COMPACTION = "flushes", "compactions"
KEY_TRAILER = 8  # bytes after a user's key: sequence number and type
# What is added up of tables, besides ``tables``, ``file_size`` and ``value_squares``: of each the
# square of the bytes of its values over their number, which tells how much sizes differ.
PROPERTIES = (
    "num_entries", "num_deletions", "num_merge_operands", "raw_key_size", "raw_value_size",
    "data_size", "num_data_blocks", "num_range_deletions",
)  # fmt: skip


class Step(NamedTuple):
    """Entries of memtables that were flushed together."""

    puts: int  # and merges
    deletes: int
    merges: int = 0  # among the puts
    ranges: int = 0  # range deletes
    data: int = 0  # their bytes; 0 where it is not told

    @property
    def entries(self) -> int:
        """All of them."""
        return self.puts + self.deletes + self.ranges


@dataclass
class FamilyEvents:
    """What the events of one column family in one opening come to."""

    # (``FLUSH`` or ``COMPACTION``, codec in the LOG's word or "", whether at least half of the
    # entries have values) -> sums over the tables made.
    made: dict[tuple[str, str, bool], Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    # ``written``, ``deleted``, ``ranges``: entries, deletes and range deletes of memtables that
    # were flushed, in so many ``memtables``. ``merged``: operands among them. ``data``: their
    # bytes. ``dataless``: entries whose bytes are not told. ``recovered``: those that the next
    # opening flushed. ``values``: bytes of ``valued`` puts. ``read``, ``kept``: entries that
    # compactions read and wrote. ``made``, ``flushed``: bytes of files, those of flushes among
    # them. ``blobs``, ``blob_bytes``: what blob files hold, ``flushed_blobs`` of flushes alone.
    # ``lost_writes``, ``lost_records``, ``lost_bytes``: events that do not tell a needed count.
    counts: Counter[str] = field(default_factory=Counter)
    history: list[Step] = field(default_factory=list)  # of each flush
    last: Step = field(default_factory=lambda: Step(1, 0))
    flushed_at: tuple[float, float] | None = None  # the LOG's clock at the last two, in seconds
    # Of the last two flushes and before: sequence number of the last entry, and entries flushed.
    flushed_to: list[tuple[int, int]] = field(default_factory=list)
    # Of tables, and of the values in memtables; no more than two each are kept.
    value_means: set[float] = field(default_factory=set)
    ingested_means: set[float] = field(default_factory=set)

    def in_memory(self, counts: Counter[str]) -> Step:
        """What was in memory when the counts were these: the next flush, or as the last was."""
        number, whole = counts["memtables"], len(self.history) == self.counts["memtables"]
        return self.history[number] if whole and number < len(self.history) else self.last

    def summed(self, *kinds: str) -> Counter[str]:
        """Sums over the tables that were made in these ways."""
        total = Counter[str]()
        for (kind, *_), sums in self.made.items():
            if kind in kinds:
                total.update(sums)
        return total


@dataclass(frozen=True)
class AtDump:
    """A family at the last dump of statistics."""

    counts: Counter[str]
    rate: float  # entries a second, by its last flush; 0 where nothing tells it
    flushed_at: float | None
    flushed_to: tuple[tuple[int, int], ...]  # as ``FamilyEvents`` has it


@dataclass
class Opened:
    """One opening of the database."""

    line: int  # of the LOG at which it begins, from 0
    in_log: bool = True  # or before it, so that only what a recovery flushed is told
    families: dict[str, FamilyEvents] = field(default_factory=lambda: defaultdict(FamilyEvents))
    at_dump: dict[str, AtDump] | None = None
    dumped_at: float | None = None  # by the LOG's clock, in seconds
    began_at: float | None = None  # the same of the opening
    sequence: int | None = None  # number of the last write before it; None if it is not told
    begin: int | None = None  # microseconds since the epoch, of its first and its last event
    end: int | None = None


@dataclass
class Table:
    """A table that is live."""

    family: str
    level: int
    size: int
    entries: int
    deletions: int


@dataclass(frozen=True)
class Memtables:
    """What a flush begins with; None where its event does not tell it."""

    entries: int | None
    deletes: int
    ranges: int | None
    data: int | None
    at: float | None  # by the LOG's clock


@dataclass(frozen=True)
class Flushed:
    """A table of a flush that is not committed yet."""

    table: Table
    entries: int  # of its memtables
    deletes: int
    merges: int
    ranges: int = 0
    data: int | None = None
    at: float | None = None
    smallest: int | None = None  # sequence number
    largest: int | None = None  # the same


def value_bytes(sums: Counter[str]) -> float:
    """Bytes of the values of tables: RocksDB counts the end of a range delete as one, too."""
    key = sums["raw_key_size"] / max(1, sums["num_entries"]) - KEY_TRAILER
    ends = sums["num_range_deletions"] * key
    return max(0.0, sums["raw_value_size"] - ends)


def value_squares(sums: Counter[str]) -> int:
    """The square of the bytes of a table's values over their number."""
    values = sums["num_entries"] - sums["num_deletions"]
    return round(value_bytes(sums) ** 2 / values) if values > 0 else 0


def add_values(family: FamilyEvents, flushed: Flushed, event: LogEvent) -> None:
    """Adds the values of a memtable, by the length of its entries (memtable.cc, MemTable::Add)."""
    puts = flushed.entries - flushed.deletes - flushed.ranges
    if flushed.data is None or puts <= 0:
        return
    key = event.count("raw_key_size") / event.count("num_entries")
    beside = flushed.entries * (key + _varint(key)) + flushed.deletes
    mean = max(0.0, flushed.data - beside) / puts
    mean = round(max(0.0, mean - _varint(mean)), 3)
    family.counts.update(values=round(mean * puts), valued=puts)
    if len(family.ingested_means) < 2:
        family.ingested_means.add(mean)


def _varint(number: float) -> int:
    return max(1, -(-int(number).bit_length() // 7))
