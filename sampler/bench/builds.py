"""The RocksDB builds of this host, by name, and the one that fits a database.

A job names a build of its host. A path names a program directly: only for whoever sits at this
machine, never for what comes over a network.

The build that measures a database is the nearest at or above its version: an older RocksDB does
not know all options of the database, and a much newer one has other defaults and other code. Only
the first two numbers of a version count: releases of one minor version differ in mended faults. A
build that the user names is never replaced.
"""

import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sampler.bench.accepted import build_version
from sampler.bench.installed import (
    InstalledDbBench,
    find_db_bench,
    probe,
    program_digest,
    try_options,
)
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from sampler.rocksdb.options_file import OptionsFile, parse_options

_SHA = re.compile(r"\bGit sha (\S+)$", re.MULTILINE)
_COMPILED = re.compile(r"\bCompile date (.+)$", re.MULTILINE)
_CODEC = re.compile(r"\bk(\w+) supported: ([01])$", re.MULTILINE)
_JEMALLOC = re.compile(r"\bJemalloc supported: ([01])$", re.MULTILINE)
_NO_CODEC = ("NoCompression", "DisableCompressionOption")
DEFAULT_BUILD = "default"
JAVA = "java"  # the driver of drivers/java, unless a build is called so
_FIELD = "ROCKTUNE_BUILDS"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_VERSION = re.compile(r"\d{1,4}(\.\d{1,4}){1,2}", re.ASCII)
# What `make db_bench VERSION=...` brings beside the system's (scripts/fetch_db_bench.py).
FETCHED = ("8.10.0", "9.10.0", "9.11.2", "10.4.2", "11.8.1")


