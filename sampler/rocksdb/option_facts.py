"""Every key of RocksDB's OPTIONS files, 4.3 to 11.12, and the flags of db_bench that are options.

The keys, their types and their versions were read from the sources of 47 releases (4.13.0 to
11.12.0: ``options/db_options.cc``, ``options/cf_options.cc``, the factories of the tables, of the
memtables and of the caches) and from HISTORY.md. No release has stopped reading a key that an
older one wrote: what is no longer used is read and ignored.

With ``--options_file`` db_bench takes its options from the file and leaves out
``InitializeOptionsFromFlags``; only ``InitializeOptionsGeneral``, opening and the benchmarks
themselves look at flags (db_bench_tool.cc, ``Open``). ``option_flags.csv`` lists the flags that
are looked at nowhere else, from the sources of RocksDB 6.20 to 11.8, and the key that stands for
each in an OPTIONS file; empty where none does. ``tried`` is a value that 7.8.3 was given without
a file, ``written`` what it then wrote into its OPTIONS file. A test tries all of them on the
installed build, with and without a file.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal

from pydantic import TypeAdapter

from sampler.common.documents import packaged_rows
from sampler.rocksdb.options_file import SECTION_TITLES, unnumbered
from sampler.rocksdb.parameters import Value, catalogue

FactSection = Literal["DBOptions", "CFOptions", "BlockBasedTable", "PlainTable", "CuckooTable"]
FactType = Literal[
    "bool", "int", "uint", "size", "double", "enum", "string", "struct", "vector", "object",
    "time", "rate",
]  # fmt: skip
Measure = Literal["scale", "keep", "leave_out", "derive"]
# From when on a change acts, once RocksDB has it. ``next files``: on files that are written from
# then on; no file holds what came of it, so there is nothing to rewrite. ``new files``: in tables
# that are written from then on, where the others keep theirs until they are compacted. ``new blob
# files``: likewise, of blob files and until garbage is collected from them. ``whole rewrite``: in
# full when everything was compacted. ``restart``: when the database, and every table in it, is
# opened anew. An option is of ``new files`` where another value makes another table for reads or
# for the size on disk: by the comments of table.h and advanced_options.h where they say it, else
# by what the option is for.
Acts = Literal[
    "at once", "new memtables", "next files", "new files", "new blob files", "next compaction",
    "whole rewrite", "restart",
]  # fmt: skip
# What RocksDB derives when an option is 0, -1 or not set. A file that RocksDB wrote holds the
# derived values, not the zeros: of a tree that is measured at another size they have to be derived
# again. Formulas of SanitizeOptions (db/column_family.cc, db/db_impl/db_impl_open.cc); where
# versions differ, the values of all of them.
Number = int | float | bool
_KIB, _MIB = 2**10, 2**20
_NEVER = 2**31 - 1
_THIRTY_DAYS = 30 * 24 * 60 * 60
_UNSET = 2**64 - 2  # kDefaultTtl, kDefaultPeriodicCompSecs


@dataclass(frozen=True)
class OptionFact:
    """One key of an OPTIONS file, or one field of a structure in it."""

    section: FactSection  # the kind of section that holds the key
    key: str  # its name; ``struct.field`` for a field of a structure or of a configured object
    # ``size`` is in bytes, ``rate`` in bytes per second, ``time`` in the unit of its name (seconds
    # if it names none); ``object`` is the name of code, with or without fields.
    type: FactType
    since: str  # the first version that reads it from a file, ``8.6``; "" for before 5.0
    since_is_exact: bool  # false: ``since`` read it, and some versions before may have, too
    deprecated: str  # the version since which it is read and ignored, ``7.0``; "" if it acts
    default: str  # its text in a file of 7.8.3 in which nothing is set; "" if it stands in none
    # What newer versions write instead, from which on (HISTORY.md): ``(("8.4", "true"),)``.
    later: tuple[tuple[str, str], ...]
    # What a load at 1/scale is measured with. ``scale``: the value, divided. ``keep``: the value.
    # ``leave_out``: RocksDB's default. ``derive``: left out if the value is one of
    # ``derived_values``, else divided. Values of zero and less are never divided: they turn
    # something off or leave it to RocksDB.
    measure: Measure
    # The smallest value to divide down to: below, RocksDB takes another or turns the option off.
    floor: int | None
    derived_as: str  # the formula of ``derived_values`` by which RocksDB replaces 0 or -1
    overrides: str  # the key of the same section that this one makes ineffective
    # The values with which it does not, as texts of a file. A key that is not in the file does not
    # either.
    overrides_unless: tuple[str, ...]
    # What 7.8.3 takes, for enumerations and named objects; ``N`` stands for a number. Any other
    # name of an object is passed over without a word (``ignore_unsupported``).
    choices: tuple[str, ...]
    why: str  # the reason for ``measure``, or what became of an old key: one sentence
    source: str  # the file of RocksDB's sources that says so
    # The version since which ``SetDBOptions`` or ``SetOptions`` changes it in a database that
    # runs; "" for never. By HISTORY.md, the ``..._mutable_options_type_info`` of db_options.cc and
    # cf_options.cc, the flags of block_based_table_factory.cc, and trials with 7.8.3 and 9.8.4.
    mutable: str
    acts: Acts

    @property
    def defaults(self) -> frozenset[str]:
        """Its texts in files of all versions from 7.8 on in which nothing is set."""
        return frozenset((self.default, *(text for _, text in self.later)))

    def is_mutable_in(self, version: str) -> bool:
        """Whether a database of a version, ``9.10.0``, changes it while it runs."""
        return bool(self.mutable) and version_numbers(self.mutable) <= version_numbers(version)

    def default_in(self, version: str) -> str:
        """Its text in a file of a version from 7.8 on in which nothing is set, ``9.10.0``."""
        reached = [
            text
            for since, text in self.later
            if version_numbers(since) <= version_numbers(version)
        ]
        return reached[-1] if reached else self.default


def version_numbers(version: str) -> tuple[int, ...]:
    """A version of RocksDB as numbers, to compare: (7, 8, 3)."""
    return tuple(map(int, version.split(".")))


def section_kind(title: str) -> str:
    """The ``FactSection`` of a section's title, such as ``TableOptions/PlainTable "default"``."""
    return title.partition(" ")[0].removeprefix("TableOptions/")


