"""Every key of RocksDB's OPTIONS files, 4.3 to 11.12: since when, and how it is measured.

The keys, their types and their versions were read from the sources of 47 releases (4.13.0 to
11.12.0: ``options/db_options.cc``, ``options/cf_options.cc``, the factories of the tables, of the
memtables and of the caches) and from HISTORY.md. No release has stopped reading a key that an
older one wrote: what is no longer used is read and ignored.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Literal, cast

FactSection = Literal["DBOptions", "CFOptions", "BlockBasedTable", "PlainTable", "CuckooTable"]
FactType = Literal[
    "bool", "int", "uint", "size", "double", "enum", "string", "struct", "vector", "object",
    "time", "rate",
]  # fmt: skip
Measure = Literal["scale", "keep", "leave_out", "derive"]


@dataclass(frozen=True)
class OptionFact:
    """One key of an OPTIONS file, or one field of a structure in it.

    Attributes:
        section: The kind of section that holds the key.
        key: Its name; ``struct.field`` for a field of a structure or of a configured object.
        type: ``size`` is in bytes, ``rate`` in bytes per second, ``time`` in the unit of its name
            (seconds if it names none); ``object`` is the name of code, with or without fields.
        since: The first version that reads it from a file, ``8.6``; "" for before 5.0.
        since_is_exact: False: ``since`` read it, and some versions before may have, too.
        deprecated: The version since which it is read and ignored, ``7.0``; "" if it acts.
        default: Its text in a file of 7.8.3 in which nothing is set; "" if it stands in none.
        measure: What a load at 1/scale is measured with. ``scale``: the value, divided.
            ``keep``: the value. ``leave_out``: RocksDB's default. ``derive``: left out if the
            value is one of ``derived.derived_values``, else divided. Values of zero and less are
            never divided: they turn something off or leave it to RocksDB.
        floor: The smallest value to divide down to: below, RocksDB takes another or turns the
            option off.
        derived_as: The formula of ``derived.derived_values`` by which RocksDB replaces 0 or -1.
        overrides: The key of the same section that this one makes ineffective.
        overrides_unless: The values with which it does not, as texts of a file. A key that is not
            in the file does not either.
        choices: What 7.8.3 takes, for enumerations and named objects; ``N`` stands for a number.
            Any other name of an object is passed over without a word (``ignore_unsupported``).
        why: The reason for ``measure``, or what became of an old key: one sentence.
        source: The file of RocksDB's sources that says so.
    """

    section: FactSection
    key: str
    type: FactType
    since: str
    since_is_exact: bool
    deprecated: str
    default: str
    measure: Measure
    floor: int | None
    derived_as: str
    overrides: str
    overrides_unless: tuple[str, ...]
    choices: tuple[str, ...]
    why: str
    source: str


@cache
def option_facts() -> Mapping[tuple[str, str], OptionFact]:
    """All keys, by section and name, in the order of the sections."""
    text = files("sampler.options").joinpath("rocksdb_options.csv").read_text(encoding="utf-8")
    facts = [_fact(row) for row in csv.DictReader(text.splitlines())]
    return MappingProxyType({(fact.section, fact.key): fact for fact in facts})


def _fact(row: dict[str, str]) -> OptionFact:
    return OptionFact(
        section=cast(FactSection, row["section"]),
        key=row["key"],
        type=cast(FactType, row["type"]),
        since=row["since"].removeprefix("<="),
        since_is_exact=not row["since"].startswith("<="),
        deprecated=row["deprecated"].removeprefix("<="),
        default=row["default"],
        measure=cast(Measure, row["measure"]),
        floor=int(row["floor"]) if row["floor"] else None,
        derived_as=row["derived_as"],
        overrides=row["overrides"],
        overrides_unless=tuple(row["overrides_unless"].split("|")) if row["overrides"] else (),
        choices=tuple(text for text in row["choices"].split("|") if text),
        why=row["why"],
        source=row["source"],
    )
