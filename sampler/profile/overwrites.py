"""How many writes of keys met a key that was there, from the entries that RocksDB dropped.

Writes are taken to be drawn uniformly from a space of N keys. A flush, or a compaction that takes
tables of level 0 in, merges runs that lie over the whole space, so the entries that it keeps tell
N: of runs of e entries N(1 - (1-e/N)(1-e/N)...) keys are distinct. (A compaction between deeper
levels merges a part of the space, nobody knows how large.) N and the writes tell the rest. Keys
that are written in order, or each once, are known by this: as long as RocksDB has dropped nothing,
each write was of a new key.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scipy.optimize import brentq

_FEW = 0.02
_ENOUGH = 400  # dropped entries: their number is then known to some 5%


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
