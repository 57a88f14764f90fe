"""The parameters of RocksDB: what each is called, which values it takes, and what bounds it.

``catalogue`` has all of them, read from catalogue.csv. Names, sections, keys and defaults were
checked against ``db_bench --help`` and the OPTIONS files that RocksDB 7.8.3 writes; ranges are
proposals at production scale.
"""

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, cast

from sampler.common.documents import packaged_rows
from sampler.common.errors import InputError
from sampler.common.text import format_bytes, parse_bytes

Value = bool | int | float | str
Kind = Literal["int", "float", "bool", "cat"]
Section = Literal["DBOptions", "CFOptions", "Table", "deployment", "workload", "command"]
# Known to leave nothing on disk. Not among them, though they are for reading above all, is what a
# compaction reads, too (mmap_read, compaction_readahead_size, cache_index_and_filter_blocks) and
# so may change which files it has merged when the load ends.
_RUN_TIME = frozenset({"cache_size", "threads"})


@dataclass(frozen=True)
class Bound:
    """A limit set by another parameter: the other's value plus ``offset``."""

    parameter: str
    offset: int = 0


@dataclass(frozen=True)
class Condition:
    """True when another parameter has one of these values."""

    parameter: str
    values: tuple[Value, ...]


_KIB = 1024
# Scaled, but counts of entries in a memtable.
_COUNTED = frozenset({"memtable_op_scan_flush_trigger"})


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A tunable, always at full scale."""

    name: str  # the db_bench flag's name where there is one
    # Where the value goes: a section of the OPTIONS file, ``deployment`` (passed as a flag and
    # exported beside the options), ``workload`` (a fact of the load that no OPTIONS file can
    # carry) or ``command`` (known to the user's own benchmark alone).
    section: Section
    kind: Kind
    default: Value  # the library's default
    default_db_bench: Value  # what db_bench uses when no flag and no file is given
    key: str = ""  # the key there; ``struct.field`` for a field of a nested structure
    flag: str = ""
    # low, high: the numeric range, both included. With ``multiple_of``, in multiples of it.
    low: float | None = None
    high: float | None = None
    log: bool = False  # whether draws are uniform in the logarithm
    quantum: int = 1  # numeric values are multiples of it
    # For ``cat``, the values and their text in an OPTIONS file; for ``int``, the only values that
    # it takes.
    choices: tuple[tuple[Value, str], ...] = ()
    # Values outside the range with a meaning of their own (-1, 0 = automatic).
    special: tuple[Value, ...] = ()
    meanings: tuple[tuple[Value, str], ...] = ()  # what each of them means, in words
    # floor, ceiling: limits set by other parameters; they hold by construction in draws.
    floor: Bound | None = None
    ceiling: Bound | None = None
    multiple_of: str = ""  # the value is a whole multiple of that parameter's value
    # All must hold, otherwise the parameter does nothing and is left out.
    active_if: tuple[Condition, ...] = ()
    scaled: bool = False  # a size, or a count of entries, that is divided by the scale
    varies: bool = False  # whether the library's default differs between versions
    # The values that a sweep over this parameter alone tries, in this order; empty: those that it
    # chooses itself. With ``multiple_of``, in multiples of it.
    sweep: tuple[Value, ...] = ()
    # Whether it is known to leave nothing on disk: a database that was filled with another value
    # of it is the same. Whatever is not known to be so is taken to shape it.
    run_time: bool = False
    help: str = ""

    @property
    def is_option(self) -> bool:
        """Whether an OPTIONS file can carry it."""
        return self.section in ("DBOptions", "CFOptions", "Table")

    @property
    def is_bytes(self) -> bool:
        """Whether it is a size in bytes: one that is scaled, or an option in whole KiB."""
        in_kib = self.is_option and self.quantum >= _KIB
        return in_kib or (self.scaled and self.key not in _COUNTED)

    @property
    def is_numeric(self) -> bool:
        """Whether it is a range of numbers."""
        return self.kind in ("int", "float") and not self.choices

    @property
    def values(self) -> tuple[Value, ...]:
        """The levels of a ``bool`` or ``cat`` parameter or of a list of numbers, else empty."""
        return (False, True) if self.kind == "bool" else tuple(value for value, _ in self.choices)

    def words(self, value: Any) -> str:
        """A value for people: a size of 1 KiB or more with its unit."""
        number = isinstance(value, int | float) and not isinstance(value, bool)
        sized = self.is_bytes and number and value >= _KIB and value not in self.special
        return (
            f"{format_bytes(value)}{'/s' * self.name.endswith('_rate')}" if sized else str(value)
        )

    def meaning(self, value: Any) -> str:
        """What a special value means, in words; empty for any other value."""
        return dict(self.meanings).get(value, "")

    def nearest_multiple(self, number: float) -> int:
        """The multiple of its quantum that is nearest to a number, and at least the quantum."""
        return max(self.quantum, round(number / self.quantum) * self.quantum)

    @property
    def refers_to(self) -> frozenset[str]:
        """The parameters whose values must be known before this one's."""
        bounds = {bound.parameter for bound in (self.floor, self.ceiling) if bound}
        conditions = {condition.parameter for condition in self.active_if}
        return frozenset(bounds | conditions | ({self.multiple_of} - {""}))


def parse_value(parameter: Parameter, given: object, *, field: str = "") -> Value:
    """Reads one value of a parameter from text or from TOML, without checking the range.

    Raises:
        InputError: The value is not of the parameter's type, or not one of its choices.
    """
    field = field or parameter.name
    match parameter.kind:
        case "bool":
            return _parse_bool(given, field)
        case "cat":
            return _parse_choice(parameter, given, field)
        case "int":
            return _parse_int(given, field)
        case "float":
            return _parse_float(given, field)


def _parse_bool(given: object, field: str) -> bool:
    if isinstance(given, bool):
        return given
    if isinstance(given, str) and given.strip().lower() in ("true", "false", "1", "0"):
        return given.strip().lower() in ("true", "1")
    raise InputError(field, f"{given!r} is not true or false")


def _parse_choice(parameter: Parameter, given: object, field: str) -> Value:
    for value, text in parameter.choices:
        if given == value or (isinstance(given, str) and given.strip() in (str(value), text)):
            return value
    names = ", ".join(str(value) for value in parameter.values)
    raise InputError(field, f"{given!r} is not one of {names}")


def _parse_int(given: object, field: str) -> int:
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        raise InputError(field, f"{given!r} is not a whole number")
    if isinstance(given, str):
        text = given.strip()
        digits = text.removeprefix("-")
        plain = digits.isascii() and digits.isdecimal() and len(digits) < 20
        number = int(text) if plain else parse_bytes(text, field=field)
    elif isinstance(given, float) and not given.is_integer():
        raise InputError(field, f"{given!r} is not a whole number")
    else:
        number = int(given)
    if not -(2**63) <= number < 2**63:
        raise InputError(field, f"does not fit into 64 bits, {-(2**63)} to {2**63 - 1}")
    return number


def _parse_float(given: object, field: str) -> float:
    number = math.nan
    with suppress(ValueError, OverflowError):
        number = float(given) if isinstance(given, int | float | str) else math.nan
    if isinstance(given, bool) or not math.isfinite(number):
        raise InputError(field, f"{given!r:.80} is not a finite number")
    return number


@cache
def catalogue() -> Mapping[str, Parameter]:
    """All known parameters by name, in the catalogue's order."""
    parameters = map(_parameter, packaged_rows("sampler.rocksdb", "catalogue.csv"))
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
