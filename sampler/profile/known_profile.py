"""A profile that somebody sends: what is known of it, checked; the rest is left out."""

from collections.abc import Mapping
from typing import Any

from sampler.common.documents import finite_number
from sampler.common.errors import InputError
from sampler.profile.profile import OPERATIONS

_MOST_TEXT = 1000
_ANY = "*"  # any name
# The shape of ``profile_document``: a type, a list of a shape, or an object by its names.
_SOURCES = {_ANY: {"where": str, "sure": str}}
_FAMILY: Mapping[str, Any] = {
    "name": str,
    **dict.fromkeys(("key_size", "compression_ratio"), float),
    "codec": str,
    **dict.fromkeys(("entries", "overwrite_share", "waf", "hit_rate", "scan_length"), float),
    **dict.fromkeys(("table_bytes", "table_entries", "keys_in", "keys_dropped"), float),
    "value_size": dict.fromkeys(("mean", "p50", "p99"), float),
    "operations": dict.fromkeys(OPERATIONS, float),
    "levels": [dict.fromkeys(("level", "files", "bytes", "write_amplification"), float)],
    "skew": dict.fromkeys(("reads", "writes", "reads_per_key", "writes_per_key"), float),
    "codecs": {_ANY: float},
    "sources": _SOURCES,
}
_PROFILE: Mapping[str, Any] = {
    "families": [_FAMILY],
    "column_family": str,
    "rocksdb_version": str,
    **dict.fromkeys(("seconds", "batch_size", "ingest_rate", "ingest_peak"), float),
    **dict.fromkeys(("stall_percent", "sync_share"), float),
    "wal": bool,
    "operations": {_ANY: float},
    "latency": {_ANY: float},
    "sources": _SOURCES,
    "not_expressed": [str],
    "unknown": [{"what": str, "how to learn it": str}],
}


def known_profile(document: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of a profile, as ``rocktune profile --json`` prints it, in its whole shape.

    Names that are not known are left out; what is missing is null, or empty.

    Raises:
        InputError: Something is of another type, negative or too long, or no family is named.
    """
    found: dict[str, Any] = _shaped(document, _PROFILE, "profile")
    if not found["families"] or not all(each["name"] for each in found["families"]):
        problem = "name each family; send the object that `rocktune profile --json` prints"
        raise InputError("profile.families", problem)
    return found


def _shaped(given: Any, shape: Any, where: str) -> Any:
    if isinstance(shape, list):
        rows = [] if given is None else given
        if not isinstance(rows, list):
            raise InputError(where, "write a list")
        return [_shaped(each, shape[0], f"{where}[{n}]") for n, each in enumerate(rows, 1)]
    if isinstance(shape, dict):
        held = {} if given is None else given
        if not isinstance(held, dict):
            raise InputError(where, "write an object")
        inside = dict.fromkeys(held, shape[_ANY]) if _ANY in shape else shape
        return {name: _shaped(held.get(name), inside[name], f"{where}.{name}") for name in inside}
    if given is None:
        return None
    if shape is float:
        number = finite_number(given)
        if number is None or number < 0:
            raise InputError(where, f"{given!r:.80} is no number from 0 on")
        return given
    if not isinstance(given, shape) or len(str(given)) > _MOST_TEXT:
        said = f"a text of at most {_MOST_TEXT} characters" if shape is str else "true or false"
        raise InputError(where, f"{given!r:.80} is not {said}")
    return given
