"""The figures of a profiled column family in words: the same at the terminal and on the page."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sampler.common.byte_size import format_bytes


def figure_rows(family: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Field, name and value of what is known of a family of ``profile_document``."""
    for field, name, words in _FIGURES:
        value = family.get(field)  # a stored profile may be older than the field
        if value is not None and (told := words(value)):
            yield field, name, told


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def _parts(values: Mapping[str, float | None], words: Callable[[float], str] = _percent) -> str:
    told = {name: each for name, each in values.items() if each is not None}
    return ", ".join(f"{name} {words(each)}" for name, each in told.items())


def _operations(shares: Mapping[str, float | None]) -> str:
    return _parts({name: share for name, share in shares.items() if share})


def _value_size(size: Mapping[str, float | None]) -> str:
    rest = _parts({name: size[name] for name in ("p50", "p99")}, "{:.4g}".format)
    mean = "" if size["mean"] is None else f"{size['mean']:.5g} B"
    return ", ".join(filter(None, (mean, rest)))


def _skew(skew: Mapping[str, float | None]) -> str:
    return _parts({kind: skew[kind] for kind in ("reads", "writes")})


def _levels(levels: list[Mapping[str, Any]]) -> str:
    return ", ".join(
        f"L{each['level']} {each['files']} files {format_bytes(each['bytes'] or 0)}"
        for each in levels
        if each["files"]
    )


_FIGURES: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("key_size", "key size", "{:.4g} B".format),
    ("value_size", "value size", _value_size),
    ("compression_ratio", "compression of values", "{:.3f}".format),
    ("codec", "codec", str),
    ("codecs", "a table with each codec", _parts),
    ("entries", "live keys", "{:,.0f}".format),
    ("operations", "operations", _operations),
    ("overwrite_share", "overwrites of puts", _percent),
    ("hit_rate", "gets that find a key", _percent),
    ("scan_length", "keys of a scan", "{:.4g}".format),
    ("skew", "share of keys with half of the operations", _skew),
    ("waf", "write amplification", "{:.2f}".format),
    ("levels", "levels", _levels),
)
