"""Changed options: how a running database takes them, and a user's OPTIONS file that has them.

``SetDBOptions`` and ``SetOptions`` (rocksdb/db.h) change what RocksDB's own lists call mutable;
``OptionFact`` has them by version. Options of a table are changed as fields of
``block_based_table_factory``.

A file is edited in place, all else byte for byte. A value stands where the file has it: on a line
of its own, in a structure, or on a line that reaches into one with a dot. Every line that differs
has one above it that begins with ``#``, which RocksDB passes over (TrimAndRemoveComment in
options_parser.cc).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from typing import Literal

from sampler.rocksdb.measured_part import without_derived
from sampler.rocksdb.option_facts import Acts, fact_of
from sampler.rocksdb.option_values import title_of
from sampler.rocksdb.options_file import (
    DB,
    DEFAULT_FAMILY,
    TABLE,
    VERSION,
    OptionsFile,
    format_struct,
    parse_struct,
    said_in,
    section_title,
    split_lines,
    struct_parts,
)
from sampler.rocksdb.parameters import catalogue

Call = Literal["SetDBOptions", "SetOptions"]
TABLE_STRUCT = "block_based_table_factory"
_ACTS_WORDS: dict[Acts, str] = {
    "at once": "immediately",
    "new memtables": "from the next memtable on",
    "next files": "in files written from then on; there is nothing to rewrite",
    "new files": "in new SST files; compaction rewrites the existing ones",
    "new blob files": "in new blob files; garbage collection rewrites the existing ones",
    "next compaction": "from the next compaction on",
    "whole rewrite": "in full after a full compaction",
    "restart": "in full after the database is reopened",
}
_MARK = "# Rocktune: "
_NO_END = "\n\\ No newline at end of file\n"
_WITH_END = re.compile(r"[^\n]*\n|[^\n]+")
_ENDING = re.compile(r"[\r\n]*$")
# Options of a column family that hold those of its table, where that has no section.
_TABLES = ("block_based_table_factory", "table_factory")


@dataclass(frozen=True)
class PlannedChange:
    """An option that is to change."""

    title: str  # its section of an OPTIONS file
    key: str  # ``struct.field`` for a field of a structure
    before: str | None  # as a text of an OPTIONS file; None: not known
    after: str | None


@dataclass(frozen=True)
class Applying:
    """How one option is changed."""

    call: Call | None  # what changes it while the database runs; None: a restart
    since: str  # the RocksDB since which there is such a call, ``6.9``; "" for never
    acts: Acts  # from when on it acts

    @property
    def how(self) -> str:
        """The call, or that it takes a restart."""
        return self.call or "restart" + (f" (online since {self.since})" if self.since else "")

    @property
    def when(self) -> str:
        """From when on it acts, in words."""
        return _ACTS_WORDS[self.acts]

    def document(self) -> dict[str, str | None]:
        """As JSON: ``call`` is null where it takes a restart, ``since`` where no version can."""
        return {"call": self.call, "since": self.since or None, "acts": self.acts}


def applying(title: str, key: str, version: str | None) -> Applying | None:
    """How an option of a section is changed in a database of a version; None: not known.

    Where the version, ``7.8.3``, is not known, it takes a restart.
    """
    fact = fact_of(title, key)
    if fact is None:
        return None
    call: Call = "SetDBOptions" if title == DB else "SetOptions"
    mutable = version is not None and fact.is_mutable_in(version)
    return Applying(call if mutable else None, fact.mutable, fact.acts)


def parameter_document(name: str, version: str | None) -> dict[str, str | None] | None:
    """How a parameter is changed, as JSON; None for one that is no option of RocksDB."""
    parameter = catalogue().get(name)  # none of a space of the user's own
    if parameter is None or parameter.section == "workload":
        return None
    # The block cache is an object of the application, and stands among a table's options.
    title = title_of(parameter) if parameter.is_option else TABLE
    how = applying(title, parameter.key, version)
    return how.document() if how else None


@dataclass(frozen=True)
class Steps:
    """What to do to bring changes into a database."""

    version: str | None  # of RocksDB, ``7.8.3``
    rows: Sequence[tuple[PlannedChange, Applying | None]]
    calls: Sequence[str]  # in C++, for what a running database takes
    lines: Sequence[str]  # what there is to do beside them
    first: Sequence[str] = ()  # what the program must set itself before; see ``application_steps``


def steps_of(
    changes: Sequence[PlannedChange], file: OptionsFile, first: Sequence[str] = ()
) -> Steps:
    """How to bring changes into a database of the RocksDB that a file says it is of."""
    version = None if file.version is None else ".".join(map(str, file.version))
    rows = [(each, applying(each.title, each.key, version)) for each in changes]
    calls = list(_calls(rows))
    lines = list(_lines(rows, called=bool(calls)))
    return Steps(version, rows, calls, lines, first)


def _calls(rows: Sequence[tuple[PlannedChange, Applying | None]]) -> Iterator[str]:
    groups: dict[tuple[Call, str], OptionsFile] = {}
    for change, how in rows:
        if how is None or how.call is None or change.after is None:
            continue
        kind, _, family = change.title.partition(" ")
        key = f"{TABLE_STRUCT}.{change.key}" if kind.startswith("TableOptions/") else change.key
        place = (how.call, family.strip('"'))
        given = groups.get(place, OptionsFile())
        groups[place] = given.with_values("", {key: change.after})
    for (call, family), found in sorted(groups.items(), key=lambda item: item[0]):
        values = found.sections[""].items()
        pairs = ", ".join(f"{{{json.dumps(key)}, {json.dumps(text)}}}" for key, text in values)
        of = "" if family in ("", DEFAULT_FAMILY) else f"{family}_handle, "
        yield f"db->{call}({of}{{{pairs}}});"


def _lines(
    rows: Sequence[tuple[PlannedChange, Applying | None]], *, called: bool
) -> Iterator[str]:
    def keys(*acts: Acts) -> list[str]:
        return [change.key for change, how in rows if how and how.acts in acts]

    restart = [c.key for c, how in rows if c.after is not None and not (how and how.call)]
    by_hand = [change.key for change, _ in rows if change.after is None]
    told = {
        "Restart with OPTIONS.ini to change: {}.": restart,
        "Remove from your own file, then restart: {}.": by_hand,
        "Existing SST files keep the old value until they are compacted (CompactRange with "
        "BottommostLevelCompaction::kForce rewrites all): {}.": keys("new files", "whole rewrite"),
        "Existing blob files keep the old value until garbage is collected from them "
        "(CompactRange with BottommostLevelCompaction::kForce, blob_garbage_collection_policy "
        "= kForce and blob_garbage_collection_age_cutoff = 1 rewrites all): {}.":
            keys("new blob files"),
        "RocksDB refuses a database that has files beyond num_levels. Try the new file and the "
        "old one on a copy.": [c.key for c, _ in rows if c.key == "num_levels"],
        "A call lasts until the database is reopened. Also change the options that your program "
        "opens it with.": ["called"] * called,
    }  # fmt: skip
    return (words.format(", ".join(names)) for words, names in told.items() if names)


@dataclass(frozen=True)
class Edit:
    """A key that is to have another value."""

    section: str  # the title of its section in the file
    key: str  # a structure as a whole
    text: str | None  # its value; None: it is to be taken out
    why: str  # for the line above it


def changes_to(file: OptionsFile, wanted: OptionsFile) -> list[Edit]:
    """What makes of a file in its normal form one that says what is wanted.

    A size that ``wanted`` leaves out stays in the file while RocksDB would work out the same.
    """
    found = []
    for section in dict.fromkeys([*file.sections, *wanted.sections]):
        before, after = file.sections.get(section, {}), wanted.sections.get(section, {})
        for key in dict.fromkeys([*before, *after]) if section != VERSION else ():
            was, now = before.get(key), after.get(key)
            if was == now:
                continue
            kept = wanted.with_values(section, {key: was or ""})
            derived = now is None and key not in without_derived(kept).sections[section]
            if not derived:
                why = _why(section, key, was, now)
                found.append(Edit(file.own_title(section), key, now, why))
    return found


def _why(section: str, key: str, was: str | None, now: str | None) -> str:
    if was is None:
        return "new; not set in your file"
    if now is None:
        fact = fact_of(section, key)
        if fact is not None and fact.overrides:
            return f"removed: it would override {fact.overrides}"
        return "removed: RocksDB derives it from the changed options"
    if not (was.startswith("{") and now.startswith("{")):
        return f"was {was}"
    old, new = parse_struct(was), parse_struct(now)
    told = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return ", ".join(f"{name} was {old.get(name, 'not set')}" for name in told)


@dataclass
class _Row:
    body: str
    end: str
    section: str  # the title of the section that it is in, or begins
    key: str  # what it sets, with its dots; empty where it sets nothing
    above: list[str] = field(default_factory=list)  # why it differs
    below: list[str] = field(default_factory=list)

    @property
    def value(self) -> str:
        return said_in(self.body).partition("=")[2].strip()

    @property
    def indent(self) -> str:
        inside = self.body.removeprefix("#")
        return inside[: len(inside) - len(inside.lstrip())]

    def put(self, text: str, why: str) -> None:
        """Gives it a value; fields of a structure that have theirs stay as they are."""
        old = self.value
        new = _merged(old, text)
        if new != old:
            head, _, rest = self.body.partition("=")
            blanks = len(rest) - len(rest.lstrip()) if old else 0
            self.body = f"{head}={rest[:blanks]}{new}{rest[blanks + len(old) :]}"
            self.above.append(why)

    def take_out(self, why: str) -> None:
        self.body, self.key = f"#{self.body}", ""
        self.above.append(why)

    def add(self, key: str, text: str, why: str) -> None:
        """Puts a line of its own for a key below it."""
        indent = self.indent if self.key else "  "
        self.below += [f"{indent}{_MARK}{why}", f"{indent}{key}={text}"]


def patched(text: str, changes: Sequence[Edit], *, comments: Iterable[str] = ()) -> str:
    """The text of a file with some changes, as ``changes_to`` gives them, each told above it.

    ``comments``, without ``#``, stand at the top. A byte order mark is left out, for RocksDB
    refuses a file that has one. The file must be one that ``parse_options`` takes.
    """
    rows = list(_rows(text))
    newline = next((row.end for row in rows if row.end), "\n")
    for change in changes:
        mine = [row for row in rows if row.section == change.section]
        if mine:
            _apply(mine, change)
        else:
            family = f"CFOptions {change.section.partition(' ')[2]}"  # whose table it is of
            _apply_in_family([row for row in rows if row.section == family], change)
    told = [f"# {line}".rstrip() for each in comments for line in each.splitlines() or [""]]
    lines = ([*(f"{r.indent}{_MARK}{w}" for w in r.above), r.body, *r.below] for r in rows)
    body = "".join(newline.join(each) + row.end for each, row in zip(lines, rows, strict=True))
    return "".join(f"{line}{newline}" for line in told) + body


def _rows(text: str) -> Iterator[_Row]:
    section = ""
    for line in split_lines(text):
        end, said = _ENDING.findall(line)[0], said_in(line)
        title = section_title(said)
        section = title or section
        key = "" if title else said.partition("=")[0].strip()
        yield _Row(line.removesuffix(end), end, section, key)


def _apply(rows: Sequence[_Row], change: Edit) -> None:
    """Of a key that stands twice the first line counts; so all go where it is taken out."""
    key, text, why = change.key, change.text, change.why
    exact = [row for row in rows if row.key == key]
    dotted = [row for row in rows if row.key.startswith(f"{key}.")]
    fields = parse_struct(text) if text is not None and text.startswith("{") else {}
    last = dotted[-1] if dotted else _last(rows)
    for row in dotted:
        member = row.key.removeprefix(f"{key}.")
        if member in fields:
            row.put(fields[member], why)
        else:
            row.take_out(why)
    if text is None:
        for row in exact:
            row.take_out(why)
    elif exact:
        there = parse_struct(exact[0].value)
        apart = {row.key.removeprefix(f"{key}.") for row in dotted} - there.keys()
        kept = {name: value for name, value in fields.items() if name not in apart}
        exact[0].put(format_struct(kept) if apart else text, why)
    elif fields and dotted:
        named = {row.key.removeprefix(f"{key}.") for row in dotted}
        for name in (each for each in fields if each not in named):
            last.add(f"{key}.{name}", fields[name], why)
    else:
        last.add(key, text, why)


def _last(rows: Sequence[_Row]) -> _Row:
    return next((row for row in reversed(rows) if row.key), rows[0])


def _apply_in_family(rows: Sequence[_Row], change: Edit) -> None:
    """Changes an option of a table that has no section among those of its column family."""
    for struct in _TABLES:
        mine = [row for row in rows if f"{row.key}.".startswith(f"{struct}.")]
        fields: dict[str, str] = {}
        for row in mine:
            member = row.key.removeprefix(struct).removeprefix(".")
            fields |= {member: row.value} if member else parse_struct(row.value)
        if fields:
            fields = {
                n: t for n, t in {**fields, change.key: change.text}.items() if t is not None
            }
            _apply(rows, Edit(rows[0].section, struct, format_struct(fields), change.why))
            return
    last = _last(rows)
    if f"[{change.section}]" not in last.below:
        last.below += ["", f"[{change.section}]"]
    last.add(change.key, change.text or "", change.why)


def _merged(old: str, new: str) -> str:
    """A new value, written as the old one is: of a structure all fields that do not differ."""
    if not new.startswith("{") or "=" not in old:
        return new
    fields, braces = parse_struct(new), old.startswith("{") and old.endswith("}")
    parts, named = [], set()
    for part in struct_parts(old[1:-1] if braces else old):
        name, equals, value = part.partition("=")
        name, value = name.strip(), value.strip()
        named.add(name)
        if not equals or fields.get(name) == value:
            parts.append(part)
        elif name in fields:
            head, _, rest = part.partition("=")
            parts.append(f"{head}={rest.replace(value, _merged(value, fields[name]), 1)}")
    tail = [parts.pop()] if parts and not parts[-1].strip() else []
    parts += [f"{name}={text}" for name, text in fields.items() if name not in named]
    inner = ";".join(parts + tail)
    return f"{{{inner}}}" if braces else inner


def difference(before: str, after: str, *, names: tuple[str, str]) -> str:
    """A unified diff from one text to another, as ``patch`` takes it; empty where they agree."""
    old, new = _WITH_END.findall(before), _WITH_END.findall(after)
    lines = unified_diff(old, new, *names)
    return "".join(line if line.endswith("\n") else line + _NO_END for line in lines)
