"""The bits per key of an application's filters, worked out from the sizes of its tables' filters.

A filter of RocksDB has as many bits as ``bits_per_key`` times its entries, rounded up to whole
cache lines, and 5 bytes (filter_policy.cc, FastLocalBloomBitsBuilder). So the size of each table's
filter bounds the bits from both sides, and the simplest number within all bounds is what the
application asked for. Ribbon filters are sized for the false positive rate of a Bloom filter of
that many bits (Standard128RibbonBitsBuilder).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sampler.profile.profile import Sure

_TRAILER = 5  # bytes behind a filter: its kind and parameters
_LINE = 512  # bits of a cache line
_OLD_FORMAT = 5  # format versions below have an odd number of lines (LegacyBloomBitsBuilder)
_PARTITION_ENTRY = 32  # bytes of a partition's entry in the index above: a handle and a few more
_STEPS = (1.0, 0.5, 0.1, 0.01, 0.001)
_MOST_BITS = 100.0  # RocksDB takes no more
# Of a Ribbon filter's bits over those that information theory asks for: 1.03 to 1.06 in filters of
# 22,573 entries that stand for 4 to 20 bits (7.8.3).
_RIBBON_OVERHEAD = 1.042
_SAME = 1.15  # tables of flushes have Bloom filters where theirs are larger by more than this
_FEWEST = 1000  # entries; of smaller filters much is rounding
# The most bits, in thousandths, that each number of probes from 1 on is for (bloom_impl.h).
_PROBES = (2080, 3580, 5100, 6640, 8300, 10070, 11720, 14001, 16050, 18300, 22001, 25501)


@dataclass(frozen=True)
class FilteredTable:
    """A table that has a filter, by its properties."""

    filter_bytes: int
    entries: int  # keys and prefixes in the filter; the table's where those are not told
    partitions: int = 1
    key_size: float = 0.0  # mean bytes of a key, in the index of the partitions
    format_version: int = _OLD_FORMAT
    compacted: bool = False  # made by a compaction
    told: bool = True  # whether ``entries`` are the filter's own

    @property
    def most(self) -> float:
        """The most bits per key that it can have been made with."""
        return 8 * (self.filter_bytes - _TRAILER) / self.entries

    @property
    def least(self) -> float:
        """The fewest."""
        lines = 1 if self.format_version >= _OLD_FORMAT else 2
        spare = lines * _LINE - 1
        if self.partitions > 1:
            beside = _TRAILER + self.key_size + _PARTITION_ENTRY
            spare = round(self.partitions * (spare + 8 * beside))
        return self.most - spare / self.entries


def filter_policy(tables: Sequence[FilteredTable], name: str) -> tuple[str, Sure] | None:
    """A filter policy that RocksDB makes the application's filter from, and how sure that is.

    ``name`` is that of the policy in the LOG or the OPTIONS file, which tells Ribbon from Bloom;
    None where no table has a filter.
    """
    large = [each for each in tables if each.entries >= _FEWEST] or list(tables)
    if not large:
        return None
    told = all(each.told for each in large)
    if "ribbon" in name.lower():
        flushed = [each for each in large if not each.compacted]
        compacted = [each for each in large if each.compacted]
        if flushed and compacted:
            mean = [sum(each.most for each in some) / len(some) for some in (flushed, compacted)]
            if mean[0] > _SAME * mean[1]:
                bits, sure = _bloom_bits(flushed)
                return f"ribbonfilter:{bits:g}:0", sure if told else "assumed"
        bits = _ribbon_bits(max(compacted or flushed, key=lambda each: each.entries))
        return f"ribbonfilter:{bits:g}:-1", "estimated" if told else "assumed"
    bits, sure = _bloom_bits(large)
    return f"bloomfilter:{bits:g}:false", sure if told else "assumed"


def _bloom_bits(tables: Sequence[FilteredTable]) -> tuple[float, Sure]:
    low, high = max(each.least for each in tables), min(each.most for each in tables)
    if low > high:  # sized otherwise, as with optimize_filters_for_memory
        entries = sum(each.entries for each in tables)
        middle = sum(each.entries * (each.least + each.most) / 2 for each in tables) / entries
        return min(_MOST_BITS, max(0.5, round(2 * middle) / 2)), "estimated"
    for step in _STEPS:
        found = math.floor(high / step + 1e-9) * step
        if found >= low - 1e-9 and found > 0:
            several = high - step >= low
            return min(_MOST_BITS, round(found, 3)), "estimated" if several else "counted"
    return min(_MOST_BITS, round(high, 3)), "estimated"


def _ribbon_bits(table: FilteredTable) -> float:
    size = (table.most + table.least) / 2 if table.partitions > 1 else table.most
    halves = [half / 2 for half in range(2, round(2 * _MOST_BITS) + 1)]
    return min(halves, key=lambda bits: abs(_ribbon_size(bits) - size))


def _ribbon_size(bits: float) -> float:
    """Bits per key of a Ribbon filter that replaces a Bloom filter of so many."""
    return -math.log2(_false_positives(bits)) * _RIBBON_OVERHEAD


def _false_positives(bits: float) -> float:
    """The rate of a Bloom filter within cache lines (bloom_impl.h, CacheLocalFpRate)."""
    probes = next((n for n, most in enumerate(_PROBES, 1) if 1000 * bits <= most), 0)
    probes = probes or (24 if bits > 50 else int((1000 * bits - 1) // 2000) - 1)
    keys = _LINE / bits
    crowded, roomy = (
        (1 - math.exp(-probes / (_LINE / (keys + way * math.sqrt(keys))))) ** probes
        for way in (1, -1)
    )
    return (crowded + roomy) / 2
