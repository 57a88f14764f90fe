"""How much a family did, and how much of it a run of seconds does: key space and counts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from scipy.optimize import brentq

from sampler.profile.profile import FamilyProfile
from sampler.space.space import LEAST_WRITE_BUFFER

# Bytes of keys and values that a run writes: seconds on a common machine.
TARGET_BYTES = 96 * 2**20
MOST_TURNOVERS = 4  # times that the whole database is written over at most
MOST_OPERATIONS = 1_000_000  # of a run: seconds
NONE, ALL = 0.01, 0.98  # shares that are taken for none and for all
USUAL_ENTRIES = 100_000  # where nothing tells how many keys there are


@dataclass(frozen=True)
class Counts:
    """Operations of a family since the opening, and what was there before."""

    puts: float  # merges among them
    deletes: float
    merging: bool  # whether most of them are merges
    gets: float  # multigets among them
    seeks: float
    overwritten: float  # share of puts and merges whose key was there
    entries: float  # live keys at the end
    found: float | None = None  # share of gets that find their key

    @staticmethod
    def of(family: FamilyProfile) -> Counts:
        """Of a profile; without a share of overwrites by what is left of the puts."""
        did = family.operations
        merges, deletes = did.get("merge", 0.0), did.get("delete", 0.0)
        puts = did.get("put", 0.0) + merges
        share = family.overwrite_share if family.rewrite_share is None else family.rewrite_share
        entries = float(family.entries) if family.entries is not None else None
        if share is None:  # what is left of the puts was new
            known = puts > 0 and entries is not None and entries + deletes < puts
            share = 1 - ((entries or 0.0) + deletes) / puts if known else 0.0
        new = puts * (1 - share)
        return Counts(
            puts, deletes, 2 * merges > puts, did.get("get", 0.0) + did.get("multiget", 0.0),
            did.get("seek", 0.0), share, new if entries is None else entries, family.hit_rate,
        )  # fmt: skip

    @property
    def writes(self) -> float:
        """Puts, deletes and merges."""
        return self.puts + self.deletes

    @property
    def reads(self) -> float:
        """Gets and seeks."""
        return self.gets + self.seeks

    @property
    def before(self) -> float:
        """Keys that were there at the opening, at least; 0 where they were next to none."""
        left = self.entries - self.puts * (1 - self.overwritten)
        return left if left > 0.2 * self.entries else 0.0

    @property
    def turnovers(self) -> float:
        """How many times more was written than a load writes of the whole database."""
        return max(1.0, self.writes / (MOST_TURNOVERS * max(self.entries, 1.0)))

    def scale(self, pair: float, buffer: int) -> int:
        """The power of two at which a run takes seconds, as far as memtables allow.

        ``pair`` are bytes of a key and its value, ``buffer`` those of a write buffer.
        """
        data = pair * (self.before + self.writes / self.turnovers)
        operations = (self.writes + self.reads) / self.turnovers
        # What is cut beyond the scale is missing in the tree: there are to be few enough at once.
        power = max(
            0,
            math.floor(math.log2(max(1.0, data / TARGET_BYTES))),
            math.ceil(math.log2(max(1.0, operations / MOST_OPERATIONS))),
        )
        return int(2 ** min(power, math.floor(math.log2(max(1.0, buffer / LEAST_WRITE_BUFFER)))))

    def times(self, factor: float) -> Counts:
        """The same of a database so many times as large."""
        counted = ("puts", "deletes", "gets", "seeks", "entries")
        return replace(self, **{name: factor * getattr(self, name) for name in counted})


@dataclass(frozen=True)
class Shape:
    """Whole numbers of the scaled load."""

    before: int  # keys that [prepare] writes
    num: int  # size of the key space that the operations draw from
    # Of the puts those that fill the database, each of a new key, before there are any reads.
    first: int
    puts: int  # merges among them
    deletes: int
    merging: bool
    gets: int
    seeks: int
    overwritten: float  # share of puts whose key was there
    cut: float  # how many times more the database did, beyond the scale

    @staticmethod
    def of(counts: Counts, scale: int) -> Shape:
        """Of counts over the scale, cut to what a run of seconds does."""
        every = (counts.writes + counts.reads) / scale
        cut = max(counts.turnovers, every / MOST_OPERATIONS)
        before = round(counts.before / scale)
        if counts.writes / cut / scale < 1:  # what is read must be there
            before = max(1, before, round((counts.entries or USUAL_ENTRIES) / scale))
        puts = counts.puts / cut / scale
        num = _key_space(puts, counts.overwritten, before)
        if not puts:
            num = before or round((counts.entries or USUAL_ENTRIES) / scale)
        num, first = (num, 0) if before else _filled_first(counts, puts, num)

        def whole(count: float) -> int:
            return round(count / cut / scale)

        return Shape(
            before=before,
            num=max(1, num),
            first=first,
            puts=round(puts),
            deletes=whole(counts.deletes),
            merging=counts.merging,
            gets=whole(counts.gets),
            seeks=whole(counts.seeks),
            overwritten=counts.overwritten,
            cut=cut,
        )


def _key_space(puts: float, overwritten: float, before: int) -> int:
    """How many keys uniform puts draw from, so that this share of them finds its key there.

    From an empty database w puts to n keys leave n (1 - e^(-w/n)) keys; beside ``before`` keys
    that are there, of n, the share that is there already is as much larger.
    """
    if puts <= 0:
        return before
    if overwritten < NONE:
        return round(before + puts)
    if overwritten > ALL and before:
        return before

    def found(size: float) -> float:
        there = min(1.0, before / size)
        new = (1 - there) * size * -math.expm1(-puts / size)
        return 1 - new / puts - overwritten

    low, high = max(1.0, puts / 1e6), (before + puts) / NONE * 100
    crosses = found(low) > 0 > found(high)
    return round(brentq(found, low, high)) if crosses else before or round(low)


def _filled_first(counts: Counts, puts: float, num: int) -> tuple[int, int]:
    """The key space, and how many keys are put before the first get, so that gets find theirs.

    Puts that fill an empty database beside gets let fewer gets find their key than where it is
    filled first: on average 1 - (1 - e^(-w/n)) n/w of them.
    """
    if counts.found is None or not counts.gets or puts < 1:
        return num, 0
    rate = puts / num
    beside = 1 + math.expm1(-rate) / rate
    left = puts * (1 - counts.overwritten)  # distinct keys at the end
    if counts.found <= beside + 0.1 or left < 1:
        return num, 0
    space = max(left, left / counts.found)

    def distinct(first: float) -> float:
        return first - (space - first) * math.expm1(-(puts - first) / space) - left

    first = brentq(distinct, 0.0, left) if distinct(0.0) < 0 else 0.0
    return round(space), round(first)
