r"""RocksDB's OPTIONS files: sections of key=value lines, nested structures in braces.

The format is that of rocksdb/options/options_parser.cc. Keys that a file leaves out take the
library's defaults, and fields that a structure leaves out likewise. Of a key that a section names
twice the first line counts. The name of a column family is what stands between the first quote of
its title and the last one; here it stays escaped as RocksDB writes it (``odd\:name``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from sampler.common.errors import InputError

DB = "DBOptions"
CF = 'CFOptions "default"'
TABLE = 'TableOptions/BlockBasedTable "default"'
VERSION = "Version"
# By the names of sections in the tables of parameters and flags.
SECTION_TITLES = {"DBOptions": DB, "CFOptions": CF, "Table": TABLE}
# In DB: where a database keeps what is not in its folder, and by what it reaches its files. Who
# opens another database with them writes logs among those of the one that the options are of, or
# is refused where there are any ("wal_dir contains existing log file").
ELSEWHERE = ("wal_dir", "db_log_dir", "env")
DEFAULT_FAMILY = "default"
_CF_KIND, _TABLE_KIND = "CFOptions", "TableOptions/"
_DOTTED = re.compile(r"\d{1,4}(\.\d{1,4}){0,2}", re.ASCII)
_LEADS_OUT = re.compile(rf"^[^\S\n]*(?:{'|'.join(ELSEWHERE)})[^\S\n]*=.*\n?", re.MULTILINE)
_COMMENT = re.compile(r"(?<!\\)#.*")  # what follows an unescaped #, as RocksDB's own parser
_SECTION = re.compile(r'\[([^"]*)(?:"(.*)"[^"]*)?\]')
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_BRACES = re.compile(r"[{};]")
# RocksDB nests three deep (a secondary cache in the block cache of a table), and the largest of
# its structures, that of a block-based table, has some fifty fields.
MOST_DEPTH, MOST_FIELDS = 16, 256
# EscapeOptionString and its inverse in string_util.cc.
_SPECIAL, _ESCAPED = re.compile(r"[\\#:\r\n]"), re.compile(r"\\(.?)", re.DOTALL)
_NAMED = {"\n": "n", "\r": "r"}


@dataclass(frozen=True)
class OptionsFile:
    """The text values of an OPTIONS file: section title -> key -> text."""

    sections: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # The line of each (section, key) in the file that it was read from, from 1; empty for one that
    # was put together.
    lines: Mapping[tuple[str, str], int] = field(default_factory=dict, compare=False, repr=False)
    # The family of the file that stands as the default one here; see ``as_default``.
    family: str = field(default=DEFAULT_FAMILY, compare=False)

    @property
    def version(self) -> tuple[int, ...] | None:
        """The RocksDB that wrote the file, as it says: ``(7, 8, 3)``; None if it does not."""
        text = self.sections.get(VERSION, {}).get("rocksdb_version", "")
        return tuple(map(int, text.split("."))) if _DOTTED.fullmatch(text) else None

    @property
    def families(self) -> tuple[str, ...]:
        """The names of its column families, ``default`` first."""
        return tuple(name for kind, name in map(_title_parts, self.sections) if kind == _CF_KIND)

    def table(self) -> str:
        """The title of the default family's table section; the block-based one if it has none."""
        titles = (t for t in self.sections if _title_parts(t)[1] == DEFAULT_FAMILY)
        return next((t for t in titles if t.startswith(_TABLE_KIND)), TABLE)

    def place(self, section: str, key: str) -> str:
        """Section, key and, where it is known, line: for messages."""
        line = self.lines.get((section, key)) or self.lines.get((section, key.partition(".")[0]))
        return f"[{self.own_title(section)}] {key}" + (f" (line {line})" if line else "")

    def own_title(self, section: str) -> str:
        """The title that a section has in the file: the inverse of ``as_default``."""
        kind, family = _title_parts(section)
        return f'{kind} "{self.family}"' if family == DEFAULT_FAMILY else section

    def get(self, section: str, key: str) -> str | None:
        """A value's text; ``struct.field`` looks inside a structure. None if it is not there."""
        struct, *members = key.split(".")
        text = self.sections.get(section, {}).get(struct)
        for member in members:
            text = None if text is None else _member(text, member)
        return text

    def with_values(self, section: str, values: Mapping[str, str]) -> OptionsFile:
        """A copy with values put in; ``struct.field`` sets one field of a structure."""
        keys = dict(self.sections.get(section, {}))
        for key, text in values.items():
            struct, _, member = key.partition(".")
            keys[struct] = _edited(keys.get(struct, "{}"), member, text) if member else text
        return replace(self, sections={**self.sections, section: keys})

    def without(self, section: str, names: Iterable[str]) -> OptionsFile:
        """A copy with some keys left out."""
        dropped = set(names)
        keys = {k: t for k, t in self.sections.get(section, {}).items() if k not in dropped}
        return replace(self, sections={**self.sections, section: keys})

    def of_family(self, family: str) -> OptionsFile:
        """The part that one column family runs with: the database's options and its own."""
        mine = [title for title in self.sections if _title_parts(title)[1] in (family, "")]
        return replace(self, sections={title: self.sections[title] for title in mine})

    def as_default(self, asked: str | None) -> OptionsFile:
        """The file as if one family of it were ``default``, for db_bench opens that one alone.

        The other families are left out. ``asked`` is its name, as it is or escaped; None: that of
        the default family.

        Raises:
            InputError: There is no such family; the message names those that there are.
        """
        names = (asked, _escaped(asked)) if asked is not None else (DEFAULT_FAMILY,)
        name = next((each for each in names if each in self.families), None)
        if name is None:
            there = ", ".join(self.families)
            problem = f"the OPTIONS file has no column family {asked!r:.80}; it has {there}"
            raise InputError("column_family", problem)

        def title(own: str) -> str | None:
            kind, family = _title_parts(own)
            if kind in (VERSION, DB):
                return own
            return f'{kind} "{DEFAULT_FAMILY}"' if family == name else None

        kept = {new: keys for own, keys in self.sections.items() if (new := title(own))}
        lines = {(new, key): n for (own, key), n in self.lines.items() if (new := title(own))}
        return OptionsFile(kept, lines, name)


