"""What a build of RocksDB takes of an OPTIONS file, and of the benchmarks and flags of a load.

Options are found by letting it open a database. ``option_flags.csv`` tells of the flags of those
versions whose sources were read; what a newer build does with its own is found out by trying.
"""

import difflib
import re
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from sampler.bench.installed import InstalledDbBench, newest_options, try_options
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.rocksdb.option_facts import fact_of, option_flags
from sampler.rocksdb.options_file import VERSION, OptionsFile, leaves, without_leaf
from sampler.rocksdb.parameters import Value
from sampler.workload.workload import Workload

_WORD = re.compile(r"\w+(?:\.\w+)*")
# The last form is that of 10.4 and later (configurable.cc).
_UNKNOWN = re.compile(r"(?:Could not find|Unrecognized) option|option not recognized")
_PREFACE = re.compile(r"^Unable to load options file \S+ --- |^open error: ")
_READ = ((6, 20), (11, 8))  # the versions whose sources option_flags.csv was made of


@dataclass(frozen=True, kw_only=True)
class RefusedOption:
    """An option of a file that a build does not take."""

    section: str
    key: str
    value: str
    said: str  # RocksDB's own words

    @property
    def unknown(self) -> bool:
        """Whether the build has no such option; otherwise it refuses the value."""
        return _UNKNOWN.search(self.said) is not None


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """What a build takes of a file."""

    part: OptionsFile | None  # the file without what is refused; None where that could not be told
    effect: OptionsFile | None  # the values in effect with that part; None where there is none
    refused: tuple[RefusedOption, ...]  # what had to be left out
    said: str = ""  # RocksDB's words where nothing could be left out to make it work, else empty


def accepted_part(build: InstalledDbBench, options: OptionsFile) -> Accepted:
    """The file without the options that a build complains of, found by trying.

    RocksDB names one option at a time; each is left out until it opens. Of a structure, and of a
    list of structures, only the field goes.
    """
    refused: list[RefusedOption] = []
    for _ in range(1 + sum(1 for _ in leaves(options))):
        tried = try_options(build.program, options)
        if tried.options is not None:
            return Accepted(part=options, effect=tried.options, refused=tuple(refused))
        said = _PREFACE.sub("", tried.complaint)
        found = _named_in(said, options) or _found_by_halving(build, options, said)
        if found is None:
            break
        section, key, value = _field_of(build, found, options, said)
        refused.append(RefusedOption(section=section, key=key, value=value, said=said))
        options = without_leaf(options, section, key)
    return Accepted(part=None, effect=None, refused=tuple(refused), said=said)


def _named_in(complaint: str, options: OptionsFile) -> tuple[str, str, str] | None:
    """The option of the file that a complaint is about.

    RocksDB names a key, a field with or without its structure, or says it in words of its own. Of
    an unknown structure it names no field. Where a key stands in two sections, the one that
    RocksDB does not know is where no version has it.
    """
    words = set(_WORD.findall(complaint))
    named = [(s, k, t) for (s, k), t in leaves(options) if {k, k.rpartition(".")[2]} & words]
    if not named:
        named = [
            (s, k, keys[k]) for s, keys in options.sections.items() for k in keys if k in words
        ]
    unknown = _UNKNOWN.search(complaint) is not None

    def order(each: tuple[str, str, str]) -> tuple[bool, bool, int]:
        section, key, _ = each
        return key not in words, unknown and fact_of(section, key) is not None, key.count(".")

    return min(named, key=order, default=None)


def _field_of(
    build: InstalledDbBench, found: tuple[str, str, str], options: OptionsFile, said: str
) -> tuple[str, str, str]:
    """The field of a structure that a complaint about all of it comes from, where it is one.

    RocksDB says of a new field in a list of objects no more than the name of the list. Where the
    complaint stays without all of its fields, the list itself is what is refused.
    """
    section, key, _ = found
    fields = [
        (name, text)
        for (title, name), text in leaves(options)
        if title == section and name.startswith(f"{key}.") and not name.endswith(".id")
    ]
    if not fields or not _UNKNOWN.search(said):
        return found

    def complains(names: Collection[str]) -> bool:
        part = options
        for name in names:
            part = without_leaf(part, section, name)
        tried = try_options(build.program, part)
        return tried.options is None and _PREFACE.sub("", tried.complaint) == said

    gone = [name for name, _ in fields]
    if complains(gone):
        return found
    for name, text in fields:
        if complains([each for each in gone if each != name]):
            return section, name, text
    return found


