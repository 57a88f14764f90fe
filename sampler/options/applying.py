"""How a changed option comes into a database that is there: by a call, or by a restart.

``SetDBOptions`` and ``SetOptions`` (rocksdb/db.h) change what RocksDB's own lists call mutable;
``OptionFact`` has them by version. Options of a table are changed as fields of
``block_based_table_factory``.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from sampler.options.option_facts import Acts, OptionFact, option_facts, section_kind
from sampler.options.option_values import title_of
from sampler.options.options_file import DB, DEFAULT_FAMILY, TABLE, OptionsFile
from sampler.parameters.catalogue import catalogue

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


@dataclass(frozen=True)
class Change:
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


def fact_of(title: str, key: str) -> OptionFact | None:
    """What is known of an option of a section, ``CFOptions "default"``."""
    return option_facts().get((section_kind(title), key))


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
    rows: Sequence[tuple[Change, Applying | None]]
    calls: Sequence[str]  # in C++, for what a running database takes
    lines: Sequence[str]  # what there is to do beside them
    first: Sequence[str] = ()  # what the program must set itself before; see ``application_steps``


def steps_of(changes: Sequence[Change], file: OptionsFile, first: Sequence[str] = ()) -> Steps:
    """How to bring changes into a database of the RocksDB that a file says it is of."""
    version = None if file.version is None else ".".join(map(str, file.version))
    rows = [(each, applying(each.title, each.key, version)) for each in changes]
    calls = list(_calls(rows))
    lines = list(_lines(rows, called=bool(calls)))
    return Steps(version, rows, calls, lines, first)


def _calls(rows: Sequence[tuple[Change, Applying | None]]) -> Iterator[str]:
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


def _lines(rows: Sequence[tuple[Change, Applying | None]], *, called: bool) -> Iterator[str]:
    restart = [c.key for c, how in rows if c.after is not None and not (how and how.call)]
    by_hand = [c.key for c, _ in rows if c.after is None]
    rewrite = [c.key for c, how in rows if how and how.acts in ("new files", "whole rewrite")]
    blobs = [c.key for c, how in rows if how and how.acts == "new blob files"]
    if restart:
        yield f"Restart with OPTIONS.ini to change: {', '.join(restart)}."
    if by_hand:
        yield f"Remove from your own file, then restart: {', '.join(by_hand)}."
    if rewrite:
        yield (
            "Existing SST files keep the old value until they are compacted (CompactRange with "
            f"BottommostLevelCompaction::kForce rewrites all): {', '.join(rewrite)}."
        )
    if blobs:
        yield (
            "Existing blob files keep the old value until garbage is collected from them "
            "(CompactRange with BottommostLevelCompaction::kForce, blob_garbage_collection_policy "
            "= kForce and blob_garbage_collection_age_cutoff = 1 rewrites all): "
            f"{', '.join(blobs)}."
        )
    if any(c.key == "num_levels" for c, _ in rows):
        yield (
            "RocksDB refuses a database that has files beyond num_levels. Try the new file and "
            "the old one on a copy."
        )
    if called:
        yield (
            "A call lasts until the database is reopened. Also change the options that your "
            "program opens it with."
        )