def _edited(struct: str, key: str, text: str | None) -> str:
    """A structure with one of its fields, ``field`` or ``field.field``, set; None: left out."""
    name, _, member = key.partition(".")
    if members := list_members(struct):
        number = int(name) if len(members) > 1 else 0
        members[number] = _edited(members[number], member if len(members) > 1 else key, text)
        return ":".join(members)
    fields = parse_struct(struct)
    if member:
        text = _edited(fields.get(name, "{}"), member, text)
    if text is None:
        fields.pop(name, None)
    else:
        fields[name] = text
    return format_struct(fields)


def parse_struct(text: str) -> dict[str, str]:
    """The fields of ``{a=1;b={c=2;};}``; nested structures stay text."""
    inner = text.strip()
    if inner.startswith("{") and inner.endswith("}"):
        inner = inner[1:-1]
    fields: dict[str, str] = {}
    for part in struct_parts(inner):
        name, equals, value = part.partition("=")
        if equals:
            fields[name.strip()] = value.strip()
    return fields


def list_members(text: str) -> list[str]:
    """The structures of a list, ``{{id=A;}:{id=B;}}`` or ``{id=A;}:{id=B;}``; else none.

    RocksDB writes the first form and, of more than one structure, reads only the second.
    """
    inner = text.strip()
    listed = inner.startswith("{{") and inner.endswith("}}")
    members, depth, start = [], 0, 0
    inner = inner[1:-1] if listed else inner
    for position, character in enumerate(inner + ":"):
        depth += (character == "{") - (character == "}")
        if character in ":;" and depth <= 0:
            members.append(inner[start:position].strip())
            start = position + 1
    members = [each for each in members if each]
    if not all(each.startswith("{") and each.endswith("}") for each in members):
        return []
    return members if listed or len(members) > 1 else []


def _member(text: str, name: str) -> str | None:
    """A field of a structure, or of a list of one; of a longer list the structure of a number."""
    members = list_members(text)
    if len(members) > 1:
        return members[int(name)] if name.isdecimal() and int(name) < len(members) else None
    return parse_struct(members[0] if members else text).get(name)


def struct_parts(inner: str) -> Iterator[str]:
    """What stands between the semicolons of a structure without its braces; ``;`` joins it."""
    depth = start = 0
    for found in _BRACES.finditer(inner + ";"):
        depth += (found[0] == "{") - (found[0] == "}")
        if found[0] == ";" and depth <= 0:
            yield inner[start : found.start()]
            start = found.end()


def format_struct(fields: Mapping[str, str]) -> str:
    """The inverse of ``parse_struct``."""
    return "{" + "".join(f"{name}={value};" for name, value in fields.items()) + "}"


def leaves(options: OptionsFile) -> Iterator[tuple[tuple[str, str], str]]:
    """Every option that is a plain value, as ((section, key), text).

    Of a structure its fields, ``struct.field``, and their fields. Of a list of structures those of
    each, ``list.0.field``; of a list of one ``list.field``.
    """
    for section, keys in options.sections.items():
        if section != VERSION:
            for key, text in keys.items():
                for name, value in _fields(key, text):
                    yield (section, name), value


def _fields(key: str, text: str) -> Iterator[tuple[str, str]]:
    members = list_members(text)
    for number, member in enumerate(members):
        yield from _fields(f"{key}.{number}" if len(members) > 1 else key, member)
    if members:
        return
    fields: Mapping[str, str] = parse_struct(text) if text.startswith("{") else {}
    if not fields:
        yield key, text
    for name, value in fields.items():
        yield from _fields(f"{key}.{name}", value)


def unnumbered(key: str) -> str:
    """The name of a leaf without the numbers of structures in lists: ``list.0.field``."""
    return ".".join(part for part in key.split(".") if not part.isdecimal())


