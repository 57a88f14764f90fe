"""What a family's figures are made of, and the check that they do not contradict each other.

Figures are made of events, dumps and tickers of the opening that counts, each of another part of a
LOG. Where two cannot both be true, one of them was worked out under an assumption that this
database does not keep. Such figures are reported as unknown, with both sides of the contradiction.
They stay in ``FamilyProfile.doubted``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sampler.common.text import format_bytes
from sampler.profile.family_events import FamilyEvents, OpeningEvents
from sampler.profile.log_events import LogEvents
from sampler.profile.profile import DatabaseProfile, FamilyProfile, Source, Sure, Unknown
from sampler.rocksdb.figure_lines import count_of
from sampler.rocksdb.opening import Opening
from sampler.rocksdb.parts import Part

TRACE = "record a trace with DB::StartTrace and profile it"
STATISTICS = (
    "open the database with its own statistics and stats_dump_period_sec above 0, and profile "
    f"it again after some periods; or {TRACE}"
)
SILENT = (
    "it flushed nothing: call DB::Flush for the column family and profile the folder again; or "
    f"{TRACE}"
)
GIB, MIB = 2**30, 2**20
# Of a write batch (write_batch.cc).
BATCH_HEADER = 12
_LEAST_GIB = 0.1  # that came in; a dump, which tells it to 0.01, says too little of less
_ROUNDING_GIB = 0.0055
READS = {"get": "number.keys.read", "seek": "number.db.seek", "multiget": "number.multiget.get"}
_APART = 0.15  # of a figure, that others may be off from it
_FRAME = 32  # bytes at most that a table adds to an entry: trailer, lengths, index and filter
_LITTLE = 2**20  # bytes of tables that tell too little
_LEAST_RATIO = 0.01  # of db_bench's: a fit that ends there has found no ratio
# A key that differs follows each value, so at least one copy of a codec's format ends with it:
# the bytes of a copy, and those that it stands for at most (format_description.txt of Snappy;
# lz4_Block_format.md; RFC 8878 and 1951, whose copies are coded in bits).
_COPY: Mapping[str, tuple[float, float]] = {
    "Snappy": (2, 64 / 3),
    "LZ4": (3, 255),
    "LZ4HC": (3, 255),
    "ZSTD": (1, 2**17),
    "Zlib": (0.5, 1032),
}


@dataclass(frozen=True)
class LogEvidence:
    """What was read of a database's LOGs, and the opening that operations are counted in."""

    events: LogEvents
    opened: OpeningEvents
    dump: Opening | None  # what dumps tell of that opening
    version: str | None  # of RocksDB, the last in the LOG

    @property
    def tickers(self) -> Mapping[str, int]:
        """The last ones, without ``rocksdb.``; empty without statistics.

        So they are where they also count earlier openings, or other databases, of the process.
        """
        if self.dump is None:
            return {}
        found = {name.removeprefix("rocksdb."): n for name, n in self.dump.tickers.items()}
        came, counted = self.dump.intervals[-1].ingested_gib, found.get("bytes.written")
        if came is None or counted is None:
            return found
        agree = abs(counted / GIB - came) <= _ROUNDING_GIB + 0.001 * came
        return found if agree else {}

    def histogram(self, name: str) -> Mapping[str, float]:
        """A histogram of the last statistics; empty where it counts nothing."""
        told = self.dump.histograms if self.dump and self.tickers else {}
        found = told.get(f"rocksdb.{name}", {})
        return found if found.get("COUNT") and {"P50", "P99"} <= found.keys() else {}

    def count(self, name: str) -> float | None:
        """A count of the last dump, as RocksDB rounds it."""
        return count_of(self.dump.database.get(name)) if self.dump else None

    def part(self, family: str) -> Part | None:
        """The last part of a family in the dumps."""
        parts = self.dump.families if self.dump else ()
        return next((part for part in parts if part.family == family), None)

    def until_dump(self, family: str) -> Counter[str]:
        """Counts of a family in the opening until the last dump; until its end without a dump."""
        if self.dump and self.opened.at_dump is not None:
            found = self.opened.at_dump.get(family)
            return found.counts if found else Counter()
        return self.opened.families.get(family, FamilyEvents()).counts

    def flushed(self, family: str) -> float:
        """Entries that a family had flushed by the last dump."""
        return float(self.until_dump(family)["written"])

    def since_flush(self, family: str) -> tuple[float, float]:
        """Entries in memory at the last dump, and by how much that may be wrong; 0 if untold.

        They came at the rate of the last flush: of a family's entries to sequence numbers, of
        which each write to the database takes one; where an event has none (up to 8.0), to time.
        """
        opened = self.opened
        found = opened.at_dump.get(family) if self.dump and opened.at_dump else None
        if found is None:
            return 0.0, 0.0
        if self.sequence is not None and len(found.flushed_to) > 1:
            *before, (start, first), (end, last) = found.flushed_to
            rate = (last - first) / max(1, end - start)
            earlier = [(first - each) / max(1, start - at) for at, each in before]
            since = self.sequence - end
            return rate * since, abs(rate - next(iter(earlier), 0.0)) * since
        if found.flushed_at is None or opened.dumped_at is None:
            return 0.0, 0.0
        entries = found.rate * max(0.0, opened.dumped_at - found.flushed_at)
        return entries, entries

    @property
    def sequence(self) -> int | None:
        """Sequence number of the last write before the last dump; None where it is not told."""
        before, keys = self.opened.sequence, self.number_of_keys
        if before is None or keys is None:
            return None
        dumped = (self.opened.at_dump or {}).values()
        flushed = max((each.flushed_to[-1][0] for each in dumped if each.flushed_to), default=0)
        return before + keys if before + keys >= flushed else None

    @property
    def number_of_keys(self) -> int | None:
        """Keys written to the database, exactly; None without statistics."""
        return self.tickers.get("number.keys.written")

    def keys_written(self) -> float | None:
        """Keys written to the database until the last dump; without statistics it is rounded."""
        if self.number_of_keys is not None:
            return float(self.number_of_keys)
        flushed = {
            name: each.counts["written"] for name, each in (self.opened.at_dump or {}).items()
        }
        rounded = self.count("total_keys_count")
        return None if rounded is None else max(rounded, float(sum(flushed.values())))

    def used(self, family: str) -> bool:
        """Whether a family holds or was given anything."""
        part = self.part(family)
        return any(family in each.families for each in self.events.openings) or bool(
            part
            and (part.figures.get("total_flush_gib") or any(row["files"] for row in part.levels))
        )

    def reads(self) -> dict[str, float]:
        """Gets, seeks and multigets of all families, where statistics are on."""
        told = self.tickers
        return {name: float(told[ticker]) for name, ticker in READS.items() if ticker in told}

    def ingested(self) -> float | None:
        """Bytes of write batches, until the last dump."""
        if "bytes.written" in self.tickers:
            return float(self.tickers["bytes.written"])
        last = self.dump.intervals[-1] if self.dump else None
        if last is None or last.ingested_gib is None:
            return None
        if last.ingested_gib >= _LEAST_GIB or last.cumulative_writes is None:
            return last.ingested_gib * GIB
        return last.cumulative_writes * MIB * last.at


