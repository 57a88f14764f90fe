"""Objects of an application that the LOG of its database shows: filters, caches, rate limiters.

An OPTIONS file holds none of them. A LOG's header names them (options/db_options.cc,
BlockBasedTableFactory::GetPrintableOptions), and the event of each new table tells the size of its
filter (db/event_helpers.cc).

A filter of RocksDB has as many bits as ``bits_per_key`` times its entries, rounded up to whole
cache lines, and 5 bytes (filter_policy.cc, FastLocalBloomBitsBuilder). So the size of each table's
filter bounds the bits from both sides, and the simplest number within all bounds is what the
application set. Ribbon filters are sized for the false positive rate of a Bloom filter of that
many bits (Standard128RibbonBitsBuilder).
"""

import math
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sampler.common.text import format_bytes
from sampler.profile.profile import FamilyProfile, Source, Sure
from sampler.rocksdb.application import with_shown_objects, without_shown_objects
from sampler.rocksdb.changes import Edit, patched
from sampler.rocksdb.log_reader import LogEvent, whole_number
from sampler.rocksdb.measured_part import caches_of, normalized
from sampler.rocksdb.option_values import BUILT_IN_FILTERS, FilterPolicy
from sampler.rocksdb.options_file import TABLE, parse_options

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
_MOST_TABLES = 200  # of a family; the newest are kept
_HEADING = re.compile(r"Options for column family \[(.*)\]:")
_FIELD = re.compile(r"^\s+([a-z_]+) ?: (\S{1,80})\s*$")
_POINTER = re.compile(r"0x0*[1-9a-f][0-9a-f]*")
# Options of a LOG's header that name an object of the database.
_OF_DATABASE = re.compile(
    r"Options\.(rate_limiter|sst_file_manager\.rate_bytes_per_sec|row_cache|wal_filter): (\S+)"
)
_POLICY, _CACHE = "filter_policy", "block_cache"
_COMPLETED = re.compile(r"\s*# Rocktune: (?:was (?P<was>.*)|new); LOG: ")


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


@dataclass
class _Family:
    policy: str = ""  # the name of its filter policy in the header
    cache: tuple[str, int] | None = None  # the address of its block cache, and its bytes
    tables: deque[FilteredTable] = field(default_factory=lambda: deque(maxlen=_MOST_TABLES))
    opening: int = 0  # in which its tables were made


@dataclass(frozen=True)
class ShownFilter:
    """A filter policy that RocksDB makes the application's filter from."""

    policy: str  # ``bloomfilter:10:false``
    source: Source


