"""What of a user's OPTIONS file a run is measured with, at its scale.

The file is of a production database; a run has 1/scale of its data. Sizes that grow with the data
are divided, what belongs to one key, one block or one second stays, and what cannot be measured so
is left out. Which is which says ``rocksdb_options.csv``, option by option.
"""

from collections.abc import Mapping
from dataclasses import replace

from sampler.rocksdb.option_facts import (
    OptionFact,
    derived_values,
    enclosing_fact,
    option_facts,
    section_kind,
)
from sampler.rocksdb.option_values import title_of, whole_number
from sampler.rocksdb.options_file import (
    CF,
    DB,
    DEFAULT_FAMILY,
    TABLE,
    OptionsFile,
    format_struct,
    leaves,
    parse_struct,
    without_leaf,
)
from sampler.rocksdb.parameters import catalogue

_UNLIMITED = 2**60  # and more: not a size, but none at all
_BY_FLAG = ("block_cache",)  # db_bench makes the cache; see ``normal_form``
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