@dataclass(frozen=True)
class Evidence:
    """What a family's figures are made of."""

    name: str
    alone: bool  # whether the database has no other family
    log: LogEvidence
    codec: str  # by the options, where tables do not tell it; "" if neither does
    blob_codec: str  # the same of blob files
    filtered: bool | None  # whether it has a compaction filter; None if it is not told
    # Of one that flushed nothing beside others: keys that it may hold in memory, at most.
    silent: float | None
    written: float | None  # keys that were written to the family, until the last dump
    came_in: float | None  # their bytes in write batches
    pair: float | None = None  # mean bytes of a key with its value, of a silent one

    @property
    def own(self) -> FamilyEvents:
        """The events of the family in the opening that operations are counted in."""
        return self.log.opened.families.get(self.name, FamilyEvents())

    @property
    def later(self) -> float:
        """Keys that were flushed by the end of the LOG over those of the last dump, at least 1."""
        return max(1.0, self.own.counts["written"] / self.written) if self.written else 1.0


@dataclass(frozen=True)
class Figures:
    """Fields of a profile and their source; and what is not known, with how to learn it."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""
    sure: Sure = "counted"
    unknown: Mapping[str, str] = field(default_factory=dict)
    doubted: Mapping[str, float] = field(default_factory=dict)  # what the unknown would be told as


def gathered(found: Collection[Figures]) -> tuple[dict[str, Any], dict[str, Source]]:
    """All fields together, and where each comes from."""
    fields = {name: value for each in found for name, value in each.fields.items()}
    return fields, {name: Source(each.where, each.sure) for each in found for name in each.fields}


@dataclass(frozen=True)
class Contradiction:
    """Fields of a family that cannot be what they are told to be, and why."""

    fields: tuple[str, ...]
    why: str


def without_contradictions(profile: DatabaseProfile) -> DatabaseProfile:
    """The profile, with figures that contradict others told as unknown."""
    families, unknown = [], list(profile.unknown)
    for family in profile.families:
        for check in _CHECKS:
            found = check(family)
            if found is not None:
                family, told = _doubted(family, found)
                unknown += told
        families.append(family)
    return replace(profile, families=tuple(families), unknown=tuple(unknown))


def _doubted(family: FamilyProfile, found: Contradiction) -> tuple[FamilyProfile, list[Unknown]]:
    values = {name: getattr(family, name) for name in found.fields}
    told = {name: value for name, value in values.items() if value is not None}
    sources = {name: each for name, each in family.sources.items() if name not in told}
    empty: dict[str, Any] = {name: {} if name == "operations" else None for name in told}
    numbers = {name: value for name, value in told.items() if name != "operations"}
    words = f"{' and '.join(told)} of column family {family.name!r}: {found.why}"
    doubted = replace(family, **empty, sources=sources, doubted={**family.doubted, **numbers})
    return doubted, [Unknown(words, TRACE)] if told else []


def _put_and_left(family: FamilyProfile) -> Contradiction | None:
    """New keys that were put, less all that may have been deleted, are live."""
    puts, deletes = family.puts, family.deletes
    share = family.rewrite_share if family.rewrite_share is not None else family.overwrite_share
    if share is None or family.entries is None or not puts:
        return None
    left = puts * (1 - share) - deletes - (family.removed or 0)
    if family.entries >= left * (1 - _APART):
        return None
    why = (
        f"{puts:,.0f} puts of which {100 * share:.3g}% overwrite, and {deletes:,.0f} deletes, "
        f"leave at least {left:,.0f} keys, but {family.entries:,} would be live"
    )
    return Contradiction(("entries", "overwrite_share", "rewrite_share"), why)


def _none_left(family: FamilyProfile) -> Contradiction | None:
    """A family into which keys were put is empty only where some were deleted."""
    puts, deletes = family.puts, family.deletes
    if family.entries != 0 or deletes or family.removed or not puts:
        return None
    why = f"there would be none, but {puts:,.0f} keys were put and none was deleted"
    return Contradiction(("entries",), why)


def _live_and_held(family: FamilyProfile) -> Contradiction | None:
    """A tree holds each live key at least once."""
    held = sum(level.bytes for level in family.levels)
    if not family.entries or not family.table_bytes or not family.table_entries:
        return None
    if held < _LITTLE:  # what is in memory may be most
        return None
    most = held / (family.table_bytes / family.table_entries)
    if family.entries <= most * (1 + 2 * _APART):
        return None
    why = (
        f"tables of {format_bytes(held)} hold about {most:,.0f} entries, but {family.entries:,} "
        "keys would be live"
    )
    return Contradiction(("entries", "overwrite_share", "rewrite_share"), why)


def _flushed_and_put(family: FamilyProfile) -> Contradiction | None:
    """Flushes write no more than what was put, with what a table adds."""
    puts, deletes = family.puts, family.deletes
    flushed, size, key = family.flushed_bytes, family.value_size.mean, family.key_size
    if not puts + deletes or not flushed or size is None or key is None:
        return None
    most = puts * (key + size + _FRAME) + deletes * (key + _FRAME)
    if flushed <= most * (1 + _APART) + _LITTLE:
        return None
    why = (
        f"flushes wrote {format_bytes(flushed)}, but {puts:,.0f} puts of {key + size:.4g} B and "
        f"{deletes:,.0f} deletes make at most {format_bytes(most)}"
    )
    return Contradiction(("operations", "waf"), why)


def _amplified(family: FamilyProfile) -> Contradiction | None:
    """The write amplification counts at least what was flushed."""
    puts, deletes = family.puts, family.deletes
    flushed, size, key = family.flushed_bytes, family.value_size.mean, family.key_size
    if family.waf is None or not puts or not flushed or size is None or key is None:
        return None
    came_in = puts * (key + size) + deletes * key
    least = flushed / (came_in + _FRAME * (puts + deletes))
    if flushed < _LITTLE or family.waf >= least * (1 - _APART):
        return None
    why = (
        f"flushes alone wrote {least:.3g} times what was put, but flushes and compactions would "
        f"have written {family.waf:.3g} times as much"
    )
    return Contradiction(("waf",), why)


def _packed(family: FamilyProfile) -> Contradiction | None:
    """No codec makes less of a value than the shortest copy that ends with it."""
    ratio, size = family.compression_ratio, family.value_size.mean
    copy, most = _COPY.get(family.codec or "", (0.0, 1e9))
    if ratio is None or not size:
        return None
    least = max(copy / size, 1 / most, _LEAST_RATIO)
    if ratio > least or (ratio == 1.0 and size < copy):
        return None
    why = (
        f"values of {size:.4g} B would compress to {ratio:.3g} of their size, but "
        f"{family.codec or 'a codec'} cannot make less than {least:.2g} of them; most of what was "
        "saved is of keys"
    )
    return Contradiction(("compression_ratio",), why)


_CHECKS: tuple[Callable[[FamilyProfile], Contradiction | None], ...] = (
    _flushed_and_put, _amplified, _put_and_left, _none_left, _live_and_held, _packed,
)  # fmt: skip