@dataclass(frozen=True, kw_only=True)
class BuildFacts:
    """A program, as far as it can be told from others."""

    version: str  # RocksDB's, ``7.8.3``
    # SHA-256 of the program's file. A library that it loads is not in it: for that there are
    # ``source`` and ``compiled``.
    digest: str
    # The commit that RocksDB was built from; None where the builder left it out.
    source: str | None
    compiled: str | None  # when RocksDB was compiled, as it says
    assertions: bool  # whether they are on: then TIME and RATE are slower than in production
    optimised: bool  # whether the compiler optimised it
    codecs: tuple[str, ...]  # the compression libraries in it, by RocksDB's names
    jemalloc: bool | None  # whether it is in; None where RocksDB does not say (7.8 does not)

    def document(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {**asdict(self), "codecs": list(self.codecs)}


def build_facts(program: Path, *, version: str | None = None) -> BuildFacts:
    """Asks a db_bench, by writing one key: some milliseconds, and none while it stays the same.

    A program counts as the same while its path and content are. A library that was replaced under
    it shows in the next process, or at once where ``version`` tells of it: that of
    RocksDB, as the program has just said.

    Raises:
        InputError: It does not work, or cannot be read.
    """
    return _probed(program, program_digest(program), version)


def facts_in_log(log: str) -> Mapping[str, Any]:
    """Source, date of compilation, codecs and jemalloc, from the head of RocksDB's LOG."""
    sha, compiled, jemalloc = _SHA.search(log), _COMPILED.search(log), _JEMALLOC.search(log)
    codecs = {name: on for name, on in _CODEC.findall(log) if name not in _NO_CODEC}
    return {
        # Built outside of its repository, RocksDB says 0 for the commit.
        "source": sha.group(1) if sha and sha.group(1).strip("0") else None,
        "compiled": compiled.group(1).strip() if compiled else None,
        "codecs": tuple(sorted(name for name, on in codecs.items() if on == "1")),
        "jemalloc": jemalloc.group(1) == "1" if jemalloc else None,
    }


@lru_cache(maxsize=64)
def _probed(program: Path, digest: str, _version: str | None) -> BuildFacts:
    with tempfile.TemporaryDirectory(prefix="rocktune-probe-") as folder:
        tried = try_options(program, OptionsFile({}), Path(folder))
        if tried.options is None:
            raise InputError("db_bench", f"{program} does not work: {tried.complaint}")
        try:
            log = (Path(folder) / "db" / "LOG").read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise InputError("db_bench", f"cannot read {error.filename}") from None
    said = " ".join(tried.warnings)
    return BuildFacts(
        version=tried.version,
        digest=digest,
        assertions="Assertions are enabled" in said,
        optimised="Optimization is disabled" not in said,
        **facts_in_log(log),
    )


@dataclass(frozen=True, kw_only=True)
class Build:
    """A db_bench of this host."""

    name: str  # what jobs call it
    program: str  # its path, or what was written where there is no such program
    facts: BuildFacts | None  # what it says of itself; None where it does not work
    problem: str | None = None  # why it does not work; None where it does

    def document(self) -> dict[str, Any]:
        """As hosts advertise it."""
        known = self.facts.document() if self.facts else {}
        return {"name": self.name, "program": self.program, "problem": self.problem, **known}


def is_build_name(text: str) -> bool:
    """Whether a text can be a build's name; a path that leads anywhere cannot."""
    return _NAME.fullmatch(text) is not None


def named_programs(settings: Settings) -> dict[str, str]:
    """The program of every build by name: the one in use, those of ROCKTUNE_BUILDS, those fetched.

    A name of ROCKTUNE_BUILDS goes before the same one of what `make db_bench VERSION=` brought.

    Raises:
        InputError: ROCKTUNE_BUILDS is no list of ``name=path``, or names one twice.
    """
    programs = {DEFAULT_BUILD: settings.db_bench}
    for entry in filter(None, (each.strip() for each in settings.builds.split(","))):
        name, equals, program = (part.strip() for part in entry.partition("="))
        if not equals or not program or not is_build_name(name):
            problem = f"{entry!r} is not of the form name=path; write 9.7=/opt/9.7/db_bench"
            raise InputError(_FIELD, f"{problem},10.2=/opt/10.2/db_bench")
        if name in programs:
            problem = "means ROCKTUNE_DB_BENCH" if name == DEFAULT_BUILD else "is listed twice"
            raise InputError(_FIELD, f"{name!r} {problem}; choose another name")
        programs[name] = program
    for path in sorted(settings.build_dir.expanduser().glob("*/db_bench")):
        if is_build_name(path.parent.name):
            programs.setdefault(path.parent.name, str(path))
    return programs


def program_of(named: str | None, settings: Settings, *, field: str = "db_bench") -> Path:
    """The program that a build's name or a path with a slash means; None: the one in use.

    Raises:
        InputError: There is no such build, or no such program.
    """
    programs = named_programs(settings)
    if named is None or named == DEFAULT_BUILD:
        return find_db_bench(settings.db_bench)
    if named == JAVA and named not in programs:
        # The Java driver beside the sources, as ``make java-driver`` leaves it.
        driver = Path(__file__).parents[2] / "drivers" / "java"
        if not (driver / "build" / "classes").is_dir():
            problem = "the Java driver is not built; run `make java-driver` (needs JDK and Maven)"
            raise InputError(field, f"{problem}, or add java=PATH to {_FIELD}")
        return driver / "rocksjava-bench"
    if named not in programs and "/" not in named:
        choice = (
            f"use one of {', '.join(programs)}, write a path, add it to {_FIELD}, or run "
            f"`make db_bench VERSION={named}`"
        )
        raise InputError(field, f"there is no build {named!r}; {choice}")
    program = programs.get(named, named)
    # Without a slash it is looked for on PATH, as the one in use is.
    found = shutil.which(Path(program).expanduser().absolute() if "/" in program else program)
    if found is None:
        whose = f"{_FIELD} ({named})" if named in programs else field
        raise InputError(whose, f"{program!r} is not an executable program on this host")
    return Path(found).absolute()


def installed_build(
    named: str | None, settings: Settings, *, field: str = "db_bench"
) -> InstalledDbBench:
    """The db_bench that a build's name, or a path, stands for, tried again.

    Raises:
        InputError: There is none, or it does not work.
    """
    program = program_of(named, settings, field=field)
    try:
        return probe(program)
    except InputError as error:
        if named is None:
            raise
        raise InputError(field, error.problem) from None


def builds_of(settings: Settings) -> list[Build]:
    """All builds of this host, the one in use first; what does not work says why.

    Cheap to call again: a program that has not changed is not asked twice.

    Raises:
        InputError: ROCKTUNE_BUILDS is no list of ``name=path``.
    """
    builds = []
    for name, program in named_programs(settings).items():
        try:
            path = program_of(name, settings)
            builds.append(Build(name=name, program=str(path), facts=build_facts(path)))
        except InputError as error:
            builds.append(Build(name=name, program=program, facts=None, problem=error.problem))
    return builds


def advertised(settings: Settings) -> dict[str, Any]:
    """What a host adds to its environment, so that others know which builds jobs may name.

    Raises:
        InputError: ROCKTUNE_BUILDS is no list of ``name=path``.
    """
    return {"builds": [build.document() for build in builds_of(settings)]}


def database_version(options: str | None, told: str | None = None) -> str | None:
    """The RocksDB of a database, ``9.10.0``: by the text of its OPTIONS file, or else as told.

    None where neither says one, or what is told is no version.
    """
    numbers = parse_options(options).version if options is not None else None
    if numbers is not None:
        return ".".join(map(str, numbers))
    return told if told is not None and _VERSION.fullmatch(told) else None


def installed_versions(settings: Settings) -> dict[str, str]:
    """The versions of all builds of this host that work, by name, the one in use first.

    Raises:
        InputError: ROCKTUNE_BUILDS is no list of ``name=path``.
    """
    return {each.name: each.facts.version for each in builds_of(settings) if each.facts}


def fitting_build(database: str, builds: Mapping[str, str]) -> str | None:
    """The name of the build for a database of a version; None: the one in use.

    ``builds`` are versions by name, the one in use first. Of equally near ones the first counts.
    Without one at or above the database's version it is the newest.
    """
    wanted = build_version(database)

    def order(name: str) -> tuple[bool, int, int]:
        major, minor = build_version(builds[name])
        older = (major, minor) < wanted
        return (older, -major, -minor) if older else (older, major, minor)

    name = min(builds, key=order, default=DEFAULT_BUILD)
    return None if name == DEFAULT_BUILD else name


def fit_words(database: str, measures: str, *, named: str | None) -> list[str]:
    """What the user must know of the build that was chosen for a database; nothing where it fits.

    ``measures`` is its version, ``named`` its name; None: it is the one in use.
    """
    wanted, found = build_version(database), build_version(measures)
    if found < wanted:
        return [
            f"RocksDB {measures} measures, older than the database's {database}: options that it "
            f"does not know are not measured. {fetch_words(database, measures)}"
        ]
    nearer = next((each for each in FETCHED if wanted <= build_version(each) < found), None)
    fetch = f"; `make db_bench VERSION={nearer}` brings a nearer one" if nearer else ""
    if named is not None:
        return [
            f"RocksDB {measures} measures (build {named}): of the installed builds the nearest at "
            f"or above the database's {database}{fetch or '; `db_bench` names another'}"
        ]
    return [f"RocksDB {measures} measures, newer than the database's {database}{fetch}"] * bool(
        nearer
    )


def fetch_words(database: str, measures: str) -> str:
    """How to get a build for a database that is newer than the RocksDB that measures."""
    wanted = build_version(database)
    fitting = next((each for each in FETCHED if build_version(each) >= wanted), None)
    if fitting is not None:
        return f"`make db_bench VERSION={fitting}` brings a build that knows them"
    own = "a build of your own that does: a path as `db_bench`, or ROCKTUNE_BUILDS=NAME=PATH"
    if build_version(FETCHED[-1]) > build_version(measures):
        return f"`make db_bench VERSION={FETCHED[-1]}` brings the nearest one, or name {own}"
    return f"Name {own}"