class ApplicationObjects:
    """Takes a LOG's lines, the oldest first, and keeps what they tell of objects."""

    def __init__(self) -> None:
        self._families: dict[str, _Family] = defaultdict(_Family)
        self._database: dict[str, str] = {}
        self._family: str | None = None  # that the header is telling of
        self._block = ""  # the structure that its lines are of
        self._opening = 0
        self._compactions: set[int] = set()

    def filters(self) -> Mapping[str, ShownFilter]:
        """The filters of column families, by name.

        They are those of their newest tables; a family without any is taken to have the filter of
        the others, where those have all the same.
        """
        found: dict[str, ShownFilter] = {}
        for name, family in self._families.items():
            if family.policy == "nullptr":  # its tables are older
                continue
            if policy := filter_policy(family.tables, family.policy):
                text, sure = policy
                of, beside = "num_filter_entries", ""
                if not all(each.told for each in family.tables):
                    of = "num_entries"
                    beside = "; the filter's own number of entries is not in the LOG"
                count = len(family.tables)
                where = f"LOG: 8 * filter_size / {of} of {count} table{'s' if count > 1 else ''}"
                found[name] = ShownFilter(text, Source(where + beside, sure))
        for name, family in self._families.items():
            others = {
                found[n].policy
                for n, of in self._families.items()
                if n in found and of.policy == family.policy
            }
            if name not in found and family.policy in BUILT_IN_FILTERS and len(others) == 1:
                where = "LOG: no table of this column family; as in the others"
                found[name] = ShownFilter(others.pop(), Source(where, "assumed"))
        return found

    def caches(self) -> Mapping[str, int]:
        """The bytes of the block caches of column families, by name."""
        caches = {name: each.cache for name, each in self._families.items() if each.cache}
        return {name: size for name, (_, size) in caches.items() if size > 0}

    def shown(self) -> list[str]:
        """The objects of the database, as ``with_shown_objects`` takes them."""
        said = []
        for name, text in self._database.items():
            if name == "row_cache" and text.isdigit():
                said.append(f"row cache of {format_bytes(int(text))}")
            elif name.startswith("sst_file_manager") and text.isdigit() and int(text):
                said.append(f"SST file manager that deletes {format_bytes(int(text))}/s")
            elif name == "rate_limiter" and _POINTER.fullmatch(text):
                said.append("rate limiter (its rate is not in the LOG; not measured)")
            elif name == "wal_filter" and text not in ("None", "nullptr"):
                said.append(f"WAL filter {text}")
        return said

    def take(self, line: str, event: LogEvent | None) -> None:
        """See ``Taker``."""
        if event is not None:
            self._family = None
            if not event.cut:
                self._event(event)
        elif "Options for column family" in line and (heading := _HEADING.search(line)):
            self._family, self._block = heading[1], ""
            self._families[self._family].policy = ""
        elif self._family is not None and line.startswith(" ") and (found := _FIELD.match(line)):
            self._of_table(self._families[self._family], found[1], found[2])
        elif self._family is not None and line.rstrip().endswith("_options:"):
            self._block = line.strip()
        elif "Options." in line and (told := _OF_DATABASE.search(line)):
            self._database[told[1]] = told[2]
        elif "Recovered from manifest" in line:
            self._opening += 1
            self._compactions = set()

    def _of_table(self, family: _Family, key: str, text: str) -> None:
        if key == _POLICY:
            family.policy = text
        elif key == _CACHE:
            family.cache = (text, -1) if _POINTER.fullmatch(text) else None
        elif key == "capacity" and family.cache and self._block == "block_cache_options:":
            family.cache = (family.cache[0], int(text) if text.isdecimal() else -1)
            self._block = ""

    def _event(self, event: LogEvent) -> None:
        job, properties = event.raw.get("job"), event.properties
        if event.kind == "compaction_started" and isinstance(job, int):
            self._compactions.add(job)
        if event.kind != "table_file_creation":
            return
        name = event.raw.get("cf_name", properties.get("column_family_name"))
        size, entries = (
            whole_number(properties.get("filter_size")),
            whole_number(properties.get("num_entries")),
        )
        if not isinstance(name, str) or not size or not entries:
            return
        filtered, partitions = (
            whole_number(properties.get(key)) for key in ("num_filter_entries", "index_partitions")
        )
        family = self._families[name]
        if family.opening != self._opening:  # an application may have been given another filter
            family.tables.clear()
            family.opening = self._opening
        version = whole_number(properties.get("format_version"))
        family.tables.append(
            FilteredTable(
                filter_bytes=size,
                entries=filtered or entries,
                partitions=partitions or 1,
                key_size=(whole_number(properties.get("raw_key_size")) or 0) / entries,
                format_version=5 if version is None else version,
                compacted=job in self._compactions,
                told=bool(filtered),
            )
        )


def with_objects(
    families: Iterable[FamilyProfile], objects: ApplicationObjects
) -> tuple[FamilyProfile, ...]:
    """Families with their filters and block caches, as far as the LOG shows them."""
    filters, caches, found = objects.filters(), objects.caches(), []
    for family in families:
        sources, shown = dict(family.sources), filters.get(family.name)
        if shown:
            sources[_POLICY] = shown.source
        if family.name in caches:
            sources[_CACHE] = Source("LOG: capacity in its header", "counted")
        policy, cache = shown.policy if shown else None, caches.get(family.name)
        found.append(replace(family, filter_policy=policy, block_cache=cache, sources=sources))
    return tuple(found)


def completed(text: str, objects: ApplicationObjects) -> str:
    """An OPTIONS file with the filters and objects that its database's LOG shows.

    Each filter policy without bits gets those of the tables; each line says why it differs.
    """
    file, filters, changes = parse_options(text), objects.filters(), []
    for family in file.families:
        part = normalized(file.as_default(family))
        named = FilterPolicy.of(part)
        shown = filters.get(family)
        if shown and named.without_bits in BUILT_IN_FILTERS:
            why = f"was {named.text}; {shown.source.where}"
            changes.append(Edit(part.own_title(TABLE), _POLICY, shown.policy, why))
    return with_shown_objects(patched(text, changes), objects.shown())


def with_cache(text: str, family: str, size: int | None) -> str:
    """An OPTIONS file with the bytes of one family's block cache, where it does not say them."""
    file = parse_options(text)
    if size is None or family not in file.families:
        return text
    part = normalized(file.as_default(family))
    if part.table() != TABLE or caches_of(part).block is not None:
        return text
    why = "new; LOG: capacity of the block cache, which the program sets"
    change = Edit(part.own_title(TABLE), _CACHE, str(size), why)
    return patched(text, [change])


def as_it_was(text: str) -> str:
    """The file without what ``completed`` and ``with_cache`` have put into it."""
    kept: list[str] = []
    was: str | None = None
    lines = iter(without_shown_objects(text).splitlines(keepends=True))
    for line in lines:
        if found := _COMPLETED.match(line):
            was = found["was"]
            changed = next(lines, "")
            if was is not None:
                head, equals, rest = changed.partition("=")
                value = rest.strip()
                kept.append(f"{head}{equals}{rest.replace(value, was, 1)}")
        else:
            kept.append(line)
    return "".join(kept)
