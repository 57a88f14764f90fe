"""The forms in which people have a configuration: those that are recognised, and those written.

Ceph keeps RocksDB's options in one string of its own configuration, MyRocks in several variables;
TiKV and Kvrocks name them in files of their own. None of it is read here: ``other_form`` says what
a text is, and where each of its options belongs in an OPTIONS file.

``write_form`` writes option strings as ``GetDBOptionsFromString`` and
``GetColumnFamilyOptionsFromString`` take them (rocksdb/convenience.h), and MyRocks for
``rocksdb_default_cf_options``. Ceph cuts its string at every comma, semicolon and line and gives
RocksDB one option at a time, then makes the table's options of settings of its own
(src/kv/RocksDBStore.cc: ParseOptionsFromStringStatic, load_rocksdb_options). db_bench reads flags
from a file (``--flagfile``).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Literal, get_args

from sampler.common.errors import InputError
from sampler.rocksdb.changes import TABLE_STRUCT, PlannedChange, Steps, steps_of
from sampler.rocksdb.measured_part import normalized
from sampler.rocksdb.option_facts import fact_of, option_facts, option_flags
from sampler.rocksdb.option_values import read_values, title_of
from sampler.rocksdb.options_file import (
    CF,
    DB,
    DEFAULT_FAMILY,
    TABLE,
    VERSION,
    OptionsFile,
    format_struct,
    leaves,
    parse_options,
    parse_struct,
    said_in,
    section_title,
    split_lines,
)
from sampler.rocksdb.parameters import catalogue

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
Form = Literal["ini", "string", "ceph", "flags", "json", "setoptions", "table"]
FORMS: tuple[Form, ...] = get_args(Form)
_TABLE_KINDS = {"BlockBasedTable": TABLE_STRUCT, "PlainTable": "plain_table_factory"}
_ESCAPED = re.compile(r"\\([:#\\])")  # as OPTIONS files have it; an option string has it plain
_CEPH_BITS = re.compile(r"bloomfilter:(\d+)(?:\.0*)?(?::\w+)?")
_CEPH_INDEXES = {
    "kBinarySearch": "binary_search", "kHashSearch": "hash_search",
    "kTwoLevelIndexSearch": "two_level",
}  # fmt: skip
_CEPH_TABLE = frozenset({
    "block_size", "metadata_block_size", "partition_filters", "cache_index_and_filter_blocks",
    "cache_index_and_filter_blocks_with_high_priority", "pin_l0_filter_and_index_blocks_in_cache",
})  # fmt: skip
_NO_LIMIT = str(2**32 - 1)  # of universal_max_merge_width
_BY_NUMBER = frozenset({
    "compaction_pri", "compaction_style", "checksum_type", "prepopulate_block_cache",
    "prepopulate_blob_cache", "index_shortening_mode",
})  # fmt: skip


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


def read_user_options(
    text: str, *, name: str = "OPTIONS file", family: str | None = None
) -> OptionsFile:
    """One column family of a user's OPTIONS file as its default one, in its normal form.

    Errors are those of ``parse_options`` and of ``OptionsFile.as_default``; a text of another form
    that is known is named.
    """
    try:
        found = parse_options(text, name=name)
    except InputError:
        if told := not_options(text):
            raise InputError(name, told) from None
        raise
    return normalized(found.as_default(family))


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


def write_form(form: Form, text: str, changes: Sequence[PlannedChange]) -> str:
    """An OPTIONS file in one of the forms, for the RocksDB whose version it says.

    ``ini`` is the file as it is; ``setoptions`` and ``table`` are of its changes alone.
    """
    if form == "ini":
        return text
    file = parse_options(text)
    steps = steps_of(changes, file)
    forms: Mapping[Form, Iterable[str]] = {
        "string": _strings(file),
        "ceph": _ceph(file),
        "flags": _flags(file),
        "json": [json.dumps(_document(file, steps), indent=1)],
        "setoptions": [*steps.calls, *(f"// {line}" for line in steps.lines)],
        "table": _table(steps),
    }
    return "".join(f"{line}\n" for line in forms[form])


def option_string(options: Mapping[str, str]) -> str:
    """``a=b;c={d=e;};``; ``parse_struct`` reads it back."""
    return format_struct(options)[1:-1]


def _strings(file: OptionsFile) -> Iterator[str]:
    yield "# The database: GetDBOptionsFromString."
    yield option_string(_without_code(file, DB))
    for family in file.families:
        options = _without_code(file, f'CFOptions "{family}"')
        for kind, factory in _TABLE_KINDS.items():
            title = f'TableOptions/{kind} "{family}"'
            if title in file.sections:
                options.pop("table_factory", None)
                options[factory] = format_struct(_without_code(file, title))
        mine = " MyRocks: rocksdb_default_cf_options." if family == DEFAULT_FAMILY else ""
        yield f"# Column family {family}: GetColumnFamilyOptionsFromString.{mine}"
        yield option_string(options)


def _without_code(file: OptionsFile, title: str) -> dict[str, str]:
    """A section but for what names code of the application, such as a comparator."""
    found = {}
    for key, text in file.sections.get(title, {}).items():
        fact = fact_of(title, key)
        if not (fact and fact.type in ("object", "vector") and fact.measure == "leave_out"):
            found[key] = _ESCAPED.sub(r"\1", text)
    return found


def _measured(file: OptionsFile) -> list[tuple[str, str, str]]:
    kept = {title: _without_code(file, title) for title in (DB, CF, TABLE)}
    return [(title, key, text) for (title, key), text in leaves(OptionsFile(kept))]


def _ceph(file: OptionsFile) -> Iterator[str]:
    pairs, own, left = [], [], []
    for title, key, text in _measured(file):
        setting = _ceph_setting(key, text) if title == TABLE else None
        struct, _, member = key.partition(".")
        whole = fact_of(title, struct) if member else None
        if setting:
            own.append(f"rocksdb_{setting}")
        elif title == TABLE or (whole and whole.type != "struct") or set(text) & set(",;{"):
            left.append(key)  # an object needs its name and its fields at once
        else:
            pairs.append(f"{key}={text}")
    yield "# For [osd] in ceph.conf. Replaces the whole previous value."
    yield f"bluestore_rocksdb_options = {','.join(pairs)}"
    yield from own
    yield from _left("Ceph has no setting for", left)


def _ceph_setting(key: str, text: str) -> str | None:
    bits = _CEPH_BITS.fullmatch(text)
    if key == "filter_policy" and bits:
        return f"bloom_bits_per_key = {bits[1]}"
    if key == "index_type" and text in _CEPH_INDEXES:
        return f"index_type = {_CEPH_INDEXES[text]}"
    return f"{key} = {text}" if key in _CEPH_TABLE else None


def _left(what: str, keys: Sequence[str]) -> list[str]:
    return [f"# {what}: {', '.join(keys)}."] if keys else []


def _flags(file: OptionsFile) -> Iterator[str]:
    known = [each for each in catalogue().values() if each.is_option and each.flag]
    by_place = {(title_of(each), each.key): each for each in known}
    values = read_values(file, known)
    others = {(each.title, each.key): each for each in option_flags().values() if each.key}
    flags: dict[str, object] = {}
    left = []
    for title, key, text in _measured(file):
        parameter, other = by_place.get((title, key)), others.get((title, key))
        name = parameter.flag if parameter else other.name if other else ""
        value: object = None
        if name in _BY_NUMBER:
            fact = fact_of(title, key)
            value = fact.choices.index(text) if fact and text in fact.choices else None
        elif text == _NO_LIMIT:
            pass  # more than its flag holds, and what db_bench takes without one
        elif parameter and "ribbon" not in text:
            value = values.get(parameter.name)
            if parameter.kind == "cat" and value not in dict(parameter.choices):
                value = None  # a codec that db_bench has no word for
        elif other and other.tried == other.written and not text.startswith("k"):
            value = text
        if name == "min_level_to_compress" and "compression_type" in values:
            flags["compression_type"] = values["compression_type"]
        if value is None:
            left.append(key)
        else:
            flags.setdefault(name, value)
    yield "# For db_bench --flagfile=FILE. Flags that are not listed keep db_bench's defaults."
    for name, value in flags.items():
        value = -1 if name == "bloom_bits" and value == 0 else value  # 0 is a bit before 7.0
        yield f"--{name}={str(value).lower() if isinstance(value, bool) else value}"
    yield from _left("db_bench has no flag for", left)


def _document(file: OptionsFile, steps: Steps) -> dict[str, object]:
    sections = {
        title: {key: _tree(text) for key, text in keys.items()}
        for title, keys in file.sections.items()
        if title != VERSION
    }
    changes = [
        {**asdict(each), "apply": how.document() if how else None} for each, how in steps.rows
    ]
    return {"rocksdb_version": steps.version, "sections": sections, "changes": changes}


def _tree(text: str) -> object:
    fields = parse_struct(text) if text.startswith("{") else {}
    return {name: _tree(value) for name, value in fields.items()} if fields else text


def _table(steps: Steps) -> Iterator[str]:
    yield "| option | before | after | changed by | acts |"
    yield "|---|---|---|---|---|"
    for each, how in steps.rows:
        sides = ("default" if text is None else text for text in (each.before, each.after))
        told = (how.how, how.when) if how else ("not known", "not known")
        yield f"| {' | '.join((each.key, *sides, *told))} |"
