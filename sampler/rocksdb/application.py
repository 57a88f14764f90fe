"""What an application sets in code: objects that an OPTIONS file names and cannot hold.

RocksDB writes the name of such an object, or nothing, and makes none from it when it loads the
file. RocksDB's C API (and so Rust, Go, Python, C# and Node) writes ``filter_policy=bloomfilter``
without bits, versions 4.x to 6.x write ``rocksdb.BuiltinBloomFilter`` for every filter
(filter_policy.cc): a database that is opened with such a file alone has no filter at all.
"""

import re
from collections.abc import Iterable, Iterator

from sampler.common.text import format_bytes
from sampler.rocksdb.measured_part import (
    MEMTABLE,
    caches_of,
    foreign_factory,
    foreign_table,
    normalized,
    object_name,
)
from sampler.rocksdb.option_facts import OptionFact, fact_of
from sampler.rocksdb.option_values import FilterPolicy, prefix_of
from sampler.rocksdb.options_file import (
    CF,
    DB,
    DEFAULT_FAMILY,
    TABLE,
    OptionsFile,
    parse_options,
)

# Above the lines of ``application_steps``.
FIRST = "Before a database is opened with this file, set in the program what no file holds:"
_NEVER_HELD = (
    "whatever else the program sets in code: comparator, merge operator, prefix extractor, "
    "compaction filter, table factory, rate limiter, SST file manager, row cache, write buffer "
    "manager, event listeners, env"
)
# A comment that tells of objects which only the database's LOG shows.
_SHOWN = "# Rocktune: set in the program, by the database's LOG: "
_NOTHING_NAMED = f"[{DB}]\n[{CF}]\n"
_FILTER = "filter_policy"
# Objects that are told in another way, or that a database lacks without any difference.
_APART = frozenset({
    _FILTER, "block_cache", "statistics", "table_factory", MEMTABLE, "memtable",
    "block_based_table_factory", "plain_table_factory", "listeners",
})  # fmt: skip
_NONE = ("", "nullptr", "None", "{}")
_NUMBER = r"-?\d+(?:\.\d+)?"
_BUILT_IN = ("leveldb.", "rocksdb.")  # comparators, with or without timestamps


def application_steps(text: str) -> list[str]:
    """What a program sets in code when it opens a database with a file, a line each.

    ``text`` is that of a whole OPTIONS file. Each object comes with its name in the file and,
    of several column families, with those that have it. The last line names what a file
    may not name at all.
    """
    file = parse_options(text)
    found: dict[str, list[str]] = {}
    for family in file.families or (None,):
        part = normalized(file.as_default(family)) if family else file
        for said in _of_family(part):
            found.setdefault(said, []).append(family or DEFAULT_FAMILY)
    several = len(file.families) > 1
    lines = [
        said + (f" (column families: {', '.join(names)})" if several else "")
        for said, names in found.items()
    ]
    shown = [line.removeprefix(_SHOWN) for line in text.splitlines() if line.startswith(_SHOWN)]
    own = [said for (title, _), said in _objects(file) if title == DB]
    return [*lines, *own, *shown, _NEVER_HELD]


def application_names(text: str | None) -> list[str]:
    """What ``application_steps`` tells of, by name alone; without a file what any needs."""
    *named, last = application_steps(text or _NOTHING_NAMED)
    names = [re.split(r" = |[:(]", step)[0].strip() for step in named]
    return [*dict.fromkeys(names), last.partition(":")[0]]


def with_shown_objects(text: str, shown: Iterable[str]) -> str:
    """A file with a comment for each object that its database's LOG shows, and no file holds."""
    return "".join(f"{_SHOWN}{each}\n" for each in shown) + text


def without_shown_objects(text: str) -> str:
    """The file without the comments of ``with_shown_objects``."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(_SHOWN))


def _of_family(part: OptionsFile) -> Iterator[str]:
    policy = FilterPolicy.of(part)
    if policy.problem:
        fix = f"Set the filter in code, or write it with its bits, such as {policy.instead}"
        yield f"{policy.problem}. {fix}"
    foreign = foreign_table(part)
    name = foreign.partition(" ")[0].partition("/")[2] if foreign else foreign_factory(part)
    if name:
        yield f"table_factory = {name[:60]}"
    elif part.table() == TABLE and (caches := caches_of(part)).block != 0:
        size = "its capacity is not in this file"
        if caches.block is not None:
            size = f"{format_bytes(caches.block)}. One that the program sets replaces it"
        yield f"block cache: {size}"
    for (title, _), said in _objects(part):
        if title != DB:
            yield said


def _objects(part: OptionsFile) -> Iterator[tuple[tuple[str, str], str]]:
    """The objects of the default family, and of the database, that RocksDB has no code for."""
    for title in (CF, TABLE, DB):
        for key, value in part.sections.get(title, {}).items():
            fact, name = fact_of(title, key), object_name(value)
            if fact is None or fact.type != "object" or key in _APART:
                continue
            if not _is_built_in(fact, name):
                yield (title, key), f"{key} = {name[:60]}"
        fact, memtable = fact_of(title, MEMTABLE), part.get(title, MEMTABLE)
        if fact and memtable:
            name = object_name(memtable).partition(":")[0]
            if not _is_built_in(fact, name):
                yield (title, MEMTABLE), f"{MEMTABLE} = {name[:60]}"


def _is_built_in(fact: OptionFact, name: str) -> bool:
    if name in (*_NONE, *fact.defaults) or (
        fact.key == "comparator" and name.startswith(_BUILT_IN)
    ):
        return True
    patterns = (re.escape(each).replace("N", _NUMBER) for each in fact.choices)
    return prefix_of(name) is not None or any(re.fullmatch(each, name) for each in patterns)
