"""The caches that an OPTIONS file names: how much memory they hold, and what is measured of them.

db_bench makes a block cache from its flag and passes over that of the file (db_bench_tool.cc,
InitializeOptionsGeneral), so size and shards go in as flags. Secondary and compressed caches and a
row cache are counted as memory; of these only the row cache is measured.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sampler.options.option_values import read_number
from sampler.options.options_file import DB, TABLE, OptionsFile, format_struct, parse_struct
from sampler.parameters.parameter import Value

_CACHE, _NONE, _CAPACITY = "block_cache", "no_block_cache", "capacity"
# Of a cache's structure (cache.cc) to the flag of db_bench that says the same.
_FLAGS = {
    "num_shard_bits": "cache_numshardbits",
    "high_pri_pool_ratio": "cache_high_pri_pool_ratio",
}
_OTHERS = ((TABLE, "block_cache_compressed"), (DB, "row_cache"))
_SECONDARY = "secondary_cache"
# On a disk, not in memory.
_ON_DISK = ("CacheLib", "persistent", "navy")


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
    if options.get(TABLE, _NONE) in ("true", "1"):
        return Caches(block=0, others=_row(options), row=_row(options))
    text = options.get(TABLE, _CACHE)
    fields = _fields(text)
    sizes = {key: _size(options.get(section, key)) for section, key in _OTHERS}
    second = fields.get(_SECONDARY)
    told = {n: read_number(fields.get(n, ""), whole=n == "num_shard_bits") for n in _FLAGS}
    return Caches(
        block=_size(text),
        others=sum(size or 0 for size in sizes.values()) + _in_memory(second),
        row=_row(options),
        flags={_FLAGS[name]: number for name, number in told.items() if number is not None},
        notes=tuple(_notes(options, sizes, second)),
    )


def with_block_cache(options: OptionsFile, size: int) -> OptionsFile:
    """The same file with another size of the block cache, where it says how large that is."""
    if _size(options.get(TABLE, _CACHE)) is None:
        return options
    fields = _fields(options.get(TABLE, _CACHE))
    text = format_struct({**fields, _CAPACITY: str(size)}) if fields else str(size)
    return options.with_values(TABLE, {_CACHE: text})


def _row(options: OptionsFile) -> int:
    return _size(options.get(DB, "row_cache")) or 0


def _fields(text: str | None) -> dict[str, str]:
    return parse_struct(text) if text and "=" in text else {}


def _size(text: str | None) -> int | None:
    """Bytes of a cache that is written as a number or as a structure; None where it is neither."""
    if text is None:
        return None
    number = read_number(_fields(text).get(_CAPACITY, text), whole=True)
    return None if number is None else max(0, int(number))


def _in_memory(second: str | None) -> int:
    if not second or any(name.lower() in second.lower() for name in _ON_DISK):
        return 0
    uri = second.partition("://")[2]
    fields = parse_struct(uri or second)
    return int(read_number(fields.get(_CAPACITY, ""), whole=True) or 0)


def _notes(
    options: OptionsFile, sizes: Mapping[str, int | None], second: str | None
) -> Iterator[str]:
    text = options.get(TABLE, _CACHE)
    if text not in (None, "nullptr", "") and _size(text) is None:
        yield (
            f"{_CACHE} = {str(text)[:60]}: has no capacity; measured with RocksDB's default, "
            "unless cache_size is set"
        )
    if second:
        kind = parse_struct(second).get("id") or second.partition("://")[0]
        yield f"secondary_cache of block_cache ({kind[:60]}): not measured"
    if sizes["block_cache_compressed"]:
        yield "block_cache_compressed: counted as memory, not measured"
    for section, key in ((TABLE, "persistent_cache"), (DB, "write_buffer_manager")):
        text = options.get(section, key)
        if text not in (None, "nullptr", ""):
            yield f"{key}: not measured"
