"""The profile of a trace: which operations there were, on which keys, of which sizes.

How often each key is used is counted in bounded memory. Keys are told apart by 64 bits of their
hash. Where there are too many, half of them is dropped, by a bit of the hash, and what is left
counts twice; the keys that were used most until then are all kept. So what is estimated is neither
of the hot keys alone nor without them.
"""

import contextlib
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from hashlib import blake2b
from heapq import nlargest
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sampler.bench.query_trace import WRITE, DamagedTraceError, Records, open_trace
from sampler.common.errors import InputError
from sampler.profile.compressibility import ratio_of_values
from sampler.profile.profile import (
    OPERATIONS,
    DatabaseProfile,
    FamilyProfile,
    Skew,
    Source,
    Unknown,
    ValueSize,
)
from sampler.rocksdb.log_reader import lines_of, logs_in, newest_options_text
from sampler.rocksdb.options_file import parse_options

FIELD = "trace"
_HOT_KEYS = 10_000
# What is known of a key is one number: whether it is there now, how often it was written, and how
# often read.
_THERE, _WRITE, _READ = 1, 2, 1 << 32
_WRITES = _READ - 1
MOST_KEYS = 500_000  # told apart at a time, about 250 bytes each
MOST_FAMILIES = 10_000  # each takes some 2 kB
MOST_SAMPLED = 2**22  # bytes of values of all families
MOST_SIZES = 200_000  # of values, told apart at a time in all families
_STEP_BYTES = 2**22  # of the trace, after which the keys are counted
_EXACT_BITS = 13  # of a value's size: a larger one than 8191 is kept to one in 4096
_SAMPLE_BYTES = 2**18  # of values, whose compressibility is tried
_SECOND = 1_000_000  # us
_FAMILY = re.compile(r"olumn family \[(.{1,200})\] \(ID (\d{1,9})\)")
_SCANS = (
    "a trace tells where a scan begins, not its length; profile a LOG written with statistics on "
    "(number.db.next)"
)
_UNTOLD = (
    Unknown("entries, levels, waf", "profile the database folder or its LOG"),
    Unknown("hit_rate, latency", "profile a LOG written with statistics on"),
    Unknown("scan_length", _SCANS),
    Unknown("sync_share, wal", "profile the database's LOG"),
)
_COMPRESSED = "a sample of values, compressed as by LZ4, compared with values of db_bench"
_OVERWRITTEN = (
    "puts of keys written earlier in the trace: a lower bound, as the keys from before the trace "
    "are unknown"
)
# Operations whose keys tell the size of a key; a scan may begin at a prefix.
_KEYED = (("put", "merge"), ("get", "multiget"), ("delete",), ("seek",))


def _uses(state: int) -> int:
    return (state >> 32) + ((state & _WRITES) >> 1)


