"""What RocksDB derives when an option is 0, -1 or not set.

A file that RocksDB wrote holds the derived values, not the zeros: of a tree that is measured at
another size they have to be derived again. Formulas of SanitizeOptions (db/column_family.cc,
db/db_impl/db_impl_open.cc); where versions differ, the values of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

Number = int | float | bool
_KIB, _MIB = 2**10, 2**20
_NEVER = 2**31 - 1
_THIRTY_DAYS = 30 * 24 * 60 * 60
_UNSET = 2**64 - 2  # kDefaultTtl, kDefaultPeriodicCompSecs


def derived_values(formula: str, values: Mapping[str, Number]) -> frozenset[int]:
    """The values that RocksDB, of any version, derives for an option.

    Args:
        formula: ``OptionFact.derived_as``.
        values: The numbers of the same file by key, of its database and one family; what is
            missing has RocksDB's default.

    Raises:
        KeyError: There is no such formula.
    """
    return _FORMULAS[formula](values)


def _arena_block_size(values: Mapping[str, Number]) -> frozenset[int]:
    """An eighth of the memtable, in whole pages; since 6.21 a MiB at most."""
    eighth = max(int(values.get("write_buffer_size", 64 * _MIB)), 64 * _KIB) // 8
    return frozenset(-(-size // 4096) * 4096 for size in (eighth, min(eighth, _MIB)))


def _max_compaction_bytes(values: Mapping[str, Number]) -> frozenset[int]:
    return frozenset({25 * int(values.get("target_file_size_base", 64 * _MIB))})


def _memtables(values: Mapping[str, Number]) -> int:
    return max(int(values.get("max_write_buffer_number", 2)), 2)


def _max_write_buffer_size_to_maintain(values: Mapping[str, Number]) -> frozenset[int]:
    return frozenset({_memtables(values) * int(values.get("write_buffer_size", 64 * _MIB))})


def _max_total_wal_size(values: Mapping[str, Number]) -> frozenset[int]:
    """Of one family; never written into a file (``GetMaxTotalWalSize``)."""
    return frozenset({4 * _memtables(values) * int(values.get("write_buffer_size", 64 * _MIB))})


def _soft_pending(values: Mapping[str, Number]) -> frozenset[int]:
    return frozenset({int(values.get("hard_pending_compaction_bytes_limit", 256 * 2**30))})


def _compaction_readahead_size(values: Mapping[str, Number]) -> frozenset[int]:
    return frozenset({2 * _MIB} if values.get("use_direct_reads") else ())


_FORMULAS: Mapping[str, Callable[[Mapping[str, Number]], frozenset[int]]] = MappingProxyType(
    {
        "arena_block_size": _arena_block_size,
        "max_compaction_bytes": _max_compaction_bytes,
        "max_write_buffer_size_to_maintain": _max_write_buffer_size_to_maintain,
        "max_write_buffer_number_to_maintain": lambda values: frozenset({_memtables(values)}),
        "max_total_wal_size": _max_total_wal_size,
        "soft_pending_compaction_bytes_limit": _soft_pending,
        "compaction_readahead_size": _compaction_readahead_size,
        "delayed_write_rate": lambda _: frozenset({2 * _MIB, 16 * _MIB}),
        "never_with_fifo": lambda _: frozenset({_NEVER}),
        "ttl": lambda _: frozenset({0, _THIRTY_DAYS, _UNSET}),
        "periodic_compaction_seconds": lambda _: frozenset({0, _THIRTY_DAYS, _UNSET}),
    }
)
