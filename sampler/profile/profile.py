"""A profile: what a database does, family by family, each figure with its source; and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PlainValidator, TypeAdapter

from sampler.common.documents import finite_number, read_document
from sampler.common.errors import InputError

# Operations of a family, as a profile tells them.
OPERATIONS = ("put", "delete", "merge", "get", "seek", "multiget")
# How sure a figure is: counted by RocksDB; worked out of counted figures by a formula that holds
# nearly; or taken over from what is usual, because nothing tells it.
Sure = Literal["counted", "estimated", "assumed"]
_FAMILIES = "the families of the object that `rocktune profile --json` prints"
_NONE, _MOVED = 0.01, 0.2  # shares of puts and of keys


def _figure(given: Any) -> Any:
    """A number of a profile, as it is given; whole ones stay whole."""
    number = finite_number(given)
    if number is None or number < 0:
        raise InputError("", f"{given!r:.80} is not a number of at least 0")
    return given


def _switch(given: Any) -> bool:
    if not isinstance(given, bool):
        raise InputError("", f"{given!r:.80} is not true or false")
    return given


def _some(families: tuple[Any, ...]) -> tuple[Any, ...]:
    if not families:
        raise InputError("", f"is empty; send {_FAMILIES}")
    return families


# Fields of the document, as they are read from JSON.
Figure = Annotated[float, PlainValidator(_figure)]
Count = Annotated[int, PlainValidator(_figure)]
Name = Annotated[str, Field(strict=True, max_length=1000)]
# No part of it: neither read nor written.
_UNTOLD, _UNREAD = Field(exclude=True), PlainValidator(lambda _: None)


@dataclass(frozen=True)
class Source:
    """Where a figure comes from."""

    where: Name  # for a reader: ``LOG: 41 tables made by flushes``
    sure: Sure


@dataclass(frozen=True)
class ValueSize:
    """Bytes of a value; None where it is not told."""

    mean: Figure | None = None
    p50: Figure | None = None
    p99: Figure | None = None
    deviation: Figure | None = None  # the standard one


@dataclass(frozen=True)
class Level:
    """A level of a family's tree at the end of the LOG."""

    level: Count
    files: Count
    bytes: Count
    write_amplification: Figure | None = None  # the table's W-Amp, since the opening


@dataclass(frozen=True)
class Skew:
    """How unevenly keys are used: the share of the keys used that takes half of the operations."""

    reads: Figure | None = None  # 0 to 0.5; with many uses of each key 0.5 is even
    writes: Figure | None = None
    reads_per_key: Figure | None = None  # mean, of the keys that are read at all
    writes_per_key: Figure | None = None


@dataclass(frozen=True, kw_only=True)
class FamilyProfile:
    """What one column family holds and does; None where the input does not tell it."""

    name: Annotated[Name, Field(min_length=1)]
    key_size: Figure | None = None  # mean bytes of a user key, without RocksDB's own 8
    value_size: ValueSize = field(default_factory=ValueSize)
    # Compressed over raw bytes of values alone: db_bench's flag of that name.
    compression_ratio: Figure | None = None
    # By codec, the size of a live table over that without one: of all its data, not values alone.
    codecs: Mapping[str, Figure] = field(default_factory=dict)
    codec: Name | None = None  # that tables are written with, in the LOG's word: ``Snappy``
    filter_policy: Name | None = None  # of its newest tables, as RocksDB loads it
    block_cache: Count | None = None  # bytes; other families may use the same cache
    entries: Count | None = None  # live keys
    # Keys that a filter or expiry removed; None or 0 where none is counted.
    removed: Annotated[int | None, _UNTOLD, _UNREAD] = None
    # Counts since the opening by ``OPERATIONS``; what is not counted is left out.
    operations: Mapping[str, Figure] = field(default_factory=dict)
    overwrite_share: Figure | None = None  # of puts, those of keys that were there
    # The same of puts and merges together.
    rewrite_share: Annotated[float | None, _UNTOLD, _UNREAD] = None
    waf: Figure | None = None  # bytes flushed and compacted over bytes that came in
    levels: tuple[Level, ...] = ()
    table_bytes: Figure | None = None  # mean of a table that was made
    table_entries: Figure | None = None
    keys_in: Count | None = None  # entries that compactions read, and those that they dropped
    keys_dropped: Count | None = None
    flushed_bytes: Annotated[int | None, _UNTOLD, _UNREAD] = None  # of tables that flushes made
    hit_rate: Figure | None = None  # gets that found a key, 0 to 1
    scan_length: Figure | None = None  # mean of Next and Prev after a Seek
    skew: Skew = field(default_factory=Skew)
    sources: Mapping[str, Source] = field(default_factory=dict)  # by the name of the field
    # Figures by field that contradict others, so they are reported as unknown.
    doubted: Mapping[str, Figure] = field(default_factory=dict)

    @property
    def puts(self) -> float:
        """Puts and merges since the opening; 0 where they are not counted."""
        return self.operations.get("put", 0.0) + self.operations.get("merge", 0.0)

    @property
    def deletes(self) -> float:
        """Deletes since the opening; 0 where they are not counted."""
        return self.operations.get("delete", 0.0)