def _found_by_halving(
    build: InstalledDbBench, options: OptionsFile, said: str
) -> tuple[str, str, str] | None:
    """The option with which a complaint that names none begins; None where none was found."""
    sections = {title: keys for title, keys in options.sections.items() if title != VERSION}
    keys = [(section, key) for section, texts in sections.items() for key in texts]

    def complains(kept: Collection[tuple[str, str]]) -> bool:
        part = OptionsFile({
            section: {key: text for key, text in texts.items() if (section, key) in kept}
            for section, texts in options.sections.items()
        })  # fmt: skip
        tried = try_options(build.program, part)
        return tried.options is None and _PREFACE.sub("", tried.complaint) == said

    low, high = 0, len(keys)  # the first ``high`` keys bring the complaint, the first ``low`` none
    if complains(()):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if complains(keys[:middle]) else (middle, high)
    section, key = found = keys[high - 1]
    alone = complains([each for each in keys if each != found])
    return None if alone else (section, key, options.sections[section][key])


def require_supported(installed: InstalledDbBench, workload: Workload) -> None:
    """Refuses benchmarks and flags that the build does not know, or takes in silence and ignores.

    Raises:
        InputError: It has such a benchmark or flag; the message names it.
        InputErrors: It has several.
    """
    found: list[InputError] = []
    given = [("workload.flags", workload.flags)]
    for run in (*workload.runs, *(workload.prepare.runs if workload.prepare else ())):
        if build_version(installed.version) < run.benchmark.since:
            problem = f"db_bench of RocksDB {installed.version} has no {run.benchmark.name}"
            fix = f"use RocksDB {'.'.join(map(str, run.benchmark.since))} or newer"
            found.append(InputError("workload.benchmarks", f"{problem}; {fix}"))
    if workload.prepare:
        given.append(("workload.prepare.flags", workload.prepare.flags))
    for where, flags in given:
        for name, value in flags:
            with noting(found):
                _require_flag(installed, f"{where}.{name}", name, value)
    refuse_noted(found)


def _require_flag(installed: InstalledDbBench, field: str, name: str, value: Value) -> None:
    if installed.flags and name not in installed.flags:
        near = difflib.get_close_matches(name, installed.flags, n=3)
        fix = f"did you mean {' or '.join(near)}?" if near else "leave it out"
        raise InputError(field, f"db_bench of RocksDB {installed.version} has no such flag; {fix}")
    if name in option_flags() or _READ[0] <= build_version(installed.version) <= _READ[1]:
        return
    sections = ignored_options(installed.program, {name: value})
    if sections:
        keys = ", ".join(f"{key} in [{title}]" for title, key in sections)
        raise InputError(
            field,
            "is a RocksDB option, which db_bench ignores when it reads an OPTIONS file; write "
            f"{keys} of an OPTIONS file as the baseline",
        )


def build_version(text: str) -> tuple[int, int]:
    """The first two numbers of a version."""
    major, minor, *_ = (*map(int, text.split(".")), 0)
    return major, minor


def ignored_options(
    program: Path, flags: Mapping[str, Value]
) -> tuple[tuple[str, str], ...] | None:
    """Sections and keys of options that flags set without an OPTIONS file, and not beside one.

    Four databases of one key are made: some tenths of a second. None where the build does not take
    the flags.
    """
    changed: list[set[tuple[str, str]]] = []  # what RocksDB writes otherwise because of the flags
    for with_file in (False, True):
        usual, given = (_written(program, each, with_file=with_file) for each in ({}, flags))
        if usual is None or given is None:
            return None
        changed.append({
            (title, key)
            for title, keys in given.sections.items()
            for key, text in keys.items()
            if usual.sections.get(title, {}).get(key) != text
        })  # fmt: skip
    return tuple(sorted(changed[0] - changed[1]))


def _written(program: Path, flags: Mapping[str, Value], *, with_file: bool) -> OptionsFile | None:
    if with_file:
        return try_options(program, OptionsFile({}), flags=flags).options
    with tempfile.TemporaryDirectory(prefix="rocktune-probe-") as folder:
        # The last flag of a name counts: without a file its name is empty.
        alone = {**flags, "options_file": ""}
        ran = try_options(program, OptionsFile({}), Path(folder), alone)
        return newest_options(Path(folder) / "db") if ran.options else None
