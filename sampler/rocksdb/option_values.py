"""Parameter values as they stand in an OPTIONS file, both ways.

Two options have no plain key: ``bloom_bits`` is a filter policy, and ``min_level_to_compress`` is
a list of codecs, one for each level (db_bench_tool.cc, InitializeOptionsFromFlags). A list of
several codecs keeps those that are not moved. While there is one, RocksDB passes over the key
``compression`` (GetCompressionType in column_family.cc): ``compression_type`` is then the codec
of the deepest compressed level, where most data lies.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sampler.rocksdb.options_file import CF, DB, SECTION_TITLES, TABLE, OptionsFile, parse_struct
from sampler.rocksdb.parameters import Parameter, Value, catalogue

_NO_COMPRESSION, _PER_LEVEL = "kNoCompression", "compression_per_level"
OLD_JOBS = ("max_background_compactions", "max_background_flushes")
_RIBBON = ("ribbonfilter", "rocksdb.RibbonFilter")
_RIBBON_BITS = re.compile(rf"((?:{'|'.join(map(re.escape, _RIBBON))}):)[^:;}}]*")
_BLOOM = ("bloomfilter", "rocksdb.BloomFilter", *_RIBBON)
# The name of every built-in filter in dumps of 4.x to 6.x: RocksDB reads filters with it and makes
# none (filter_policy.cc, ReadOnlyBuiltinFilterPolicy).
_READ_ONLY_BLOOM = "rocksdb.BuiltinBloomFilter"
BUILT_IN_FILTERS = (*_BLOOM, _READ_ONLY_BLOOM)
_INTERNAL = "rocksdb.internal."  # filters of RocksDB's own tests, which it makes by name
_PREFIX = re.compile(
    r"(?:rocksdb\.)?(?:(?P<kind>(?:Fixed|Capped)Prefix\.|fixed:|capped:)(?P<length>\d{1,9})|Noop)"
)
_ENUM = re.compile(r"k[A-Z]\w{1,60}", re.ASCII)
_WHOLE = re.compile(r"\s*([+-]?\d{1,20})(?!\d)([kKmMgGtT]?)", re.ASCII)
_REAL = re.compile(r"\s*([+-]?(?:\d{1,25}\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)", re.ASCII)
_SHIFTS = {"k": 10, "m": 20, "g": 30, "t": 40}


def title_of(parameter: Parameter) -> str:
    """The section of an OPTIONS file that holds a parameter."""
    return SECTION_TITLES[parameter.section]


def scaled(parameter: Parameter, value: Value, scale: int) -> Value:
    """The value to measure with: sizes in bytes divided, special values and counts as they are."""
    if not parameter.scaled or scale == 1 or value in parameter.special or int(value) <= 0:
        return value  # 0 never is a size: it means none, any or automatic
    return max(1, int(value) // scale)


def write_values(
    options: OptionsFile,
    values: Mapping[str, Value],
    parameters: Iterable[Parameter],
    *,
    scale: int,
) -> OptionsFile:
    """Puts parameters into an OPTIONS file; ones that it cannot carry are passed over.

    ``values`` are of every known parameter, full scale; byte-sized ones are divided by ``scale``.
    """
    given = options
    for parameter in parameters:
        if not parameter.is_option:
            continue
        title = title_of(parameter)
        if parameter.name == "min_level_to_compress":
            options = _with_codecs(options, given, values)
            continue
        text = _text(parameter, scaled(parameter, values[parameter.name], scale), given)
        options = options.with_values(title, {parameter.key: text})
    return options


def _text(parameter: Parameter, value: Value, given: OptionsFile) -> str:
    if parameter.name == "bloom_bits":
        return FilterPolicy.of(given).with_bits(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if parameter.kind == "cat":
        return dict(parameter.choices).get(value, str(value))
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _with_codecs(
    options: OptionsFile, given: OptionsFile, values: Mapping[str, Value]
) -> OptionsFile:
    """Puts one codec a level into a file; no list where every level has the same.

    ``given`` is the file before anything was moved.
    """
    first, levels = int(values["min_level_to_compress"]), int(values["num_levels"])
    asked = values["compression_type"]
    codec = dict(catalogue()["compression_type"].choices).get(asked, str(asked))
    listed = _codecs(given)
    used = [each for each in listed if each != _NO_COMPRESSION]
    if used and (first, codec) == (_first_compressed(listed), used[-1]):
        return options  # RocksDB gives deeper levels the last of the list
    if first < 0 and (len(set(used)) < 2 or codec != used[-1]):
        text = codec if used else options.get(CF, "compression")
        same = {} if text is None else {"compression": text}
        return options.without(CF, [_PER_LEVEL]).with_values(CF, same)

    def at(level: int) -> str:
        if level < first:
            return _NO_COMPRESSION
        if not used or codec != used[-1]:
            return codec
        there = listed[min(level, len(listed) - 1)]
        return used[0] if there == _NO_COMPRESSION else there

    return options.with_values(CF, {_PER_LEVEL: ":".join(map(at, range(levels)))})


def _codecs(options: OptionsFile) -> list[str]:
    text = options.get(CF, _PER_LEVEL)
    return [each.strip() for each in text.split(":")] if text else []


def read_values(options: OptionsFile, parameters: Iterable[Parameter]) -> dict[str, Value]:
    """The values in a file; parameters that it does not name are left out."""
    values = {p.name: value_in(options, p) for p in parameters if p.is_option}
    return {name: value for name, value in values.items() if value is not None}


def value_in(options: OptionsFile, parameter: Parameter) -> Value | None:
    """A file's value of an option; None where it has none.

    One that cannot be understood (of another RocksDB version, say) is none; one that the catalogue
    does not offer keeps RocksDB's name for it.
    """
    text = options.get(title_of(parameter), parameter.key)
    match parameter.name:
        case "min_level_to_compress":
            return _first_compressed(_codecs(options))
        case "bloom_bits":
            return FilterPolicy(text).bits
        case "max_background_jobs":
            old = jobs_by_old_names(options)
            text = text if old is None else str(old)
        case "compression_type":
            used = [each for each in _codecs(options) if each != _NO_COMPRESSION]
            text = used[-1] if used else text
    if text is None:
        return None
    match parameter.kind:
        case "bool":
            return {"true": True, "false": False, "1": True, "0": False}.get(text)
        case "cat":
            by_text = {written: value for value, written in parameter.choices}
            return by_text.get(text, text if _ENUM.fullmatch(text) else None)
        case "int":
            return whole_number(text)
        case "float":
            return real_number(text)


def jobs_by_old_names(options: OptionsFile) -> int | None:
    """Threads for flushes and compactions where their old names are set; None where none is.

    Then ``max_background_jobs`` does nothing (GetBGJobLimits in db_impl_compaction_flush.cc).
    """
    found = [whole_number(options.get(DB, key)) for key in OLD_JOBS]
    numbers = [-1 if number is None else number for number in found]
    return None if max(numbers) < 0 else sum(max(1, number) for number in numbers)


def whole_number(text: str | None) -> int | None:
    """A whole number as RocksDB reads it (string_util.cc, ParseUint64); None where there is none.

    ``8M`` is 8 * 2**20. What follows the number is passed over: ``1e6`` is 1, and ``8 M`` is 8.
    """
    found = _WHOLE.match(text or "")
    return int(found[1]) << _SHIFTS.get(found[2].lower(), 0) if found else None


def real_number(text: str | None) -> float | None:
    """A finite number as RocksDB reads it (string_util.cc, ParseDouble); None likewise."""
    found = _REAL.match(text or "")
    number = float(found[1]) if found else math.inf
    return number if math.isfinite(number) else None


@dataclass(frozen=True)
class FilterPolicy:
    """A filter of tables, as an OPTIONS file names it: ``bloomfilter:10:false``.

    A structure may have that text as its ``id``: 7.8.3 reads the id alone, whatever
    ``bloom_before_level`` stands beside it; 9.10 reads that, and writes it into both.
    """

    text: str | None  # None: the file does not say

    @classmethod
    def of(cls, options: OptionsFile) -> FilterPolicy:
        """That of the default family."""
        return cls(options.get(TABLE, "filter_policy"))

    @property
    def _parts(self) -> list[str]:
        """Its kind and its arguments."""
        text = self.text or ""
        return (parse_struct(text).get("id", "") if text.startswith("{") else text).split(":")

    @property
    def bits(self) -> Value | None:
        """Bits per key of the filter that RocksDB makes; 0: none; None: that is not known."""
        if self.text is None or self.text in ("nullptr", "", _READ_ONLY_BLOOM):
            return None if self.text is None else 0
        kind, *rest = self._parts
        number = real_number(rest[0]) if rest else None
        if kind not in _BLOOM or number is None:
            return None
        return int(number) if number.is_integer() else number

    @property
    def without_bits(self) -> str | None:
        """The kind of one that names a filter and not how many bits it has; else None.

        RocksDB makes no filter from such a text: ``bloomfilter`` and ``ribbonfilter`` of its C
        API, ``rocksdb.BuiltinBloomFilter`` of its versions up to 6.x, or a name of the
        application's own.
        """
        if not self.text or (self.text != _READ_ONLY_BLOOM and self.bits is not None):
            return None
        kind = self._parts[0]
        return None if kind.startswith(_INTERNAL) else kind

    @property
    def problem(self) -> str | None:
        """In words, that RocksDB makes no filter from it though it names one; else None."""
        if not self.without_bits:
            return None
        return f"filter_policy = {str(self.text)[:60]}: RocksDB makes no filter from this text"

    @property
    def instead(self) -> str:
        """One of the same kind that RocksDB makes a filter from."""
        return "ribbonfilter:10:-1" if self.without_bits in _RIBBON else "bloomfilter:10:false"

    @property
    def fix(self) -> str:
        """What to do where it does not say its bits, for a message."""
        return (
            f"Write filter_policy={self.instead} with your bits instead of 10 (nullptr for no "
            "filter), or give the folder of the database (tune --like): its LOG shows the bits"
        )

    def with_bits(self, bits: Value) -> str:
        """The text of one of the same kind with other bits; of a Ribbon filter the rest stays."""
        if float(bits) <= 0:
            return "nullptr"
        if self._parts[0] in _RIBBON:
            return _RIBBON_BITS.sub(rf"\g<1>{bits}", self.text or "", count=1)
        return f"bloomfilter:{bits}:false"


def prefix_of(text: str | None) -> tuple[Literal["fixed", "capped"], int] | None:
    """Kind and bytes of a prefix extractor that RocksDB makes from a text; None if it makes none.

    A key that is shorter than a fixed prefix has none; a capped one is then the whole key.
    """
    found = _PREFIX.fullmatch(text or "")
    if found is None:
        return None
    if found["length"] is None:
        return "capped", 2**31  # of rocksdb.Noop a key is its own prefix
    return "fixed" if "ixed" in found["kind"] else "capped", int(found["length"])


def _first_compressed(codecs: Sequence[str]) -> int:
    compressed = (level for level, codec in enumerate(codecs) if codec != _NO_COMPRESSION)
    return next(compressed, len(codecs)) if codecs else -1
