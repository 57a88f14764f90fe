"""One configuration in the forms that people paste.

Option strings are what ``GetDBOptionsFromString`` and ``GetColumnFamilyOptionsFromString`` take
(rocksdb/convenience.h), and MyRocks for ``rocksdb_default_cf_options``. Ceph cuts its string at
every comma, semicolon and line and gives RocksDB one option at a time, then makes the table's
options of settings of its own (src/kv/RocksDBStore.cc: ParseOptionsFromStringStatic,
load_rocksdb_options). db_bench reads flags from a file (``--flagfile``).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Literal, get_args

from sampler.options.applying import TABLE_STRUCT, Change, Steps, fact_of, steps_of
from sampler.options.option_facts import option_flags
from sampler.options.option_values import read_values, title_of
from sampler.options.options_file import (
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
)
from sampler.parameters.catalogue import catalogue

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


def write_form(form: Form, text: str, changes: Sequence[Change]) -> str:
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
