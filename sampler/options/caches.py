"""The caches that an OPTIONS file names: how much memory they hold, and what is measured of them.

db_bench makes a block cache from its flag and passes over that of the file (db_bench_tool.cc,
InitializeOptionsGeneral), so size and shards go in as flags. Secondary and compressed caches and a
row cache are counted as memory; of these only the row cache is measured.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sampler.options.option_values import real_number, whole_number
from sampler.options.options_file import DB, TABLE, OptionsFile, format_struct, parse_struct
from sampler.parameters.parameter import Value

_CACHE, _NONE, _CAPACITY = "block_cache", "no_block_cache", "capacity"
_ON_DISK = ("cachelib", "persistent", "navy")  # not in memory


@dataclass(frozen=True, kw_only=True)
class Caches:
    """What a file says of caches; bytes at full scale."""

    block: int | None = None  # of the block cache; 0: there is none; None: the file does not say
    others: int = 0  # of the row cache, the compressed and the secondary ones in memory, together
    row: int = 0  # of the row cache among them
    # For db_bench, by name; nothing in them is a size.
    flags: Mapping[str, Value] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # a line for each cache that is not measured


def caches_of(options: OptionsFile) -> Caches:
    """Reads the caches of a file in its normal form."""
    row = _size(options.get(DB, "row_cache")) or 0
    if options.get(TABLE, _NONE) in ("true", "1"):
        return Caches(block=0, others=row, row=row)
    text = options.get(TABLE, _CACHE)
    fields = _fields(text)
    compressed = _size(options.get(TABLE, "block_cache_compressed")) or 0
    second = fields.get("secondary_cache")
    # The flags of db_bench that say what a cache's structure does (cache.cc).
    flags = {
        "cache_numshardbits": whole_number(fields.get("num_shard_bits")),
        "cache_high_pri_pool_ratio": real_number(fields.get("high_pri_pool_ratio")),
    }
    return Caches(
        block=_size(text),
        others=row + compressed + _in_memory(second),
        row=row,
        flags={name: number for name, number in flags.items() if number is not None},
        notes=tuple(_notes(options, compressed, second)),
    )


def with_block_cache(options: OptionsFile, size: int) -> OptionsFile:
    """The same file with another size of the block cache, where it says how large that is."""
    if _size(options.get(TABLE, _CACHE)) is None:
        return options
    fields = _fields(options.get(TABLE, _CACHE))
    text = format_struct({**fields, _CAPACITY: str(size)}) if fields else str(size)
    return options.with_values(TABLE, {_CACHE: text})


def _fields(text: str | None) -> dict[str, str]:
    return parse_struct(text) if text and "=" in text else {}


def _size(text: str | None) -> int | None:
    """Bytes of a cache that is written as a number or as a structure; None where it is neither."""
    number = whole_number(_fields(text).get(_CAPACITY, text))
    return None if number is None else max(0, number)


def _in_memory(second: str | None) -> int:
    if not second or any(name in second.lower() for name in _ON_DISK):
        return 0
    uri = second.partition("://")[2]
    return whole_number(parse_struct(uri or second).get(_CAPACITY)) or 0


def _notes(options: OptionsFile, compressed: int, second: str | None) -> Iterator[str]:
    text = options.get(TABLE, _CACHE)
    if text not in (None, "nullptr", "") and _size(text) is None:
        yield (
            f"{_CACHE} = {str(text)[:60]}: has no capacity; measured with RocksDB's default, "
            "unless cache_size is set"
        )
    if second:
        kind = parse_struct(second).get("id") or second.partition("://")[0]
        yield f"secondary_cache of block_cache ({kind[:60]}): not measured"
    if compressed:
        yield "block_cache_compressed: counted as memory, not measured"
    for section, key in ((TABLE, "persistent_cache"), (DB, "write_buffer_manager")):
        text = options.get(section, key)
        if text not in (None, "nullptr", ""):
            yield f"{key}: not measured"