@dataclass(frozen=True)
class Unknown:
    """A figure that the input does not hold, and how to get it."""

    what: Name
    how: Annotated[Name, Field(alias="how to learn it")]


@dataclass(frozen=True, kw_only=True)
class DatabaseProfile:
    """What the whole database does."""

    families: Annotated[
        tuple[FamilyProfile, ...], AfterValidator(_some), Field(description=_FAMILIES)
    ]
    # Of RocksDB, ``7.8.3``.
    version: Annotated[Name | None, Field(alias="rocksdb_version")] = None
    options: Annotated[str | None, _UNTOLD, _UNREAD] = None  # the text of its OPTIONS file
    # Counts of all families together by ``OPERATIONS``; what is not counted is left out. Reads of
    # several families are counted only here.
    operations: Mapping[str, Figure] = field(default_factory=dict)
    seconds: Figure | None = None  # since the opening, or that a trace lasts
    batch_size: Figure | None = None  # mean keys of a call
    ingest_rate: Figure | None = None  # mean bytes of keys and values written a second
    ingest_peak: Figure | None = None  # that of the busiest interval
    stall_percent: Figure | None = None
    sync_share: Figure | None = None  # of writes to the WAL, those that were synced
    wal: Annotated[bool, PlainValidator(_switch)] | None = None  # whether writes go through it
    # Of all families together, as statistics have them.
    hit_rate: Figure | None = None
    scan_length: Figure | None = None
    latency: Mapping[str, Figure] = field(default_factory=dict)  # ``get_p99`` and so on, us
    sources: Mapping[str, Source] = field(default_factory=dict)
    unknown: tuple[Unknown, ...] = ()

    def family(self, name: str) -> FamilyProfile:
        """The family of that name.

        Raises:
            InputError: There is none; the message names those that there are.
        """
        found = {each.name: each for each in self.families}
        if name not in found:
            problem = f"there is no {name!r}; choose one of {', '.join(found)}"
            raise InputError("column_family", problem)
        return found[name]

    def busiest(self) -> str:
        """The name of the family that most is written into, by bytes; ``default`` on a tie."""
        return max(self.families, key=lambda each: (_written(each), each.name == "default")).name


@dataclass(frozen=True, kw_only=True)
class SentProfile(DatabaseProfile):
    """A profile beside the load that was chosen for one of its families."""

    column_family: Name | None = None  # that family
    not_expressed: tuple[Name, ...] = ()  # what of it the load does not do


def written_in_order(
    overwritten: float | None, keys_in: float | None, entries: float | None
) -> bool:
    """Whether keys came in order: none was overwritten, and compactions read next to none."""
    if overwritten is None or keys_in is None or entries is None:
        return False
    return overwritten < _NONE and keys_in < _MOVED * entries


def span_words(seconds: float) -> str:
    """A time in the unit that fits."""
    for unit, size in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def _written(family: FamilyProfile) -> float:
    if family.flushed_bytes is not None:
        return float(family.flushed_bytes)
    size = (family.key_size or 0.0) + (family.value_size.mean or 0.0)
    return size * (family.puts + family.deletes)


def profile_document(profile: DatabaseProfile) -> dict[str, Any]:
    """The profile as JSON: families with shares of operations, levels, and what is unknown.

    Shares add up to 1 over those that are known; an operation that is not counted is null.
    """
    families = tuple(map(_with_shares, profile.families))
    return _document(_PROFILE, replace(profile, families=families))


def family_document(family: FamilyProfile) -> dict[str, Any]:
    """A family as ``profile_document`` has it."""
    return _document(_FAMILY, _with_shares(family))


def profile_from_document(document: Mapping[str, Any]) -> SentProfile:
    """A profile from its document, whose operations are shares, as ``known_profile`` reads it.

    Raises:
        InputError: Something is of another type, negative or too long, or no family is named.
        InputErrors: Several things are.
    """
    return read_document(_SENT, _told(document), "profile", toml=False)


def known_profile(document: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of a profile, as ``rocktune profile --json`` prints it, in its whole shape.

    Names that are not known are left out; what is missing is null, or empty. Errors are those of
    ``profile_from_document``.
    """
    return _document(_SENT, profile_from_document(document))


def _with_shares(family: FamilyProfile) -> FamilyProfile:
    counts = family.operations
    total = sum(counts.values())
    return replace(family, operations={n: c / total for n, c in counts.items() if total})


def _document(kind: TypeAdapter[Any], value: object) -> dict[str, Any]:
    """As JSON; of the operations of families those that are not counted are null."""
    found: dict[str, Any] = kind.dump_python(value, mode="json", by_alias=True)
    for family in found.get("families", [found]):
        family["operations"] = {name: family["operations"].get(name) for name in OPERATIONS}
    return found


def _told(given: Any) -> Any:
    """The document without its nulls, so that the fields of it have their defaults."""
    if isinstance(given, Mapping):
        return {name: _told(each) for name, each in given.items() if each is not None}
    return list(map(_told, given)) if isinstance(given, list) else given


_PROFILE, _FAMILY = TypeAdapter(DatabaseProfile), TypeAdapter(FamilyProfile)
_SENT = TypeAdapter(SentProfile)
