"""The events of a column family: counts of an opening, tables, flushes; and overwrites from them.

How many writes of keys met a key that was there is told by the entries that RocksDB dropped.
Writes are taken to be drawn uniformly from a space of N keys. A flush, or a compaction that takes
tables of level 0 in, merges runs that lie over the whole space, so the entries that it keeps tell
N: of runs of e entries N(1 - (1-e/N)(1-e/N)...) keys are distinct. (A compaction between deeper
levels merges a part of the space, nobody knows how large.) N and the writes tell the rest. Keys
that are written in order, or each once, are known by this: as long as RocksDB has dropped nothing,
each write was of a new key.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from scipy.optimize import brentq

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
_FEW = 0.02
_ENOUGH = 400  # dropped entries: their number is then known to some 5%


class FlushedEntries(NamedTuple):
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
    history: list[FlushedEntries] = field(default_factory=list)  # of each flush
    last: FlushedEntries = field(default_factory=lambda: FlushedEntries(1, 0))
    flushed_at: tuple[float, float] | None = None  # the LOG's clock at the last two, in seconds
    # Of the last two flushes and before: sequence number of the last entry, and entries flushed.
    flushed_to: list[tuple[int, int]] = field(default_factory=list)
    # Of tables, and of the values in memtables; no more than two each are kept.
    value_means: set[float] = field(default_factory=set)
    ingested_means: set[float] = field(default_factory=set)

    def in_memory(self, counts: Counter[str]) -> FlushedEntries:
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
class OpeningEvents:
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
class LiveTable:
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

    table: LiveTable
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


@dataclass(frozen=True)
class Writes:
    """Some writes of a family, in the order of the history."""

    puts: float  # and merges
    deletes: float
    merges: float = 0  # among the puts
    counts: bool = True  # whether the share is asked of these


@dataclass(frozen=True)
class Merge:
    """A flush of so many writes, or a compaction of runs of so many entries each."""

    kept: int  # entries that came out
    writes: int = 0
    deletes: int = 0  # of them
    runs: tuple[int, ...] = ()
    tombstones: int = 0  # deletes among what came out

    @property
    def dropped(self) -> int:
        """Entries that did not come out."""
        return self.writes + sum(self.runs) - self.kept


@dataclass(frozen=True)
class Held:
    """Entries with values in the tree: of all its runs, and of the largest."""

    all: int
    largest: int


@dataclass(frozen=True)
class Overwrites:
    """What came out."""

    # Of the puts that count, those of keys that were there, 0 to 1; None where no put counts.
    share: float | None
    with_merges: float | None  # the same of puts and merges
    live_keys: float | None


def overwrites(
    history: Sequence[Writes],
    merges: Sequence[Merge],
    held: Held,
    new: int,
    removed: float = 0.0,
    in_memory: Sequence[Writes] = (),
) -> Overwrites:
    """The share of overwriting puts, and the live keys at the end.

    Both are None where deletes are not drawn like puts, so that these entries do not tell them.

    Args:
        history: All writes that were flushed, from an empty database on.
        merges: From the first one on that dropped an entry.
        held: What the tree holds at the end; that bounds the live keys.
        new: Entries that were flushed until then, or until the first delete.
        removed: Entries with values that compactions dropped without a newer write of their key,
            by a compaction filter.
        in_memory: Writes that were not flushed: the others tell how many keys they meet.
    """
    if removed > _FEW * held.all:  # compactions tell nothing then
        merges = [merge for merge in merges if merge.writes]
    telling = _telling(merges)
    if any(each.deletes for each in telling) and not _drawn_like_puts(telling):
        return Overwrites(None, None, None)
    kept = sum(merge.kept for merge in telling)
    # Where nothing tells of the space, it is so large that no write met another.
    largest = 1e6 * sum(each.puts + each.deletes for each in history) + 1e6

    def distinct(keys: float) -> float:
        return sum(_distinct(merge, keys) for merge in telling) - kept

    def live(keys: float) -> float:
        return max(0.0, _after(history, keys, new)[1] - removed)

    least = float(max((new, 1, *(entries for merge in telling for entries in merge.runs))))
    keys = _root(distinct, least, largest) if telling else largest
    deleting = sum(each.deletes for each in history) > _FEW * sum(each.puts for each in history)
    untold = sum(each.dropped for each in telling) < _ENOUGH
    if deleting and (untold or live(keys) > 1.1 * held.all):  # they may hit more than by chance
        return Overwrites(None, None, None)
    if live(keys) > held.all:
        keys = _root(lambda space: live(space) - held.all, least, keys)
    elif live(keys) < held.largest and not any(each.deletes for each in history):
        keys = _root(lambda space: live(space) - held.largest, keys, largest)
    shares, left = _after([*history, *in_memory], keys, new)
    return Overwrites(*shares, min(left - removed, held.all) if removed else left)


def _drawn_like_puts(flushes: Sequence[Merge]) -> bool:
    """Whether as many of the entries that flushes kept and dropped are deletes as by chance.

    Where each key is deleted once after its put, flushes drop puts and keep the deletes; a
    SingleDelete goes with its put (compaction_iterator.cc).
    """
    mixed = [each for each in flushes if each.deletes]
    kept = sum(each.kept * each.deletes / each.writes for each in mixed)
    dropped = sum(each.dropped * each.deletes / each.writes for each in mixed)
    apart, fewer = abs(sum(each.tombstones for each in mixed) - kept), min(kept, dropped)
    return apart <= 3 * math.sqrt(fewer) + 0.2 * fewer


def _telling(merges: Sequence[Merge]) -> Sequence[Merge]:
    """The merges that tell the space best, of those of which enough was dropped.

    A flush holds writes of one time: runs may be of times at which other keys were written.
    """
    flushes = [merge for merge in merges if merge.writes]
    puts = [merge for merge in flushes if not merge.deletes]
    enough = (each for each in (puts, flushes) if sum(m.dropped for m in each) >= _ENOUGH)
    return next(enough, merges)


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a rising function is 0, or the end that is nearer to it."""
    if rising(low) >= 0:
        return low
    if rising(high) <= 0:
        return high
    return math.exp(
        brentq(lambda x: rising(math.exp(x)), math.log(low), math.log(high), xtol=1e-9)
    )