@cache
def option_facts() -> Mapping[tuple[str, str], OptionFact]:
    """All keys, by section and name, in the order of the sections."""
    facts = map(_fact, packaged_rows("sampler.rocksdb", "rocksdb_options.csv"))
    return MappingProxyType({(fact.section, fact.key): fact for fact in facts})


def fact_of(title: str, key: str) -> OptionFact | None:
    """What is known of an option of a section, such as ``TableOptions/PlainTable "default"``."""
    return option_facts().get((section_kind(title), key))


def enclosing_fact(title: str, key: str) -> OptionFact | None:
    """What is known of an option, or of the structure that a field, ``struct.field``, is of."""
    key = unnumbered(key)
    while key and fact_of(title, key) is None:
        key = key.rpartition(".")[0]
    return fact_of(title, key)


def _fact(row: dict[str, str]) -> OptionFact:
    return _ROW.validate_python({
        **row,
        "since": row["since"].removeprefix("<="),
        "since_is_exact": not row["since"].startswith("<="),
        "mutable": row["mutable"].removeprefix("<="),
        "deprecated": row["deprecated"].removeprefix("<="),
        "floor": row["floor"] or None,
        "later": [each.split("=", 1) for each in row["later"].split("|") if each],
        "overrides_unless": row["overrides_unless"].split("|") if row["overrides"] else (),
        "choices": [text for text in row["choices"].split("|") if text],
    })  # fmt: skip


_ROW = TypeAdapter(OptionFact)


def usual_number(key: str) -> int:
    """RocksDB's default of a whole number among a column family's options."""
    return int(option_facts()["CFOptions", key].default)


def derived_values(formula: str, values: Mapping[str, Number]) -> frozenset[int]:
    """The values that RocksDB, of any version, derives for an option by ``OptionFact.derived_as``.

    ``values`` are the numbers of the same file by key, of its database and one family; what is
    missing has RocksDB's default.
    """
    return frozenset(_FORMULAS[formula](values))


