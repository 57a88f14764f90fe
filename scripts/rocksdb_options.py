"""What RocksDB's headers declare and ``sampler/rocksdb/rocksdb_options.csv`` does not have.

``python scripts/rocksdb_options.py INCLUDE`` reads the headers of one release (``/usr/include``
of librocksdb-dev, or ``include`` of RocksDB's sources) and prints

- a row for each option that the table lacks, with what headers tell: section, key, type, the
  release, its default. A person adds how a scaled load treats it (``measure``) and why,
- each default that differs from the table's for that release (not those that RocksDB replaces
  when it opens a database: the table has what files then hold),
- each option that the table holds for current and the headers no longer declare.

It exits with 1 where there is anything to add. Headers do not tell the spelling of OPTIONS files:
that stands in ``options/db_options.cc``, ``options/cf_options.cc`` and the factories of tables.
"""

import ast
import operator
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sampler.common.documents import packaged_rows
from sampler.rocksdb.option_facts import option_facts, version_numbers

COLUMNS = list(next(iter(packaged_rows("sampler.rocksdb", "rocksdb_options.csv"))))
# Each structure whose fields are keys of an OPTIONS file, and the section that holds them.
STRUCTURES = {
    "DBOptions": "DBOptions",
    "ColumnFamilyOptions": "CFOptions",
    "AdvancedColumnFamilyOptions": "CFOptions",
    "BlockBasedTableOptions": "BlockBasedTable",
    "PlainTableOptions": "PlainTable",
    "CuckooTableOptions": "CuckooTable",
}
# Fields that no OPTIONS file holds: what a program sets by code, and lists of paths.
CODE_ONLY = {
    "cache_usage_options", "cf_paths", "checksum_handoff_file_types", "compaction_service",
    "compaction_thread_limiter", "db_paths", "dump_malloc_stats_fn", "info_log",
    "persistent_cache", "rate_limiter", "row_cache", "snap_refresh_nanos", "sst_file_manager",
    "table_properties_collector_factories", "write_buffer_manager",
}  # fmt: skip
# Keys of OPTIONS files that the headers call otherwise, or declare by a method, and one that two
# releases misspelled.
FILES_ONLY = {
    "block_based_table_factory", "compaction_filter", "flush_block_policy_factory", "listeners",
    "memtable", "memtable_veirfy_per_key_checksum_on_seek", "plain_table_factory",
    "rate_limiter_bytes_per_sec", "table_factory", "table_properties_collectors",
}  # fmt: skip
# Defaults that the table has of files of db_bench, which always sets these.
SET_BY_DB_BENCH = {"create_if_missing", "create_missing_column_families"}
TYPES = {
    "bool": "bool",
    "int": "int", "int32_t": "int", "int64_t": "int",
    "unsigned int": "uint", "size_t": "uint", "uint32_t": "uint", "uint64_t": "uint",
    "double": "double",
    "std::string": "string",
}  # fmt: skip
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DIRECTIVE = re.compile(r"^\s*#(?:[^\n]*\\\n)*[^\n]*$", re.MULTILINE)
_FIELD = re.compile(
    r"(?P<type>[\w:<>,\s*]+?)[\s*]+(?P<name>\w+)\s*(?:=\s*(?P<default>.+))?", re.DOTALL
)
_NO_FIELD = re.compile(r"^(?:static|using|enum|struct|class|virtual|explicit|friend|typedef)\b")
_SUM: dict[type[ast.operator], Callable[[Any, Any], int | float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.LShift: operator.lshift,
}  # fmt: skip


@dataclass(frozen=True)
class Field:
    """A field of one of RocksDB's structures of options, as its header declares it."""

    section: str
    key: str
    type: str  # as in the table; an ``enum`` may be a ``struct``: names do not tell
    default: (
        str  # as an OPTIONS file writes it where that is a number or a truth; else as declared
    )


def fields_of(include: Path) -> list[Field]:
    """The options that the headers of ``include/rocksdb`` declare.

    Raises FileNotFoundError where a header is not there.
    """
    text = "\n".join(
        (include / "rocksdb" / f"{name}.h").read_text()
        for name in ("options", "advanced_options", "table")
    )
    plain = _DIRECTIVE.sub("", _COMMENT.sub("", text))
    return [
        field
        for structure, section in STRUCTURES.items()
        for statement in _statements(_body(plain, structure))
        if (field := _field(section, statement)) is not None
    ]


def release_of(include: Path) -> str:
    """The release of headers, ``7.8``, from ``rocksdb/version.h``."""
    text = (include / "rocksdb" / "version.h").read_text()
    return ".".join(re.findall(r"^#define ROCKSDB_M(?:AJOR|INOR) (\d+)", text, re.MULTILINE))


def _body(text: str, structure: str) -> str:
    """What stands between the outer braces of a structure; "" where it is not defined."""
    begun = re.search(rf"\bstruct {structure}\b[^;{{]*\{{", text)
    if begun is None:
        return ""
    depth = 1
    for at in range(begun.end(), len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if not depth:
            return text[begun.end() : at]
    return ""


def _statements(body: str) -> Iterator[str]:
    """The statements of a body at its own depth; what stands in inner braces is left out."""
    depth, statement = 0, ""
    for letter in body:
        if letter == "}":
            depth -= 1
            if not depth and "(" in statement.split("=")[0]:  # the body of a method
                statement = ""
        elif letter == "{":
            depth += 1
        elif letter == ";" and not depth:
            yield statement.strip()
            statement = ""
        elif not depth:
            statement += letter


def _field(section: str, statement: str) -> Field | None:
    declared = _FIELD.fullmatch(statement)
    if declared is None or _NO_FIELD.match(statement) or declared["name"] in CODE_ONLY:
        return None
    kind, name = " ".join(declared["type"].split()), declared["name"]
    pointer = "ptr<" in kind or "*" in statement.split("=")[0]
    plural = "vector" if kind.startswith("std::vector") else "enum"
    default = (declared["default"] or "").strip()
    found = _value(default)
    return Field(
        section, name, TYPES.get(kind, "object" if pointer else plural),
        default if found is None else found,
    )  # fmt: skip


def _value(text: str) -> str | None:
    """A default of C++ as OPTIONS files write it; None where it is no number and no truth."""
    if text in ("true", "false"):
        return text
    try:
        value = _number(
            ast.parse(re.sub(r"(?<=[\da-fA-F])(?:u|U|l|L)+\b", "", text), mode="eval").body
        )
    except (SyntaxError, ValueError):
        return None
    return f"{value:.6f}" if isinstance(value, float) else str(value)


def _number(node: ast.expr) -> int | float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_number(inner)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _SUM:
            return _SUM[type(op)](_number(left), _number(right))
    raise ValueError("no number")


def _equal(declared: str, held: str) -> bool:
    """Whether two texts are one value: 10 and 10.000000 are."""
    try:
        return float(declared) == float(held)
    except ValueError:
        return declared == held


def _row_for(field: Field, release: str) -> str:
    """A row of the table with what headers tell; the release is the first one known to have it."""
    told = {
        "section": field.section,
        "key": field.key,
        "type": field.type,
        "since": f"<={release}",
        "later": f"{release}={field.default}",
    }
    return ",".join(told.get(column, "") for column in COLUMNS)


def differences(include: Path) -> tuple[list[str], list[str]]:
    """Rows for the table, and what else differs, of the headers of one release."""
    release, known = release_of(include), option_facts()
    declared = {(field.section, field.key): field for field in fields_of(include)}
    rows = [_row_for(field, release) for at, field in declared.items() if at not in known]
    defaults = [
        f"{field.section} {field.key}: {field.default} in {release}, {default} in the table"
        for at, field in declared.items()
        if (fact := known.get(at)) is not None
        and field.key not in SET_BY_DB_BENCH
        and not fact.derived_as
        and (default := fact.default_in(release))
        and (number := _value(field.default)) is not None
        and not _equal(number, default)
    ]
    gone = [
        f"{fact.section} {fact.key}: no longer declared in {release}"
        for at, fact in known.items()
        if "." not in fact.key
        and fact.key not in FILES_ONLY
        and not fact.deprecated
        and at not in declared
        and version_numbers(fact.since or "0") <= version_numbers(release)
    ]
    return rows, defaults + gone


def main(arguments: list[str]) -> int:
    """Prints what the headers of a folder declare and the table lacks; returns the exit status."""
    if len(arguments) != 1 or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 2
    try:
        rows, others = differences(Path(arguments[0]))
    except FileNotFoundError as missing:
        print(f"{missing.filename} is missing: name the folder that holds rocksdb/options.h")
        return 2
    print("\n".join([*rows, *others]) or "The table has all of it.")
    return 1 if rows or others else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
