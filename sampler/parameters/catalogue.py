"""The catalogue of RocksDB parameters, read from catalogue.csv.

Names, sections, keys and defaults were checked against ``db_bench --help`` and the OPTIONS files
that RocksDB 7.8.3 writes; ranges are proposals at production scale.
"""

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, cast

from sampler.common.documents import packaged_rows
from sampler.parameters.parameter import Bound, Condition, Kind, Parameter, Value

# Known to leave nothing on disk. Not among them, though they are for reading above all, is what a
# compaction reads, too (mmap_read, compaction_readahead_size, cache_index_and_filter_blocks) and
# so may change which files it has merged when the load ends.
_RUN_TIME = frozenset({"cache_size", "threads"})


@cache
def catalogue() -> Mapping[str, Parameter]:
    """All known parameters by name, in the catalogue's order."""
    parameters = map(_parameter, packaged_rows("sampler", "catalogue.csv"))
    return MappingProxyType({parameter.name: parameter for parameter in parameters})


def _parameter(row: dict[str, str]) -> Parameter:
    kind = cast(Kind, row["type"])
    found: dict[str, Any] = {
        **{name: row[name] for name in ("name", "section", "key", "flag", "multiple_of", "help")},
        **{name: row[name] == "1" for name in ("log", "scaled", "varies")},
        **{name: _literal(kind, row[name]) for name in ("default", "default_db_bench")},
        **{name: _literal(kind, row[name]) for name in ("low", "high") if row[name]},
        **{name: _bound(row[name]) for name in ("floor", "ceiling")},
    }
    meanings = tuple(_meaning(kind, text) for text in row["special"].split("|") if text)
    return Parameter(
        kind=kind,
        quantum=int(row["quantum"] or 1),
        choices=tuple(_choice(kind, text) for text in row["choices"].split("|") if text),
        special=tuple(value for value, _ in meanings),
        meanings=meanings,
        active_if=tuple(_condition(text) for text in row["active_if"].split(";") if text),
        run_time=row["name"] in _RUN_TIME,
        **found,
    )


def _meaning(kind: Kind, text: str) -> tuple[Value, str]:
    value, _, words = text.partition("=")
    return _literal(kind, value), words


def _literal(kind: Kind, text: str) -> Value:
    readers: Mapping[Kind, Callable[[str], Value]] = {
        "bool": lambda given: given == "true", "int": int, "float": float, "cat": str,
    }  # fmt: skip
    return readers[kind](text)


def _choice(kind: Kind, text: str) -> tuple[Value, str]:
    value, _, written = text.partition("=")
    return _literal(kind, value), written or value


def _bound(text: str) -> Bound | None:
    if not text:
        return None
    name, minus, offset = text.partition("-")
    return Bound(name, -int(offset) if minus else 0)


def _condition(text: str) -> Condition:
    name, _, values = text.partition("=")
    booleans = {"true": True, "false": False}
    return Condition(name, tuple(booleans.get(value, value) for value in values.split("|")))
