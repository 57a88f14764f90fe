"""The RocksDB builds of this host, by name: the one in use, and further ones.

A job names a build of its host. A path names a program directly: only for whoever sits at this
machine, never for what comes over a network.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sampler.bench.build_facts import BuildFacts, build_facts
from sampler.bench.installed import InstalledDbBench, find_db_bench, probe
from sampler.common.errors import InputError
from sampler.runner.settings import Settings

DEFAULT_BUILD = "default"
JAVA = "java"  # the driver of drivers/java, unless a build is called so
_FIELD = "ROCKTUNE_BUILDS"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, kw_only=True)
class Build:
    """A db_bench of this host.

    Attributes:
        name: What jobs call it.
        program: Its path, or what was written where there is no such program.
        facts: What it says of itself; None where it does not work.
        problem: Why it does not work; None where it does.
    """

    name: str
    program: str
    facts: BuildFacts | None
    problem: str | None = None

    def document(self) -> dict[str, Any]:
        """As hosts advertise it."""
        known = self.facts.document() if self.facts else {}
        return {"name": self.name, "program": self.program, "problem": self.problem, **known}


def is_build_name(text: str) -> bool:
    """Whether a text can be a build's name; a path that leads anywhere cannot."""
    return _NAME.fullmatch(text) is not None


def named_programs(settings: Settings) -> dict[str, str]:
    """The program of every build by name, the one in use first.

    Raises:
        InputError: ROCKTUNE_BUILDS is no list of ``name=path``, or names one twice.
    """
    programs = {DEFAULT_BUILD: settings.db_bench}
    for entry in filter(None, (each.strip() for each in settings.builds.split(","))):
        name, equals, program = (part.strip() for part in entry.partition("="))
        if not equals or not program or not is_build_name(name):
            problem = f"{entry!r} is not name=path; write for example 9.7=/opt/9.7/db_bench"
            raise InputError(_FIELD, f"{problem},10.2=/opt/10.2/db_bench")
        if name in programs:
            mend = "ROCKTUNE_DB_BENCH is called so" if name == DEFAULT_BUILD else "it is there"
            raise InputError(_FIELD, f"{name!r} is taken, {mend}; choose another name")
        programs[name] = program
    return programs


def program_of(named: str | None, settings: Settings, *, field: str = "--db-bench") -> Path:
    """The program that a build's name, or a path, stands for.

    Args:
        named: A name of ``named_programs``, a path with a slash in it, or None for the one in use.
        settings: Of this machine.
        field: What the user called it.

    Raises:
        InputError: There is no such build, or no such program.
    """
    programs = named_programs(settings)
    if named is None or named == DEFAULT_BUILD:
        return find_db_bench(settings.db_bench)
    if named == JAVA and named not in programs:
        return _java_driver(field)
    if named not in programs and "/" not in named:
        raise unknown_build(named, programs, field=field, mend="or write a path")
    program = programs.get(named, named)
    # Without a slash it is looked for on PATH, as the one in use is.
    found = shutil.which(Path(program).expanduser().absolute() if "/" in program else program)
    if found is None:
        whose = f"{_FIELD} ({named})" if named in programs else field
        raise InputError(whose, f"{program!r} is no program that can be run here")
    return Path(found).absolute()


def _java_driver(field: str) -> Path:
    """The Java driver beside the sources, as ``make java-driver`` leaves it."""
    driver = Path(__file__).parents[2] / "drivers" / "java"
    if not (driver / "build" / "classes").is_dir():
        problem = "the Java driver is not made here; `make java-driver` makes it (JDK and Maven)"
        raise InputError(field, f"{problem}, or name it as java=PATH in {_FIELD}")
    return driver / "rocksjava-bench"


def unknown_build(
    named: str, known: Mapping[str, object], *, field: str, mend: str = ""
) -> InputError:
    """The error of a name that stands for no build."""
    names = ", ".join(known)
    choice = f"name one of {names}" + (f", {mend}" if mend else "")
    return InputError(field, f"there is no build {named!r}; {choice} (builds are in {_FIELD})")


def installed_build(
    named: str | None, settings: Settings, *, field: str = "--db-bench"
) -> InstalledDbBench:
    """The db_bench that a build's name, or a path, stands for, tried anew.

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
    return [_build(name, program, settings) for name, program in named_programs(settings).items()]


def advertised(settings: Settings) -> dict[str, Any]:
    """What a host adds to its environment, so that others know which builds jobs may name.

    Raises:
        InputError: ROCKTUNE_BUILDS is no list of ``name=path``.
    """
    return {"builds": [build.document() for build in builds_of(settings)]}


def _build(name: str, program: str, settings: Settings) -> Build:
    try:
        path = program_of(name, settings)
        return Build(name=name, program=str(path), facts=build_facts(path))
    except InputError as error:
        return Build(name=name, program=program, facts=None, problem=error.problem)
