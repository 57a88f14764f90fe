"""What is given as an OPTIONS file or a LOG and is neither, recognised by its shape.

Ceph keeps RocksDB's options in one string of its own configuration, MyRocks in several variables;
TiKV and Kvrocks name them in files of their own. None of it is read here: the message says what
the text is, and where each of its options belongs in an OPTIONS file.
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from sampler.options.option_facts import option_facts
from sampler.options.options_file import CF, DB, VERSION, said_in, section_title, split_lines

_CEPH = re.compile(r"\b(?:bluestore|filestore)[_ ](?:omap[_ ])?rocksdb[_ ]options\w*")
_MYROCKS = re.compile(r"^[^\S\n]*(?:loose[-_])?rocksdb[-_](\w[\w-]*)[^\S\n]*=(.*)", re.MULTILINE)
_TIKV = re.compile(r"^\s*\[(?:rocksdb|raftdb)(?:\.\w+)?\]", re.MULTILINE)
_KVROCKS = re.compile(r"^\s*rocksdb\.\w+ +\S", re.MULTILINE)
_LOG = re.compile(r"\d{4}/\d\d/\d\d-\d\d:\d\d:\d\d")
_ASSIGNED = re.compile(r"\s*([A-Za-z]\w*(?:\.\w+)*)\s*=")
_FAMILY_STRINGS = ("default_cf_options", "override_cf_options")
# Variables of MyRocks whose name is not that of the option.
_RENAMED = {"block_cache_size": "block_cache"}
_DB, _CF, _TABLE = f"[{DB}]", f"[{CF}]", "block_based_table_factory={...} of the second"
_LEAST_COLUMNS = 5  # of a table of measurements
_LONGEST = 65_536  # characters that are looked at
_TO_TRIALS = (
    "nights are compared with runs of Rocktune's own. To keep these figures beside later ones, "
    "submit a job of the workload external to a service and report each row as a run of its "
    'baseline: POST /v1/jobs/ID/trials {"trials": [{"baseline": true, "metrics": {"rate": 1}}]}'
)


def other_form(text: str) -> str | None:
    """What a text is that is no OPTIONS file, LOG or workload, and what to do; None: not known.

    The words follow the name of what was given: ``is an option string of Ceph; write ...``.
    """
    start = text[:_LONGEST]
    told = _configuration(start) or _option_string(start) or _measurements(start)
    return None if told is None else f"is {told}"


def not_options(text: str) -> str | None:
    """The same of a text that is given as an OPTIONS file and cannot be read as one.

    None of one that begins as an OPTIONS file does: then what is wrong in it is to be told.
    """
    if is_options_file(text):
        return None
    if _LOG.match(text.lstrip()):
        return (
            "is a LOG; give the OPTIONS-NUMBER of its folder here, and the LOG to `rocktune "
            "stats` or `rocktune profile`"
        )
    return other_form(text)


def is_options_file(text: str) -> bool:
    """Whether a text begins as an OPTIONS file does."""
    return section_title(next(_said(text), "")) in (VERSION, DB)


def _configuration(text: str) -> str | None:
    """The configuration of a program that has RocksDB inside."""
    if found := _CEPH.search(text):
        value = text[found.end() :].partition("\n")[0].lstrip(" =\t\"'")
        return (
            f"a configuration of Ceph ({found[0]}), which keeps its OPTIONS file inside BlueFS; "
            f"{_by_hand(_assigned(value))}. {_comes_back('ceph')}"
        )
    if variables := [(name.replace("-", "_"), value) for name, value in _MYROCKS.findall(text)]:
        names = [
            name
            for variable, value in variables
            for name in (
                _assigned(value)
                if variable in _FAMILY_STRINGS
                else [_RENAMED.get(variable, variable)]
            )
        ]
        known = [name for name in names if _section(name)]
        return (
            "a configuration of MyRocks (rocksdb_ variables); give the newest OPTIONS-NUMBER of "
            f"rocksdb_datadir (.rocksdb, or #rocksdb in MariaDB), or {_by_hand(known)}. "
            f"{_comes_back('string')}"
        )
    for name, pattern in (("TiKV", _TIKV), ("Kvrocks", _KVROCKS)):
        if pattern.search(text):
            return (
                f"a configuration of {name}; give the newest OPTIONS-NUMBER of the folder in "
                "which its RocksDB keeps the database"
            )
    return None


def _option_string(text: str) -> str | None:
    """An option string alone: Ceph parts options with commas, RocksDB and MyRocks do not."""
    first = next(_said(text), "").strip("\"'")
    names = _assigned(first)
    if len(names) < 2 or not any(map(_section, names)):
        return None
    if ";" in first.partition("{")[0]:
        return (
            "an option string (rocksdb_default_cf_options of MyRocks, GetOptionsFromString); "
            f"{_by_hand(names)}. {_comes_back('string')}"
        )
    told = "an option string of Ceph (bluestore_rocksdb_options)"
    return f"{told}; {_by_hand(names)}. {_comes_back('ceph')}"


def _measurements(text: str) -> str | None:
    """Measurements of another tool."""
    first, second = [*islice((line for line in text.splitlines() if line.strip()), 2), "", ""][:2]
    if first.startswith("ops_sec\tmb_sec"):
        return f"a report of RocksDB's tools/benchmark.sh (report.tsv); {_TO_TRIALS}"
    for mark in "\t,":
        columns = first.count(mark) + 1
        alike = columns >= _LEAST_COLUMNS and second.count(mark) + 1 == columns
        if alike and "=" not in first + second:
            return f"a table of {columns} columns; {_TO_TRIALS}"
    try:
        found = json.loads(text) if text.lstrip().startswith(("{", "[")) else None
    except (ValueError, RecursionError):
        return None
    if isinstance(found, dict | list):
        return f"JSON. A job's configuration is in its OPTIONS.ini; of measurements, {_TO_TRIALS}"
    return None


def _said(text: str) -> Iterator[str]:
    return filter(None, map(said_in, split_lines(text)))


def _assigned(text: str) -> list[str]:
    """The names that a string gives values; what stands in braces is a value."""
    names, depth, start = [], 0, 0
    for position, character in enumerate(text + ";"):
        depth += (character == "{") - (character == "}")
        if character in ",;" and depth <= 0:
            if found := _ASSIGNED.match(text[start:position]):
                names.append(found[1])
            start = position + 1
    return names


def _section(name: str) -> str | None:
    """Where an option belongs in an OPTIONS file; None: RocksDB has none of that name."""
    facts, key = option_facts(), name.partition(".")[0]
    places = {"DBOptions": _DB, "CFOptions": _CF, "BlockBasedTable": _TABLE}
    return next((where for kind, where in places.items() if (kind, key) in facts), None)


def _by_hand(names: Sequence[str]) -> str:
    """How to write an OPTIONS file of options that have these names."""
    by_place: dict[str | None, list[str]] = {}
    for name in dict.fromkeys(names):
        by_place.setdefault(_section(name), []).append(name)
    told = [f"{', '.join(by_place[_DB])} below the first"] if _DB in by_place else []
    told += [f"{', '.join(by_place[_TABLE])} inside {_TABLE}"] if _TABLE in by_place else []
    told.append(f"{'the others' if told else 'all'} below the second")
    left = by_place.get(None, [])
    out = f"; leave out {', '.join(left)}, which RocksDB does not have" if left else ""
    return (
        f"write an OPTIONS file by hand, with the sections {_DB} and {_CF} and one option=value a "
        f"line: {', '.join(told)}{out}"
    )


def _comes_back(form: str) -> str:
    return f"`rocktune options ID --format {form}` writes a job's result in that form"