@dataclass
class KeyCounts:
    """The keys of one family."""

    puts: float = 0.0  # of keys that are told apart, those that were dropped made up for
    overwrites: float = 0.0  # of them those of keys that were written before, and are there
    _hot: dict[bytes, int] = field(default_factory=dict)
    _rest: dict[bytes, int] = field(default_factory=dict)
    _mask: int = 0  # a key is kept whose hash has none of these bits

    @property
    def weight(self) -> int:
        """How many keys each of those that are not hot stands for."""
        return self._mask + 1

    def __len__(self) -> int:
        """Keys that are held."""
        return len(self._hot) + len(self._rest)

    def use(self, what: str, key: bytes) -> None:
        """Counts an operation of ``OPERATIONS`` on a key."""
        mark = blake2b(key, digest_size=8).digest()
        held, weight = self._rest, 1
        if self._mask:
            if mark in self._hot:
                held = self._hot
            elif self._mask & int.from_bytes(mark, "little"):
                return
            else:
                weight = self._mask + 1
        state = held.get(mark, 0)
        if what == "put":
            self.puts += weight
            if state & _THERE:
                self.overwrites += weight
            held[mark] = (state | _THERE) + _WRITE
        elif what == "merge":
            held[mark] = (state | _THERE) + _WRITE
        elif what == "delete":
            held[mark] = (state & ~_THERE) + _WRITE
        else:
            held[mark] = state + _READ

    def halve(self) -> None:
        """Drops about half of the keys; of few ones hot keys, too."""
        if not self._mask:
            most = min(_HOT_KEYS, len(self._rest) // 4)
            self._hot = _most_used(most, self._rest)
        elif len(self._rest) < len(self._hot):
            hot = _most_used(len(self._hot) // 2, self._hot)
            self._rest |= {mark: state for mark, state in self._hot.items() if mark not in hot}
            self._hot = hot
        self._mask = 2 * self._mask + 1
        kept = (mark for mark in self._rest if not self._mask & int.from_bytes(mark, "little"))
        self._rest = {mark: self._rest[mark] for mark in kept if mark not in self._hot}

    def skew(self) -> Skew:
        """The share of the keys used that takes half of the reads, and of the writes."""
        size = len(self)
        states = np.fromiter((*self._hot.values(), *self._rest.values()), np.int64, size)
        weights = np.full(size, self.weight)
        weights[: len(self._hot)] = 1
        reads, reads_per_key = _half(states >> 32, weights)
        writes, writes_per_key = _half((states & _WRITES) >> 1, weights)
        return Skew(reads, writes, reads_per_key, writes_per_key)


def _most_used(most: int, states: dict[bytes, int]) -> dict[bytes, int]:
    return dict(nlargest(most, states.items(), key=lambda each: _uses(each[1])))


def _half(
    counts: NDArray[np.int64], weights: NDArray[np.int64]
) -> tuple[float, float] | tuple[None, None]:
    """The share of the keys, the most used first, that takes half of the uses, and uses per key.

    Of uses by key, shape (keys,), and how many keys each stands for; None where there are none.
    """
    used = counts > 0
    if not used.any():
        return None, None
    counts, weights = counts[used], weights[used]
    order = np.argsort(-counts, kind="stable")
    taken = np.cumsum((counts * weights)[order])
    keys = np.cumsum(weights[order])
    share = np.interp(taken[-1] / 2, [0, *taken], [0, *keys]) / keys[-1]
    return float(share), float(taken[-1] / keys[-1])


@dataclass
class _Tally:
    operations: Counter[str] = field(default_factory=Counter)
    key_bytes: Counter[str] = field(default_factory=Counter)  # by operation
    ranges: int = 0  # deletes of ranges
    value_bytes: int = 0
    sizes: Counter[int] = field(default_factory=Counter)  # of values
    counts: KeyCounts = field(default_factory=KeyCounts)
    sample: list[bytes] = field(default_factory=list)
    sampled: int = 0  # bytes
    every: int = 1  # value that is kept for the sample
    bits: int = _EXACT_BITS  # that are kept of a value's size

    def add(self, what: str, key: bytes, value: bytes) -> None:
        if what == "delete_range":
            what = "delete"
            self.ranges += 1
        else:
            self.counts.use(what, key)
        self.operations[what] += 1
        self.key_bytes[what] += len(key)
        if what in ("put", "merge"):
            size = len(value)
            self.value_bytes += size
            self.sizes[self._rounded(size)] += 1
            if not (self.operations["put"] + self.operations["merge"]) % self.every:
                self._keep(value)

    def _keep(self, value: bytes) -> None:
        """Keeps a value for the sample, which is even over the trace."""
        self.sample.append(value[:_SAMPLE_BYTES])
        self.sampled += len(self.sample[-1])
        if self.sampled > 2 * _SAMPLE_BYTES and len(self.sample) > 1:
            self.thin()

    def _rounded(self, size: int) -> int:
        cut = max(0, size.bit_length() - self.bits)
        return size >> cut << cut

    def thin(self) -> None:
        """Keeps half of the sample."""
        if len(self.sample) > 1:
            self.sample, self.every = self.sample[1::2], 2 * self.every
        else:
            self.sample = [value[: len(value) // 2] for value in self.sample]
        self.sampled = sum(map(len, self.sample))

    def coarsen(self) -> None:
        """Keeps a bit less of each value's size."""
        self.bits -= 1
        sizes = Counter[int]()
        for size, times in self.sizes.items():
            sizes[self._rounded(size)] += times
        self.sizes = sizes


@dataclass
class _Whole:
    families: dict[int, _Tally] = field(default_factory=lambda: defaultdict(_Tally))
    records: int = 0
    writes: int = 0  # batches
    written: int = 0  # keys of them
    first: int = 0  # us
    last: int = 0
    size: int = 0  # bytes of keys and values written
    second: int = 0  # the latest in which something was written, and the bytes of it
    in_second: int = 0
    peak: int = 0  # those of the busiest

    def add(self, trace: Records, time: int, kind: int, payload: bytes) -> None:
        done = trace.operations(kind, payload)
        self.first = min(self.first or time, time)
        self.last = max(self.last, time)
        self.records += 1
        if kind == WRITE:
            self.writes += 1
            self.written += len(done)
            size = sum(len(key) + len(value) for _, _, key, value in done)
            second = time // _SECOND
            self.in_second = size + (self.in_second if second == self.second else 0)
            self.second, self.size = second, self.size + size
            self.peak = max(self.peak, self.in_second)
        for what, family, key, value in done:
            self.families[family].add(what, key, value)
        if len(self.families) > MOST_FAMILIES:
            problem = f"has operations on more than {MOST_FAMILIES:,} column families"
            raise InputError(FIELD, f"{problem}; record a part of them, or profile the LOG")

    def bound(self) -> None:
        """Keeps less of the families of which most is kept, where that is too much."""
        tallies = list(self.families.values())
        _bound(tallies, MOST_KEYS, lambda each: len(each.counts), lambda each: each.counts.halve())
        _bound(tallies, MOST_SAMPLED, lambda each: each.sampled, _Tally.thin)
        _bound(tallies, MOST_SIZES, lambda each: len(each.sizes), _Tally.coarsen)


def _bound(
    tallies: list[_Tally],
    most: int,
    size: Callable[[_Tally], int],
    less: Callable[[_Tally], None],
) -> None:
    total = sum(map(size, tallies))
    before = total + 1
    while most < total < before:
        before = total
        for each in sorted(tallies, key=size, reverse=True):
            if total <= most:
                return
            total -= size(each)
            less(each)
            total += size(each)


def read_trace_profile(
    path: Path, *, told: Callable[[str], None] = lambda _: None
) -> DatabaseProfile:
    """What a trace tells of a database: read once, from its beginning, in bounded memory.

    One that is cut off is read as far as it goes, which ``unknown`` says. Families are named by
    the LOG beside it, or its OPTIONS file; without either those but ``default`` are ``id 3``.

    ``told`` is given a line at every percent of its bytes.

    Raises:
        InputError: It cannot be read, is no trace of operations or one of an unknown version, or
            holds no operation.
    """
    whole, percent, bounded = _Whole(), 0, 0
    with open_trace(path, FIELD) as file:
        size = max(1, path.stat().st_size)
        trace = Records(file, FIELD)
        for time, kind, payload in trace:
            try:
                whole.add(trace, time, kind, payload)
            except DamagedTraceError as error:
                trace.ended = f"{error}, before its byte {trace.at:,}"
                break
            if trace.at - bounded > _STEP_BYTES:
                whole.bound()
                bounded = trace.at
            if 100 * trace.at // size > percent:
                percent = 100 * trace.at // size
                told(f"{percent}% of {path.name}, {whole.records:,} records")
    if not whole.records:
        why = f": {trace.ended}" if trace.ended else ""
        raise InputError(FIELD, f"{str(path)!r} contains no operation{why}; record it again")
    return _profile(path, trace, whole)


def _profile(path: Path, trace: Records, whole: _Whole) -> DatabaseProfile:
    part = f", incomplete: {trace.ended}" if trace.ended else ""
    where = f"trace: {whole.records:,} records{part}"
    seconds = (whole.last - whole.first) / _SECOND or None
    names = _names(path.parent, whole.families)
    counted = Source(where, "counted")
    cut = Unknown(f"the rest of the trace: {trace.ended}", "record it again")
    return DatabaseProfile(
        families=tuple(
            _family(names.get(number, f"id {number}"), tally, where)
            for number, tally in sorted(whole.families.items())
        ),
        version=trace.rocksdb,
        seconds=seconds,
        batch_size=whole.written / whole.writes if whole.writes else None,
        ingest_rate=whole.size / seconds if seconds else None,
        # Of a short trace no second may be whole: a peak below the average is none.
        ingest_peak=float(whole.peak) if seconds and whole.peak * seconds >= whole.size else None,
        sources={
            **dict.fromkeys(("seconds", "batch_size", "ingest_rate"), counted),
            "ingest_peak": Source(f"{where}: the busiest second", "counted"),
        },
        unknown=(*([cut] if trace.ended else ()), *_UNTOLD),
    )


def _family(name: str, tally: _Tally, where: str) -> FamilyProfile:
    kinds = next(kinds for kinds in _KEYED if any(tally.operations[kind] for kind in kinds))
    keys = sum(tally.operations[kind] for kind in kinds)
    ranges = f"; {tally.ranges:,} range deletes" if tally.ranges else ""
    used, weight = Source(where, "counted"), tally.counts.weight
    if weight > 1:
        used = Source(f"{where}; one key in {weight}, and the most used keys", "estimated")
    puts = tally.counts.puts
    return FamilyProfile(
        name=name,
        key_size=sum(tally.key_bytes[kind] for kind in kinds) / keys,
        value_size=_value_size(tally),
        compression_ratio=ratio_of_values(tally.sample, tally.every),
        operations={what: float(tally.operations[what]) for what in OPERATIONS},
        overwrite_share=tally.counts.overwrites / puts if puts else None,
        skew=tally.counts.skew(),
        sources={
            "operations": Source(where + ranges, "counted"),
            "key_size": Source(f"{where}: keys of {', '.join(kinds)}", "counted"),
            "value_size": Source(where, "counted"),
            "compression_ratio": Source(f"{where}; {_COMPRESSED}", "estimated"),
            "overwrite_share": Source(f"{used.where}; {_OVERWRITTEN}", "estimated"),
            "skew": used,
        },
    )


def _value_size(tally: _Tally) -> ValueSize:
    if not tally.sizes:
        return ValueSize()
    sizes, times = map(list, zip(*sorted(tally.sizes.items()), strict=True))
    seen = list(accumulate(times))
    p50, p99 = (float(sizes[bisect_left(seen, share * seen[-1])]) for share in (0.5, 0.99))
    return ValueSize(tally.value_bytes / seen[-1], p50, p99)


def _names(folder: Path, ids: Collection[int]) -> dict[int, str]:
    """The names of column families by id, from what lies beside a trace."""
    names = {0: "default"}
    with contextlib.suppress(OSError):  # a folder that may not be listed
        text = newest_options_text(folder, lambda _: None)
        # RocksDB lists them by id; those that were dropped before are not among them.
        names |= enumerate(parse_options(text).families) if text else ()
        for log in logs_in(folder):
            with contextlib.suppress(InputError):
                found = filter(None, map(_FAMILY.search, lines_of(log)))
                names |= {int(each[2]): each[1] for each in found if int(each[2]) in ids}
    return names
