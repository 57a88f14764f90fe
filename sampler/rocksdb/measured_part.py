"""A user's OPTIONS file in one form, and what of it a run is measured with, at its scale.

RocksDB reads the options of a table from two places, structures as fields or as lists, and lets
keys reach into structures with a dot. What is moved by a search has one place, so a user's file is
brought into the form that RocksDB itself writes before anything is read of it. Tried with
``db_bench`` 7.8.3; the rules are those of options_parser.cc and cf_options.cc (7.9.2).

db_bench makes a block cache from its flag and passes over that of the file (db_bench_tool.cc,
InitializeOptionsGeneral), so size and shards go in as flags. Secondary and compressed caches and a
row cache are counted as memory; of these only the row cache is measured.

The file is of a production database; a run has 1/scale of its data. Sizes that grow with the data
are divided, what belongs to one key, one block or one second stays, and what cannot be measured so
is left out. Which is which says ``rocksdb_options.csv``, option by option.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from sampler.rocksdb.option_facts import (
    OptionFact,
    derived_values,
    enclosing_fact,
    option_facts,
    section_kind,
)
from sampler.rocksdb.option_values import read_values, real_number, title_of, whole_number
from sampler.rocksdb.options_file import (
    CF,
    DB,
    DEFAULT_FAMILY,
    TABLE,
    OptionsFile,
    format_struct,
    leaves,
    list_members,
    parse_struct,
    without_leaf,
)
from sampler.rocksdb.parameters import Value, catalogue

_UNLIMITED = 2**60  # and more: not a size, but none at all
_BY_FLAG = ("block_cache",)  # db_bench makes the cache; see ``caches_of``
_TABLE_FACTORY = "table_factory"
_CONCURRENT, _IN_PLACE = "allow_concurrent_memtable_write", "inplace_update_support"
# The tables that RocksDB has; db_bench 7.8.3 dies of the fields of any other, 9.10.0 of its name.
_TABLES = ("BlockBasedTable", "PlainTable", "CuckooTable")
# The kinds of memtable, in the spellings of all versions: before 6.28 a file holds the name alone,
# so that the count of buckets is RocksDB's default, or a number behind a colon. Hash memtables
# take memory for all buckets as they are made, so the count has to be seen to be divided
# (memtable/hash_skiplist_rep.cc, hash_linklist_rep.cc, vectorrep.cc; the names are those of
# RegisterBuiltinMemTableRepFactory in table/plain/plain_table_factory.cc).
MEMTABLE = "memtable_factory"
# By class and nickname: the class, and the field that stands behind the colon with its default.
_KINDS: Mapping[str, tuple[str, str, str]] = {
    name: kind
    for kind, names in {
        ("HashSkipListRepFactory", "bucket_count", "1000000"): ("prefix_hash",),
        ("HashLinkListRepFactory", "bucket_count", "50000"): ("hash_linkedlist",),
        ("VectorRepFactory", "count", "0"): ("vector",),
    }.items()
    for name in (kind[0], *names)
}
_CACHE, _NONE, _CAPACITY = "block_cache", "no_block_cache", "capacity"
_ON_DISK = ("cachelib", "persistent", "navy")  # not in memory
# In [CFOptions]: structures of a table's options, and the section that they stand for.
_TABLE_STRUCTS = {
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


def measured_part(options: OptionsFile, scale: int) -> OptionsFile:
    """The default family's options, of a file in its normal form, as they are measured.

    Sizes of catalogued parameters are divided as well; a search writes its own over them.
    """
    part = options.of_family(DEFAULT_FAMILY).without(TABLE, _BY_FLAG)
    foreign = foreign_table(part)
    if foreign:
        kept = {title: keys for title, keys in part.sections.items() if title != foreign}
        part = replace(part, sections=kept)
    if foreign or foreign_factory(part):
        part = part.without(CF, [_TABLE_FACTORY])
    memtable = part.get(CF, MEMTABLE)
    if memtable:
        part = part.with_values(CF, {MEMTABLE: memtable_in_full(memtable)})
    if one_writer(part):
        part = part.with_values(DB, {_CONCURRENT: "false"})
    for section, key in unmeasured_options(part):
        part = without_leaf(part, section, key)
    for (section, key), text in leaves(part):
        fact = enclosing_fact(section, key)
        if fact is not None and fact.measure in ("scale", "derive") and scale != 1:
            part = part.with_values(section, {key: divided(text, scale, fact.floor)})
    # A size that a file leaves to RocksDB, and that acts under its compaction style.
    key = "compaction_options_fifo.max_table_files_size"
    fact = enclosing_fact(CF, key)
    fifo = part.get(CF, "compaction_style") == "kCompactionStyleFIFO"
    if scale != 1 and fifo and fact is not None and part.get(CF, key) is None:
        part = part.with_values(CF, {key: divided(fact.default, scale)})
    return part


def one_writer(options: OptionsFile) -> str | None:
    """What keeps several threads from writing into a memtable at once, as ``key = text``.

    RocksDB then opens no database with ``allow_concurrent_memtable_write``, which is its default
    (db/column_family.cc, CheckConcurrentWritesSupported). None where nothing does, or where the
    file says that option itself.
    """
    if options.get(DB, _CONCURRENT) is not None:
        return None
    memtable = options.get(CF, MEMTABLE) or ""
    if object_name(memtable).partition(":")[0] in _KINDS:
        return f"{MEMTABLE} = {memtable[:60]}"
    inplace = options.get(CF, _IN_PLACE) in ("true", "1")
    return f"{_IN_PLACE} = {options.get(CF, _IN_PLACE)}" if inplace else None


def foreign_table(options: OptionsFile) -> str | None:
    """The title of the table section that is of a table of the application; None without one."""
    title = options.table()
    return None if section_kind(title) in _TABLES else title


def foreign_factory(options: OptionsFile) -> str | None:
    """The name of a table of the application, as ``table_factory`` has it; None without one."""
    name = options.get(CF, _TABLE_FACTORY)
    return None if name in (None, "", "nullptr", *_TABLES) else name


def unmeasured_options(options: OptionsFile) -> dict[tuple[str, str], OptionFact]:
    """The options of the default family that are not measured, by section and key.

    An object is one of them, whatever fields it has.
    """
    found: dict[tuple[str, str], OptionFact] = {}
    for (section, key), _ in leaves(options.of_family(DEFAULT_FAMILY)):
        fact = enclosing_fact(section, key)
        if fact is not None and fact.measure == "leave_out":
            found[section, fact.key] = fact
    return found


def divided(text: str, scale: int, floor: int | None = None) -> str:
    """A size over the scale, never below what RocksDB takes; 0 and "no limit" stay."""
    number = whole_number(text)
    if number is None or not 0 < number < _UNLIMITED:
        return text
    return str(min(number, max(floor or 1, number // scale)))


def without_derived(options: OptionsFile) -> OptionsFile:
    """A copy without the sizes that RocksDB would work out to the same by itself.

    A database dumps what it has worked out, so in a dump they are no choice of anybody's: beside
    another write buffer they would be wrong.
    """
    keys = options.sections.get(CF, {})
    read = {key: whole_number(text) for key, text in keys.items()}
    numbers = {key: number for key, number in read.items() if number is not None}
    facts = {key: fact for key in numbers if (fact := enclosing_fact(CF, key))}
    formulas = {key: fact.derived_as for key, fact in facts.items() if fact.measure == "derive"}
    derived = (k for k, of in formulas.items() if numbers[k] in derived_values(of, numbers))
    return options.without(CF, derived)


def displaced_by(parameter: str, file: OptionsFile) -> list[str]:
    """Keys of a file, in the parameter's section, that cannot stay where the parameter is moved.

    They are the old options beside which it does nothing, and what means nothing any more. An old
    option whose value overrides nothing, as ``max_background_flushes=-1``, stays.
    """
    known = catalogue()[parameter]
    if not known.is_option:
        return []
    own, title = {each.key for each in catalogue().values()}, title_of(known)
    facts = [fact for fact in option_facts().values() if fact.overrides == known.key]
    keys = [
        fact.key for fact in facts
        if fact.key not in own and file.get(title, fact.key) not in (None, *fact.overrides_unless)
    ]  # fmt: skip
    sized = ["arena_block_size"] if parameter == "write_buffer_size" else []
    return [*keys, *sized]


def object_name(text: str) -> str:
    """The name of an object that a text of an OPTIONS file makes: its id where it has fields."""
    return parse_struct(text).get("id", text) if text.startswith("{") else text


def memtable_in_full(text: str) -> str:
    """A memtable as a structure that names its count; what counts nothing stays as it is."""
    name, _, number = object_name(text).partition(":")
    if name not in _KINDS:
        return text
    kind, counted, default = _KINDS[name]
    fields = parse_struct(text) if text.startswith("{") else {}
    fields.pop("id", None)
    return format_struct({"id": kind, counted: number or default, **fields})


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
        for key in _TABLE_STRUCTS:
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
    for key, title in _TABLE_STRUCTS.items():
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