def _arena_block_size(values: Mapping[str, Number]) -> set[int]:
    """An eighth of the memtable, in whole pages; since 6.21 a MiB at most."""
    eighth = max(_buffer(values), 64 * _KIB) // 8
    return {-(-size // 4096) * 4096 for size in (eighth, min(eighth, _MIB))}


def _buffer(values: Mapping[str, Number]) -> int:
    return int(values.get("write_buffer_size", usual_number("write_buffer_size")))


def _memtables(values: Mapping[str, Number]) -> int:
    name = "max_write_buffer_number"
    return max(int(values.get(name, usual_number(name))), 2)


_FORMULAS: Mapping[str, Callable[[Mapping[str, Number]], set[int]]] = {
    "arena_block_size": _arena_block_size,
    "max_compaction_bytes": lambda v: {25 * int(v.get("target_file_size_base", 64 * _MIB))},
    "max_write_buffer_size_to_maintain": lambda v: {_memtables(v) * _buffer(v)},
    "max_write_buffer_number_to_maintain": lambda v: {_memtables(v)},
    # Of one family; never written into a file (``GetMaxTotalWalSize``).
    "max_total_wal_size": lambda v: {4 * _memtables(v) * _buffer(v)},
    "soft_pending_compaction_bytes_limit": lambda v: {
        int(v.get("hard_pending_compaction_bytes_limit", 256 * 2**30))
    },
    "compaction_readahead_size": lambda v: {2 * _MIB} if v.get("use_direct_reads") else set(),
    "delayed_write_rate": lambda _: {2 * _MIB, 16 * _MIB},
    "never_with_fifo": lambda _: {_NEVER},
    "ttl": lambda _: {0, _THIRTY_DAYS, _UNSET},
    "periodic_compaction_seconds": lambda _: {0, _THIRTY_DAYS, _UNSET},
}


@dataclass(frozen=True)
class OptionFlag:
    """A flag that is an option."""

    name: str
    title: str  # the section of an OPTIONS file that holds its key; empty: no key stands for it
    key: str  # the key
    tried: str  # a value of the flag
    written: str  # what RocksDB wrote for it

    def instead(self, value: Value) -> str:
        """What to do about a flag that was given this value, for a message."""
        if not self.key:
            return "it has no counterpart in an OPTIONS file; leave it out"
        line = self._line(self._text(value))
        return f"write {line} in [{self.title}] of an OPTIONS file as the baseline"

    def _text(self, value: Value) -> str:
        """What stands for a value in an OPTIONS file; empty where that is not known."""
        given = str(value).lower() if isinstance(value, bool) else str(value)
        for parameter in catalogue().values():
            if parameter.flag == self.name and parameter.kind == "cat":
                return str(dict(parameter.choices).get(given, ""))
        if self.name.endswith("_mb") and self.key.startswith("compaction_options_fifo"):
            return str(value * 2**20) if isinstance(value, int) else ""
        if given == self.tried:
            return self.written
        if isinstance(value, bool | str):
            return given if self.tried == self.written and self.tried in ("true", "false") else ""
        # 3 became FixedPrefix.3, or stayed 3: then any other number becomes the like.
        parts = re.split(rf"(?<!\d){re.escape(self.tried)}(?!\d)", self.written)
        return given.join(parts) if self.tried and len(parts) == 2 else ""

    def _line(self, text: str) -> str:
        """The key with a value, as an OPTIONS file has it; the key alone where none is known."""
        struct, _, member = self.key.partition(".")
        if not text:
            return f"{member} of {struct}" if member else struct
        return f"{struct}={{{member}={text};}}" if member else f"{struct}={text}"


@cache
def option_flags() -> Mapping[str, OptionFlag]:
    """All of them, by name."""
    flags = {}
    for row in packaged_rows("sampler.rocksdb", "option_flags.csv"):
        name, title = row["flag"], SECTION_TITLES.get(row["section"], "")
        flags[name] = OptionFlag(name, title, row["key"], row["tried"], row["written"])
    return flags