def _distinct(merge: Merge, keys: float) -> float:
    absent = -merge.writes / keys
    for entries in merge.runs:
        if entries >= keys:
            return keys
        absent += math.log1p(-entries / keys)
    return -keys * math.expm1(absent)


def _after(
    history: Sequence[Writes], keys: float, new: float
) -> tuple[tuple[float | None, float | None], float]:
    """The two shares of writes to so many keys, and the live keys that they leave.

    Of writes that are puts with probability f, d(live) = (f - live / keys) d(writes).
    """
    live, over, counted, over_puts, counted_puts = 0.0, 0.0, 0.0, 0.0, 0.0
    for each in history:
        counted += each.puts if each.counts else 0
        counted_puts += each.puts - each.merges if each.counts else 0
        first = min(new, each.puts)
        new, live, puts = new - first, min(keys, live + first), each.puts - first
        if not puts + each.deletes:
            continue
        settled = keys * puts / (puts + each.deletes)
        gone = -math.expm1(-(puts + each.deletes) / keys)
        mean = settled + (live - settled) * gone * keys / (puts + each.deletes)
        live += (settled - live) * gone
        met = puts * mean / keys if each.counts else 0.0
        over, over_puts = over + met, over_puts + met * (1 - each.merges / max(1, each.puts))
    return (_share(over_puts, counted_puts), _share(over, counted)), live


def _share(part: float, whole: float) -> float | None:
    return min(1.0, max(0.0, part / whole)) if whole else None
