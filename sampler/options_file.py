"""RocksDB's OPTIONS files: sections of key=value lines, nested structures in braces.

The format is that of rocksdb/options/options_parser.cc. Keys that a file leaves out take the
library's defaults, and fields that a structure leaves out likewise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sampler.errors import InputError

DB = "DBOptions"
CF = 'CFOptions "default"'
TABLE = 'TableOptions/BlockBasedTable "default"'
VERSION = "Version"
# In DB: where a database keeps what is not in its folder, and by what it reaches its files. Who
# opens another database with them writes logs among those of the one that the options are of, or
# is refused where there are any ("wal_dir contains existing log file").
ELSEWHERE = ("wal_dir", "db_log_dir", "env")
_LEADS_OUT = re.compile(rf"^[^\S\n]*(?:{'|'.join(ELSEWHERE)})[^\S\n]*=.*\n?", re.MULTILINE)
_SECTION = re.compile(r'\[\s*([\w/]+)(?:\s+"([^"]*)")?\s*\]')


@dataclass(frozen=True)
class OptionsFile:
    """The text values of an OPTIONS file: section title -> key -> text."""

    sections: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def get(self, section: str, key: str) -> str | None:
        """A value's text; ``struct.field`` looks inside a structure. None if it is not there."""
        struct, _, member = key.partition(".")
        text = self.sections.get(section, {}).get(struct)
        return parse_struct(text).get(member) if text is not None and member else text

    def with_values(self, section: str, values: Mapping[str, str]) -> OptionsFile:
        """A copy with values put in; ``struct.field`` sets one field of a structure."""
        keys = dict(self.sections.get(section, {}))
        for key, text in values.items():
            struct, _, member = key.partition(".")
            if member:
                fields = parse_struct(keys.get(struct, "{}"))
                keys[struct] = format_struct({**fields, member: text})
            else:
                keys[key] = text
        return OptionsFile({**self.sections, section: keys})

    def without(self, section: str, names: Iterable[str]) -> OptionsFile:
        """A copy with some keys left out."""
        dropped = set(names)
        keys = {k: t for k, t in self.sections.get(section, {}).items() if k not in dropped}
        return OptionsFile({**self.sections, section: keys})


def parse_struct(text: str) -> dict[str, str]:
    """The fields of ``{a=1;b={c=2;};}``; nested structures stay text."""
    inner = text.strip()
    if inner.startswith("{") and inner.endswith("}"):
        inner = inner[1:-1]
    fields: dict[str, str] = {}
    depth = start = 0
    for position, character in enumerate(inner + ";"):
        depth += (character == "{") - (character == "}")
        if character == ";" and depth <= 0:
            name, equals, value = inner[start:position].partition("=")
            if equals:
                fields[name.strip()] = value.strip()
            start = position + 1
    return fields


def format_struct(fields: Mapping[str, str]) -> str:
    """The inverse of ``parse_struct``."""
    return "{" + "".join(f"{name}={value};" for name, value in fields.items()) + "}"


def parse_options(text: str, *, name: str = "OPTIONS file") -> OptionsFile:
    """Reads an OPTIONS file.

    Sections of other column families are kept as they are; only the default one is tuned.

    Raises:
        InputError: A line is neither a section, a comment nor key=value, or a mandatory section
            is missing.
    """
    sections: dict[str, dict[str, str]] = {}
    title: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        line = _without_comment(line).strip()
        if not line:
            continue
        header = _SECTION.fullmatch(line)
        if header:
            title = header.group(1) + (f' "{header.group(2)}"' if header.group(2) else "")
            sections.setdefault(title, {})
            continue
        key, equals, value = line.partition("=")
        if not equals or not key.strip() or title is None:
            raise InputError(name, f"line {number} is not key=value in a section: {line[:60]!r}")
        sections[title][key.strip()] = value.strip()
    for mandatory in (DB, CF):
        if mandatory not in sections:
            raise InputError(name, f"has no [{mandatory}] section")
    return OptionsFile(sections)


def within_its_folder(text: str) -> str:
    """The text of an OPTIONS file, but a database that is opened with it stays in its folder."""
    return _LEADS_OUT.sub("", text)


def _without_comment(line: str) -> str:
    """Drops what follows an unescaped #, as RocksDB's own parser does."""
    found = re.search(r"(?<!\\)#", line)
    return line[: found.start()] if found else line


def format_options(
    options: OptionsFile, *, rocksdb_version: str, comments: Iterable[str] = ()
) -> str:
    """The text of an OPTIONS file that RocksDB accepts.

    Args:
        options: The values; sections other than the database's, the default column family's and
            its table's are written too, in their order.
        rocksdb_version: ``7.8.3``. A file of an older version than the library's is accepted.
        comments: Lines for the top, without ``#``.
    """
    lines = [f"# {line}".rstrip() for comment in comments for line in comment.splitlines() or [""]]
    lines += [f"[{VERSION}]", f"  rocksdb_version={rocksdb_version}", "  options_file_version=1.1"]
    titles = [DB, CF, TABLE]
    titles += [t for t in options.sections if t not in (*titles, VERSION)]
    for title in titles:
        keys = options.sections.get(title, {})
        if keys or title in (DB, CF):
            lines += ["", f"[{title}]", *(f"  {key}={text}" for key, text in keys.items())]
    return "\n".join(lines) + "\n"
