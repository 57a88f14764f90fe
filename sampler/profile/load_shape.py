"""The shape of a scaled load: operations of each kind, its key space, sizes of its values.

db_bench draws the sizes of values from a normal distribution of three deviations on each side of
its mean, or evenly from a range (RandomGenerator in tools/db_bench_tool.cc); ``mixgraph`` draws
them from a generalized Pareto distribution, which is even over a range where its shape is -1
(ParetoCdfInversion). A compression ratio is worked out with the same distribution: what a codec
makes of a table depends on the sizes of its values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.optimize import brentq

from sampler.profile.profile import FamilyProfile, ValueSize
from sampler.rocksdb.parameters import Value
from sampler.space.space import LEAST_WRITE_BUFFER

# Bytes of keys and values that a run writes: seconds on a common machine.
TARGET_BYTES = 96 * 2**20
MOST_TURNOVERS = 4  # times that the whole database is written over at most
MOST_OPERATIONS = 1_000_000  # of a run: seconds
NONE, ALL = 0.01, 0.98  # shares that are taken for none and for all
USUAL_ENTRIES = 100_000  # where nothing tells how many keys there are
_NORMAL_99 = 2.326  # deviations above the mean at which 99% of a normal distribution lie
_NORMAL_HALF = 3  # deviations on each side, which db_bench's has
_EVEN_HALF = math.sqrt(3)  # the same of an even distribution
_LEAST = 0.02  # of the mean: sizes that deviate by less are written with one size

Kind = Literal["fixed", "normal", "uniform"]  # db_bench's value_size_distribution_type


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
        puts, deletes, merges = family.puts, family.deletes, did.get("merge", 0.0)
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


@dataclass(frozen=True)
class WrittenSizes:
    """A distribution of db_bench's: bytes of the mean value, the smallest and the largest."""

    kind: Kind
    mean: int
    low: int
    high: int

    @staticmethod
    def of(size: ValueSize, usual: float = 0.0) -> WrittenSizes:
        """The one that is as wide as sizes are told to be; fixed where that is not told.

        Normal sizes are at most three deviations below the mean, so what is wider is drawn evenly;
        no distribution of db_bench's is wider than an even one from 1 byte on. ``usual`` is the
        mean where none is told.
        """
        mean = max(1.0, usual if size.mean is None else size.mean)
        deviation = _deviation(size)
        if deviation <= _LEAST * mean:
            return WrittenSizes("fixed", round(mean), round(mean), round(mean))
        kind: Kind = "normal" if _NORMAL_HALF * deviation <= mean - 1 else "uniform"
        return WrittenSizes._around(kind, mean, deviation)

    @staticmethod
    def _around(kind: Kind, mean: float, deviation: float) -> WrittenSizes:
        half = min((_NORMAL_HALF if kind == "normal" else _EVEN_HALF) * deviation, mean - 1)
        low, high = round(mean - half), round(mean + half)
        return WrittenSizes(kind, round(mean), max(1, low), max(low, high))

    @property
    def varied(self) -> bool:
        """Whether there is more than one size."""
        return self.high > self.low

    def drawn_evenly(self) -> WrittenSizes:
        """The same mean and deviation, from a range: what ``mixgraph`` can draw."""
        if self.kind != "normal":
            return self
        deviation = (self.high - self.low) / (2 * _NORMAL_HALF)
        return self._around("uniform", (self.low + self.high) / 2, deviation)

    def flags(self) -> Mapping[str, Value]:
        """Flags of the benchmarks that take a distribution; none of a fixed size."""
        if not self.varied:
            return {}
        return {
            "value_size_distribution_type": self.kind,
            "value_size_min": self.low,
            "value_size_max": self.high,
        }

    def mixgraph_flags(self) -> Mapping[str, Value]:
        """Flags of ``mixgraph``: the even distribution from the smallest to the largest."""
        even = self.drawn_evenly()
        width = float(even.high - even.low)
        shape = {"value_k": -1.0, "value_sigma": width} if width else _ONE_SIZE
        return {"value_theta": float(even.low), **shape, "mix_max_value_size": even.high + 1}

    def draw(self, random: np.random.Generator) -> int:
        """The size of a value."""
        if self.kind == "normal":
            middle, deviation = (self.low + self.high) / 2, (self.high - self.low) / 6
            return int(min(self.high, max(self.low, random.normal(middle, deviation))))
        return int(random.integers(self.low, self.high + 1))


_ONE_SIZE: Mapping[str, Value] = {"value_k": 0.0, "value_sigma": 0.0}


def _deviation(size: ValueSize) -> float:
    """Standard deviation of sizes, bytes; 0 where nothing tells it."""
    if size.deviation is not None:
        return size.deviation
    if size.mean is None or size.p99 is None:
        return 0.0
    return max(0.0, size.p99 - size.mean) / _NORMAL_99
