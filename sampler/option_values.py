"""Parameter values as they stand in an OPTIONS file, both ways.

Two options have no plain key: ``bloom_bits`` is a filter policy, and ``min_level_to_compress`` is
a list of codecs, one for each level (db_bench_tool.cc, InitializeOptionsFromFlags).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sampler.options_file import CF, DB, TABLE, OptionsFile
from sampler.parameter import Parameter, Value

_TITLES = {"DBOptions": DB, "CFOptions": CF, "Table": TABLE}
_NO_COMPRESSION = "kNoCompression"


def title_of(parameter: Parameter) -> str:
    """The section of an OPTIONS file that holds a parameter."""
    return _TITLES[parameter.section]


def scaled(parameter: Parameter, value: Value, scale: int) -> Value:
    """The value to measure with: sizes in bytes divided, special values and counts as they are."""
    if not parameter.scaled or scale == 1 or value in parameter.special:
        return value
    return max(1, int(value) // scale)


def write_values(
    options: OptionsFile,
    values: Mapping[str, Value],
    parameters: Iterable[Parameter],
    *,
    scale: int,
) -> OptionsFile:
    """Puts parameters into an OPTIONS file.

    Args:
        options: What stays.
        values: The value of every known parameter, full scale.
        parameters: Those to put in; ones that no OPTIONS file can carry are passed over.
        scale: The divisor of byte-sized options; 1 for production.
    """
    for parameter in parameters:
        if not parameter.is_option:
            continue
        title = title_of(parameter)
        text = _text(parameter, scaled(parameter, values[parameter.name], scale), values)
        if text is None:
            options = options.without(title, [parameter.key])
        else:
            options = options.with_values(title, {parameter.key: text})
    return options


def _text(parameter: Parameter, value: Value, values: Mapping[str, Value]) -> str | None:
    match parameter.name:
        case "bloom_bits":
            return f"bloomfilter:{value}:false" if int(value) > 0 else "nullptr"
        case "min_level_to_compress":
            return _codec_list(int(value), values)
    if isinstance(value, bool):
        return "true" if value else "false"
    if parameter.kind == "cat":
        return dict(parameter.choices).get(value, str(value))
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _codec_list(first: int, values: Mapping[str, Value]) -> str | None:
    """One codec a level; None (the key left out) where every level has the same."""
    from sampler.catalogue import catalogue

    if first < 0:
        return None
    codec = dict(catalogue()["compression_type"].choices)[values["compression_type"]]
    levels = int(values["num_levels"])
    return ":".join(_NO_COMPRESSION if level < first else codec for level in range(levels))


def read_values(
    options: OptionsFile, parameters: Iterable[Parameter], *, scale: int
) -> dict[str, Value]:
    """The values in a file, back at full scale; parameters that it does not name are left out.

    A value that cannot be understood (of another RocksDB version, say) is left out too.
    """
    found: dict[str, Value] = {}
    for parameter in parameters:
        if not parameter.is_option:
            continue
        text = options.get(title_of(parameter), parameter.key)
        value = _value(parameter, text)
        if value is None:
            continue
        if parameter.scaled and value not in parameter.special:
            value = int(value) * scale
        found[parameter.name] = value
    return found


def _value(parameter: Parameter, text: str | None) -> Value | None:
    match parameter.name:
        case "min_level_to_compress":
            return _first_compressed(text)
        case "bloom_bits":
            return _bloom_bits(text)
    if text is None:
        return None
    match parameter.kind:
        case "bool":
            return {"true": True, "false": False, "1": True, "0": False}.get(text.lower())
        case "cat":
            by_text = {written: value for value, written in parameter.choices}
            return by_text.get(text)
        case "int" | "float":
            return _number(text, whole=parameter.kind == "int")


def _number(text: str, *, whole: bool) -> Value | None:
    """A number with RocksDB's suffixes: 8M is 8 * 2**20."""
    factor = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}.get(text[-1:].lower(), 1)
    try:
        number = float(text if factor == 1 else text[:-1]) * factor
        if number - number != 0:
            return None
        exact = text.lstrip("-").isdecimal()
        return int(text) if whole and exact else int(number) if whole else number
    except (ValueError, OverflowError):
        return None


def _bloom_bits(text: str | None) -> Value | None:
    if text is None or text in ("nullptr", ""):
        return None if text is None else 0
    parts = text.replace("rocksdb.BloomFilter", "bloomfilter").split(":")
    number = _number(parts[1], whole=False) if len(parts) > 1 else None
    if parts[0] != "bloomfilter" or number is None:
        return None
    return int(number) if float(number).is_integer() else number


def _first_compressed(text: str | None) -> Value | None:
    if not text:
        return -1
    codecs = text.split(":")
    compressed = [level for level, codec in enumerate(codecs) if codec != _NO_COMPRESSION]
    return compressed[0] if compressed else len(codecs)
