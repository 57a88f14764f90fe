"""Figures of a profile that contradict each other: one check of all of them.

Each figure comes from another part of a LOG, so where two cannot both be true, one of them was
worked out under an assumption that this database does not keep. Such figures are told as unknown,
with both sides of the contradiction. They stay in ``FamilyProfile.doubted``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sampler.common.byte_size import format_bytes
from sampler.profile.profile import DatabaseProfile, FamilyProfile, Unknown

_TRACE = "record a trace with DB::StartTrace and profile it"
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
    return doubted, [Unknown(words, _TRACE)] if told else []


def _put_and_left(family: FamilyProfile) -> Contradiction | None:
    """New keys that were put, less all that may have been deleted, are live."""
    puts, deletes = _written(family)
    share = family.rewrite_share if family.rewrite_share is not None else family.overwrite_share
    if share is None or family.entries is None or not puts:
        return None
    left = puts * (1 - share) - deletes - family.removed
    if family.entries >= left * (1 - _APART):
        return None
    why = (
        f"{puts:,.0f} puts of which {100 * share:.3g}% overwrite, and {deletes:,.0f} deletes, "
        f"leave at least {left:,.0f} keys, but {family.entries:,} would be live"
    )
    return Contradiction(("entries", "overwrite_share", "rewrite_share"), why)


def _none_left(family: FamilyProfile) -> Contradiction | None:
    """A family into which keys were put is empty only where some were deleted."""
    puts, deletes = _written(family)
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
    puts, deletes = _written(family)
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
    puts, deletes = _written(family)
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


def _written(family: FamilyProfile) -> tuple[float, float]:
    did = family.operations
    return did.get("put", 0.0) + did.get("merge", 0.0), did.get("delete", 0.0)


_CHECKS: tuple[Callable[[FamilyProfile], Contradiction | None], ...] = (
    _flushed_and_put, _amplified, _put_and_left, _none_left, _live_and_held, _packed,
)  # fmt: skip
