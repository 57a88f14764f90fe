"""A profile: what a database does, family by family, each figure with its source; and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from sampler.common.documents import finite_number
from sampler.common.errors import InputError

# Operations of a family, as a profile tells them.
OPERATIONS = ("put", "delete", "merge", "get", "seek", "multiget")
# How sure a figure is: counted by RocksDB; worked out of counted figures by a formula that holds
# nearly; or taken over from what is usual, because nothing tells it.
Sure = Literal["counted", "estimated", "assumed"]
_MOST_TEXT = 1000
_NONE, _MOVED = 0.01, 0.2  # shares of puts and of keys
_ANY = "*"  # any name
# The shape of ``profile_document``: a type, a list of a shape, or an object by its names.
_SOURCES = {_ANY: {"where": str, "sure": str}}
_PLAIN = (
    "seconds", "batch_size", "ingest_rate", "ingest_peak", "stall_percent", "sync_share",
    "hit_rate", "scan_length",
)  # fmt: skip
_FAMILY: Mapping[str, Any] = {
    "name": str,
    **dict.fromkeys(("key_size", "compression_ratio"), float),
    "codec": str,
    "filter_policy": str,
    "block_cache": float,
    **dict.fromkeys(("entries", "overwrite_share", "waf", "hit_rate", "scan_length"), float),
    **dict.fromkeys(("table_bytes", "table_entries", "keys_in", "keys_dropped"), float),
    "value_size": dict.fromkeys(("mean", "p50", "p99", "deviation"), float),
    "operations": dict.fromkeys(OPERATIONS, float),
    "levels": [dict.fromkeys(("level", "files", "bytes", "write_amplification"), float)],
    "skew": dict.fromkeys(("reads", "writes", "reads_per_key", "writes_per_key"), float),
    "codecs": {_ANY: float},
    "doubted": {_ANY: float},
    "sources": _SOURCES,
}
_PROFILE: Mapping[str, Any] = {
    "families": [_FAMILY],
    "column_family": str,
    "rocksdb_version": str,
    **dict.fromkeys(_PLAIN, float),
    "wal": bool,
    "operations": {_ANY: float},
    "latency": {_ANY: float},
    "sources": _SOURCES,
    "not_expressed": [str],
    "unknown": [{"what": str, "how to learn it": str}],
}


@dataclass(frozen=True)
class Source:
    """Where a figure comes from."""

    where: str  # for a reader: ``LOG: 41 tables made by flushes``
    sure: Sure


@dataclass(frozen=True)
class ValueSize:
    """Bytes of a value; None where it is not told."""

    mean: float | None = None
    p50: float | None = None
    p99: float | None = None
    deviation: float | None = None  # the standard one


@dataclass(frozen=True)
class Level:
    """A level of a family's tree at the end of the LOG."""

    level: int
    files: int
    bytes: int
    write_amplification: float | None = None  # the table's W-Amp, since the opening


@dataclass(frozen=True)
class Skew:
    """How unevenly keys are used: the share of the keys used that takes half of the operations."""

    reads: float | None = None  # 0 to 0.5; with many uses of each key 0.5 is even
    writes: float | None = None
    reads_per_key: float | None = None  # mean, of the keys that are read at all
    writes_per_key: float | None = None


@dataclass(frozen=True, kw_only=True)
class FamilyProfile:
    """What one column family holds and does; None where the input does not tell it."""

    name: str
    key_size: float | None = None  # mean bytes of a user key, without RocksDB's own 8
    value_size: ValueSize = field(default_factory=ValueSize)
    # Compressed over raw bytes of values alone: db_bench's flag of that name.
    compression_ratio: float | None = None
    # By codec, the size of a live table over that without one: of all its data, not values alone.
    codecs: Mapping[str, float] = field(default_factory=dict)
    codec: str | None = None  # that tables are written with, in the LOG's word: ``Snappy``
    filter_policy: str | None = None  # of its newest tables, as RocksDB loads it
    block_cache: int | None = None  # bytes; other families may use the same cache
    entries: int | None = None  # live keys
    removed: int = 0  # keys that a filter or expiry removed, as far as that is counted
    # Counts since the opening by ``OPERATIONS``; what is not counted is left out.
    operations: Mapping[str, float] = field(default_factory=dict)
    overwrite_share: float | None = None  # of puts, those of keys that were there
    rewrite_share: float | None = None  # the same of puts and merges together
    waf: float | None = None  # bytes flushed and compacted over bytes that came in
    levels: tuple[Level, ...] = ()
    table_bytes: float | None = None  # mean of a table that was made
    table_entries: float | None = None
    keys_in: int | None = None  # entries that compactions read, and those that they dropped
    keys_dropped: int | None = None
    flushed_bytes: int | None = None  # of tables that flushes made
    hit_rate: float | None = None  # gets that found a key, 0 to 1
    scan_length: float | None = None  # mean of Next and Prev after a Seek
    skew: Skew = field(default_factory=Skew)
    sources: Mapping[str, Source] = field(default_factory=dict)  # by the name of the field
    # Figures by field that contradict others, so they are reported as unknown.
    doubted: Mapping[str, float] = field(default_factory=dict)

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

    what: str
    how: str