def without_leaf(options: OptionsFile, section: str, key: str) -> OptionsFile:
    """A copy without an option, or without one field of a structure."""
    name, _, member = key.partition(".")
    if not member:
        return options.without(section, [name])
    rest = _edited(options.sections.get(section, {}).get(name, "{}"), member, None)
    return options.with_values(section, {name: rest})


def parse_options(text: str, *, name: str = "OPTIONS file") -> OptionsFile:
    """Reads an OPTIONS file.

    Sections of other column families are kept as they are; only the default one is tuned.

    Raises:
        InputError: A line is neither a section, a comment nor key=value, a structure is nested
            more than 16 deep or has more than 256 fields, or sections are missing, double or in
            an order that RocksDB refuses (CheckSection in options_parser.cc).
    """
    sections: dict[str, dict[str, str]] = {}
    lines: dict[tuple[str, str], int] = {}
    fields = Counter[tuple[str, str]]()  # of each structure so far
    title: str | None = None
    for number, raw in enumerate(split_lines(text), start=1):
        line = said_in(raw)
        if not line:
            continue
        header = section_title(line)
        if header is not None:
            title = header
            problem = _misplaced(title, sections)
            if problem:
                raise InputError(name, f"line {number}: [{title:.80}] {problem}")
            sections[title] = {}
            continue
        key, equals, value = (part.strip() for part in line.partition("="))
        if not equals or not key or title is None:
            problem = f"line {number} is not key=value in a section: {line[:60]!r}"
            if title is None:  # it may be a file of another kind
                problem += (
                    f"; an OPTIONS file begins with [{VERSION}] or [{DB}], and RocksDB writes it "
                    "as OPTIONS-NUMBER to the database folder"
                )
            raise InputError(name, problem)
        if key not in sections[title]:
            struct, dot, _ = key.partition(".")
            fields[title, struct] += value.count(";") + len(dot)
            problem = _too_nested(key, value, fields[title, struct])
            if problem:
                raise InputError(name, f"line {number}: [{title:.80}] {key:.80} {problem}")
            sections[title][key] = value
            lines[title, key] = number
    for mandatory in (DB, CF):
        if mandatory not in sections:
            raise InputError(name, f"has no [{mandatory}] section")
    return OptionsFile(sections, lines)


def _too_nested(key: str, value: str, fields: int) -> str | None:
    """Why no reader could take a structure that is made to wear readers out; None: it is none."""
    if fields > MOST_FIELDS:
        return f"has more than {MOST_FIELDS} fields; give the file that RocksDB wrote"
    depth = deepest = key.count(".")
    for found in _BRACES.findall(value):
        depth += (found == "{") - (found == "}")
        deepest = max(deepest, depth)
    if deepest > MOST_DEPTH:
        return f"is nested more than {MOST_DEPTH} levels deep; give the file that RocksDB wrote"
    return None


def split_lines(text: str) -> list[str]:
    """The lines of a file with their ends, which are those of Windows or of Macs, too.

    Editors of Windows put a byte order mark first, which RocksDB refuses: it is left out.
    """
    return _LINE.findall(text.removeprefix("\ufeff"))


def said_in(line: str) -> str:
    """What a line says: it without its comment."""
    return _COMMENT.sub("", line).strip()


def section_title(said: str) -> str | None:
    """The title of the section that a line begins, ``CFOptions "name"``; None: it begins none."""
    header = _SECTION.fullmatch(said)
    if header is None:
        return None
    kind, name = header[1].strip(), header[2]
    return f'{kind} "{_escaped(_unescaped(name))}"' if name else kind


def _escaped(name: str) -> str:
    return _SPECIAL.sub(lambda found: "\\" + _NAMED.get(found[0], found[0]), name)


def _unescaped(name: str) -> str:
    meant = {short: long for long, short in _NAMED.items()}
    return _ESCAPED.sub(lambda found: meant.get(found[1], found[1]), name)


def _title_parts(title: str) -> tuple[str, str]:
    kind, _, family = title.partition(' "')
    return kind, family[:-1]


def _misplaced(title: str, before: Mapping[str, object]) -> str | None:
    kind, family = _title_parts(title)
    if title in before:
        return "is listed twice"
    if kind == _CF_KIND and title != CF and CF not in before:
        return f"comes before [{CF}], which must be the first column family"
    if kind.startswith(_TABLE_KIND) and f'{_CF_KIND} "{family}"' not in before:
        return f'needs [{_CF_KIND} "{family}"] before it'
    if kind not in (VERSION, DB, _CF_KIND) and not kind.startswith(_TABLE_KIND):
        return f"is not a section of an OPTIONS file; use [{DB}], [{CF}] or [{TABLE}]"
    return None


def within_its_folder(text: str) -> str:
    """The text of an OPTIONS file, but a database that is opened with it stays in its folder."""
    return _LEADS_OUT.sub("", text)


def format_options(
    options: OptionsFile, *, rocksdb_version: str, comments: Iterable[str] = ()
) -> str:
    """The text of an OPTIONS file that RocksDB accepts; comments, without ``#``, stand at the top.

    Sections other than the database's, the default column family's and its table's are written
    too, in their order. A file of an older version than the library's (``7.8.3``) is accepted.
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
