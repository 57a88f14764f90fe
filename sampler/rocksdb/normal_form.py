"""One form for every way in which the same options can be written, and the caches in it.

RocksDB reads the options of a table from two places, structures as fields or as lists, and lets
keys reach into structures with a dot. What is moved by a search has one place, so a user's file is
brought into the form that RocksDB itself writes before anything is read of it. Tried with
``db_bench`` 7.8.3; the rules are those of options_parser.cc and cf_options.cc (7.9.2).

db_bench makes a block cache from its flag and passes over that of the file (db_bench_tool.cc,
InitializeOptionsGeneral), so size and shards go in as flags. Secondary and compressed caches and a
row cache are counted as memory; of these only the row cache is measured.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from sampler.common.errors import InputError
from sampler.rocksdb.forms import not_options
from sampler.rocksdb.option_values import read_values, real_number, whole_number
from sampler.rocksdb.options_file import (
    CF,
    DB,
    TABLE,
    OptionsFile,
    format_struct,
    list_members,
    parse_options,
    parse_struct,
)
from sampler.rocksdb.parameters import Value, catalogue

_CACHE, _NONE, _CAPACITY = "block_cache", "no_block_cache", "capacity"
_ON_DISK = ("cachelib", "persistent", "navy")  # not in memory
# In [CFOptions]: structures of a table's options, and the section that they stand for.
_TABLES = {
    "block_based_table_factory": TABLE,
    "plain_table_factory": 'TableOptions/PlainTable "default"',
}
_FACTORY = "table_factory"
# The order of fields where a list is given (ParseCompressionOptions in cf_options.cc).
_COMPRESSION = (
    "window_bits", "level", "strategy", "max_dict_bytes", "zstd_max_train_bytes",
    "parallel_threads", "enabled", "max_dict_buffer_bytes", "use_zstd_dict_trainer",
)  # fmt: skip
_LISTED = ("compression_opts", "bottommost_compression_opts")
# Facts of the file that are no parameters; see ``sampler.space.space.memory_bytes``.
MEMTABLE_LIMIT, OTHER_CACHES = "db_write_buffer_size", "other_caches"


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


def read_user_options(
    text: str, *, name: str = "OPTIONS file", family: str | None = None
) -> OptionsFile:
    """One column family of a user's OPTIONS file as its default one, in its normal form.

    Errors are those of ``parse_options`` and of ``OptionsFile.as_default``; a text of another form
    that is known is named.
    """
    try:
        found = parse_options(text, name=name)
    except InputError:
        if told := not_options(text):
            raise InputError(name, told) from None
        raise
    return normalized(found.as_default(family))


def normalized(options: OptionsFile) -> OptionsFile:
    """The same options in the form that RocksDB writes.

    Fields of structures keep the text that they have. What RocksDB passes over is left out: with
    a table section it reads no table structure among the options of the column family.
    """
    sections = {title: dict(keys) for title, keys in options.sections.items()}
    family = sections.setdefault(CF, {})
    had_section = options.table() in sections
    if "memtable" in family and "memtable_factory" not in family:  # its old name
        family["memtable_factory"] = family.pop("memtable")
    _gather_dotted(family)
    for title, keys in sections.items():
        if title == DB or title == options.table():
            _gather_dotted(keys)
    for keys in sections.values():
        for key, value in keys.items():
            if members := list_members(value):  # as RocksDB reads it
                keys[key] = ":".join(members)
    for key in _LISTED:
        if key in family:
            family[key] = _compression_struct(family[key])
    if family.get("compression_per_level") == "":
        del family["compression_per_level"]
    if had_section:
        for key in _TABLES:
            family.pop(key, None)
        if family.get(_FACTORY, "").startswith("{"):
            del family[_FACTORY]
    else:
        sections |= _table_sections(family)
    return replace(options, sections=sections)


def _gather_dotted(keys: dict[str, str]) -> None:
    found: dict[str, dict[str, str]] = {}
    for key in [key for key in keys if "." in key]:
        struct, _, member = key.partition(".")
        fields = found.setdefault(struct, parse_struct(keys.get(struct, "{}")))
        fields[member] = keys.pop(key)
    keys |= {struct: format_struct(fields) for struct, fields in found.items()}


def _table_sections(family: dict[str, str]) -> dict[str, dict[str, str]]:
    """Takes the structures of tables out of a family's options, each as a section of its own."""
    found: dict[str, dict[str, str]] = {}
    factory = family.get(_FACTORY, "")
    if factory.startswith("{"):
        fields = parse_struct(factory)
        kind = fields.pop("id", "BlockBasedTable")
        family[_FACTORY] = kind
        found[f'TableOptions/{kind} "default"'] = fields
    for key, title in _TABLES.items():
        if key in family:
            found[title] = {**found.get(title, {}), **parse_struct(family.pop(key))}
    return {title: fields for title, fields in found.items() if fields}


def _compression_struct(text: str) -> str:
    """``window_bits:level:...`` as a structure; one stays as it is."""
    if "=" in text or ":" not in text:
        return text
    values = text.strip("{}").split(":")
    # Of six values the last says whether they count: parallel_threads came later, and before it.
    names = [*_COMPRESSION[:5], "enabled"] if len(values) == 6 else _COMPRESSION
    return format_struct(dict(zip(names, values, strict=False)))


def file_values(file: OptionsFile) -> dict[str, Value]:
    """The values of the parameters that a file in its normal form names, full scale."""
    values = read_values(file, catalogue().values())
    caches = caches_of(file)
    if caches.block is not None:
        values["cache_size"] = caches.block
    if caches.others:
        values[OTHER_CACHES] = caches.others
    limit = whole_number(file.get(DB, MEMTABLE_LIMIT)) or 0
    if limit > 0:
        values[MEMTABLE_LIMIT] = limit
    return values


def file_limit(file: OptionsFile) -> int:
    """Bytes that all memtables together may hold where that is less than the buffers; else 0."""
    limit = whole_number(file.get(DB, MEMTABLE_LIMIT)) or 0
    buffer = whole_number(file.get(CF, "write_buffer_size")) or 64 * 2**20
    return limit if 0 < limit < buffer else 0