@dataclass(frozen=True, kw_only=True)
class DatabaseProfile:
    """What the whole database does."""

    families: tuple[FamilyProfile, ...]
    version: str | None = None  # of RocksDB, ``7.8.3``
    options: str | None = None  # the text of its OPTIONS file
    # Counts of all families together by ``OPERATIONS``; what is not counted is left out. Reads of
    # several families are counted only here.
    operations: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None  # since the opening, or that a trace lasts
    batch_size: float | None = None  # mean keys of a call
    ingest_rate: float | None = None  # mean bytes of keys and values written a second
    ingest_peak: float | None = None  # that of the busiest interval
    stall_percent: float | None = None
    sync_share: float | None = None  # of writes to the WAL, those that were synced
    wal: bool | None = None  # whether writes go through it
    # Of all families together, as statistics have them.
    hit_rate: float | None = None
    scan_length: float | None = None
    latency: Mapping[str, float] = field(default_factory=dict)  # ``get_p99`` and so on, us
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
    return {
        "families": [family_document(each) for each in profile.families],
        "rocksdb_version": profile.version,
        **{name: getattr(profile, name) for name in (*_PLAIN, "wal")},
        "operations": dict(profile.operations),
        "latency": dict(profile.latency),
        "sources": {name: asdict(each) for name, each in profile.sources.items()},
        "unknown": [{"what": each.what, "how to learn it": each.how} for each in profile.unknown],
    }


def profile_from_document(document: Mapping[str, Any]) -> DatabaseProfile:
    """A profile from what ``known_profile`` leaves of its document, for a load to be laid beside.

    Operations are shares there, and sources are left out.
    """
    return DatabaseProfile(
        families=tuple(_family(each) for each in document["families"]),
        **{name: document[name] for name in _PLAIN},
    )


def _family(document: Mapping[str, Any]) -> FamilyProfile:
    made = {"sources": {}, "codecs": document["codecs"], "doubted": document["doubted"]}
    made |= {"value_size": ValueSize(**document["value_size"]), "skew": Skew(**document["skew"])}
    made["levels"] = tuple(Level(**each) for each in document["levels"])
    shares = document["operations"].items()
    made["operations"] = {name: share for name, share in shares if share is not None}
    return FamilyProfile(**{**document, **made})


def family_document(family: FamilyProfile) -> dict[str, Any]:
    """A family as ``profile_document`` has it."""
    total = sum(family.operations.values())
    shares = {
        name: family.operations[name] / total if total and name in family.operations else None
        for name in OPERATIONS
    }
    whole = {**asdict(family), "operations": shares}
    return {**{name: whole[name] for name in _FAMILY}, "levels": list(whole["levels"])}


def known_profile(document: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of a profile, as ``rocktune profile --json`` prints it, in its whole shape.

    Names that are not known are left out; what is missing is null, or empty.

    Raises:
        InputError: Something is of another type, negative or too long, or no family is named.
    """
    found: dict[str, Any] = _shaped(document, _PROFILE, "profile")
    if not found["families"] or not all(each["name"] for each in found["families"]):
        problem = "name each family; send the object that `rocktune profile --json` prints"
        raise InputError("profile.families", problem)
    return found


def _shaped(given: Any, shape: Any, where: str) -> Any:
    if isinstance(shape, list):
        rows = [] if given is None else given
        if not isinstance(rows, list):
            raise InputError(where, "write a list")
        return [_shaped(each, shape[0], f"{where}[{n}]") for n, each in enumerate(rows, 1)]
    if isinstance(shape, dict):
        held = {} if given is None else given
        if not isinstance(held, dict):
            raise InputError(where, "write an object")
        inside = dict.fromkeys(held, shape[_ANY]) if _ANY in shape else shape
        return {name: _shaped(held.get(name), inside[name], f"{where}.{name}") for name in inside}
    if given is None:
        return None
    if shape is float:
        number = finite_number(given)
        if number is None or number < 0:
            raise InputError(where, f"{given!r:.80} is not a number of at least 0")
        return given
    if not isinstance(given, shape) or len(str(given)) > _MOST_TEXT:
        said = f"a string of at most {_MOST_TEXT} characters" if shape is str else "true or false"
        raise InputError(where, f"{given!r:.80} is not {said}")
    return given
