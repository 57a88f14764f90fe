"""Figures as people read them: on reports and pages, and in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sampler.common.text import format_bytes
from sampler.rocksdb.parameters import Parameter, catalogue
from sampler.workload.metric_table import BYTES, metric_unit

if TYPE_CHECKING:
    from optimizer.explained import Estimate, PathStep


def figure(value: float | None) -> str:
    """A number with four significant digits and thousands apart."""
    if value is None:
        return "n/a"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def metric_amount(value: float | None, metric: str) -> str:
    """A metric's value with its unit where that is bytes."""
    if value is None or metric_unit(metric) != BYTES:
        return figure(value)
    return format_bytes(value)


def amount_with_unit(value: float | None, metric: str) -> str:
    """A metric's value with its unit; a number of bytes in KiB, MiB and so on."""
    unit = metric_unit(metric)
    if value is None or unit is None:
        return figure(value)
    return format_bytes(value) if unit == BYTES else f"{figure(value)} {unit}"


def option_value(value: Any, parameter: Parameter | None) -> str:
    """An option's value; of a parameter that is not known as it is."""
    return str(value) if parameter is None else parameter.words(value)


def value_words(value: Any, parameter: Parameter | None) -> str:
    """A value as a table shows it: bytes with their unit beside; None is ``inactive``."""
    if value is None:
        return "inactive"
    shown = option_value(value, parameter)
    return shown if shown == str(value) else f"{value} ({shown})"


def estimate_words(estimate: Estimate) -> str:
    """A figure of fitness with its interval."""
    return f"{estimate.expected:+z.0f} [{estimate.low:+z.0f}, {estimate.high:+z.0f}]"


def step_words(step: PathStep) -> str:
    """All that changes in a step, as ``write_buffer_size 64 MiB -> 32 MiB``."""
    changes = []
    for change in step.changes:
        known = catalogue().get(change.name)
        before, after = (option_value(side, known) for side in (change.before, change.after))
        changes.append(f"{change.name} {before} -> {after}")
    said = " and ".join(changes)
    return f"{said} (fixed by the space)" if step.fixed else said


def signed(value: float | None) -> str:
    """A percentage with its sign."""
    return "n/a" if value is None else f"{value:+z.1f}%"


def share_percent(share: float) -> str:
    """A share as a percentage of two digits, without an exponent: 0.0123 is ``1.2%``."""
    return f"{float(f'{100 * share:.2g}'):.12g}%"


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


def _value_size(size: Mapping[str, float | None]) -> str:
    # A stored profile may be older than the deviation.
    told = any(size[name] is not None for name in ("p50", "p99"))
    others = ("p50", "p99") if told else ("deviation",)
    rest = _parts({name: size.get(name) for name in others}, "{:.4g}".format)
    mean = "" if size["mean"] is None else f"{size['mean']:.5g} B"
    return ", ".join(filter(None, (mean, rest)))


def _levels(levels: list[Mapping[str, Any]]) -> str:
    return ", ".join(
        f"L{each['level']} {each['files']} files {format_bytes(each['bytes'] or 0)}"
        for each in levels
        if each["files"]
    )


_FIGURES: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("key_size", "key size", "{:.4g} B".format),
    ("value_size", "value size", _value_size),
    ("compression_ratio", "compression ratio of values", "{:.3f}".format),
    ("codec", "codec", str),
    ("codecs", "relative size by codec", _parts),
    ("filter_policy", "filter", str),
    ("block_cache", "block cache", lambda size: format_bytes(int(size))),
    ("entries", "live keys", "{:,.0f}".format),
    ("operations", "operations", lambda shares: _parts({n: s for n, s in shares.items() if s})),
    ("overwrite_share", "puts that overwrite", _percent),
    ("hit_rate", "gets that find a key", _percent),
    ("scan_length", "keys per scan", "{:.4g}".format),
    (
        "skew",
        "share of keys with half of the operations",
        lambda skew: _parts({kind: skew[kind] for kind in ("reads", "writes")}),
    ),
    ("waf", "write amplification", "{:.2f}".format),
    ("levels", "levels", _levels),
)
