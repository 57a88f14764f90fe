"""What stands on one side of a comparison, from what the user wrote.

Everything is read when the command begins: a file that changes while it runs changes nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sampler.bench.builds import DEFAULT_BUILD, JAVA, named_programs
from sampler.common.documents import names_a_file, parse_toml
from sampler.common.errors import InputError
from sampler.kioxia_guide.for_workload import named_threads, names_guide
from sampler.machine.machine import cpu_threads
from sampler.options.normal_form import read_user_options
from sampler.parameters.catalogue import catalogue
from sampler.parameters.parameter import Value, parse_value
from sampler.runner.settings import Settings
from sampler.space.starting_points import known_points, point_names, values_of

_LIBRARY = ("default", "library")
_JOB = "job:"
_PROGRAMS = (b"\x7fELF", b"#!")


@dataclass(frozen=True, kw_only=True)
class Side:
    """A configuration and what runs it.

    Attributes:
        asked: As the user wrote it.
        what: In words.
        build: A build's name, the path of a program, or None for the one in use.
        base: What is not set otherwise: ``library``, ``db_bench`` or a shipped starting point.
        options: The text of an OPTIONS file over that; None without one.
        values: Parameters over both, full scale.
        by_workload: More of them under the workload of that name.
        guide_threads: CPU threads of the host that the tuning guide is still to be worked out
            for; None: it is not asked for, or is in ``by_workload``.
        notes: What the reader must know of it.
        drop_unknown: Whether options of the file that its RocksDB does not know are left out.
    """

    asked: str
    what: str
    build: str | None = None
    base: str = "library"
    options: str | None = None
    values: Mapping[str, Value]
    by_workload: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    guide_threads: int | None = None
    notes: tuple[str, ...] = ()
    drop_unknown: bool = False

    def values_under(self, workload: str) -> dict[str, Value]:
        """Parameters that it sets under a workload, full scale."""
        return {**self.values, **self.by_workload.get(workload, {})}

    def set_values(self) -> dict[str, Any]:
        """What it sets, as JSON holds it: ``by_workload`` only where there is any."""
        by_workload = {name: dict(values) for name, values in self.by_workload.items()}
        more = {"by_workload": by_workload} if by_workload else {}
        return {"values": dict(self.values), **more}


def read_side(
    text: str, settings: Settings, job_side: Callable[[int, str], Side], *, field: str
) -> Side:
    """Reads ``default``, a point, ``guide``, values, a file, ``job:12``, a build or ``BUILD:...``.

    Args:
        text: What the user wrote.
        settings: Of this machine: they name its builds.
        job_side: The side of a job's best, given its number and ``field``.
        field: What the user calls it.

    Raises:
        InputError: It is nothing of that, or what it names is wrong.
    """
    name, _, rest = text.partition(":")
    builds = ({*named_programs(settings)} | {JAVA}) - {DEFAULT_BUILD}
    if name in builds and not names_a_file(text):
        side = _configured(rest or _LIBRARY[0], job_side, field=field)
        return replace(side, asked=text, build=name)
    return _configured(text, job_side, field=field)


def _configured(text: str, job_side: Callable[[int, str], Side], *, field: str) -> Side:
    if text in _LIBRARY:
        return Side(asked=text, what="the library's defaults", values={})
    if text.startswith(_JOB):
        number = text.removeprefix(_JOB)
        if not (number.isascii() and number.isdecimal()) or len(number) > 18:
            raise InputError(field, f"{number!r} is no job's number; write for example job:12")
        return job_side(int(number), field)
    if names_a_file(text):
        return _of_file(text, Path(text), field)
    if text in known_points():
        what = f"the starting point {text}"
        return Side(asked=text, what=what, values=values_of(text, None))
    if names_guide(text):
        threads = named_threads(text, field=field) or cpu_threads()
        what = f"KIOXIA's tuning guide for {threads} CPU threads"
        return Side(asked=text, what=what, values={}, guide_threads=threads)
    if "=" in text:
        return Side(asked=text, what=text, values=_assigned(text, field))
    points = ", ".join(name for name in point_names() if name not in _LIBRARY)
    raise InputError(
        field,
        f"{text!r} is neither default, parameter=value,..., job:NUMBER, one of {points}, "
        "java, a build of this host nor a file to read",
    )


def _of_file(text: str, path: Path, field: str) -> Side:
    """A program, a configuration in TOML or JSON, or an OPTIONS file."""
    try:
        content = path.read_bytes()
        if os.access(path, os.X_OK) and content.startswith(_PROGRAMS):
            build = str(path.absolute())
            return Side(asked=text, what="the library's defaults", build=build, values={})
        written = content.decode("utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError(field, f"{text!r} is neither a program nor a text to read") from None
    if path.suffix in (".toml", ".json"):
        document = _document(written, path.suffix, field)
        return Side(asked=text, what=f"the values of {path.name}", values=_values(document, field))
    read_user_options(written, name=field)
    return Side(asked=text, what=f"the OPTIONS file {path.name}", options=written, values={})


def _document(text: str, suffix: str, field: str) -> Mapping[str, Any]:
    if suffix == ".toml":
        return parse_toml(text, field=field)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(field, f"is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise InputError(field, "is not an object of parameter: value")
    return document


def _assigned(text: str, field: str) -> dict[str, Value]:
    given: dict[str, str] = {}
    for each in text.split(","):
        name, equals, value = (part.strip() for part in each.partition("="))
        if not equals or not name or not value:
            raise InputError(field, f"{each!r:.60} is not parameter=value")
        if name in given:
            raise InputError(field, f"{name} is set twice")
        given[name] = value
    return _values(given, field)


def _values(given: Mapping[str, Any], field: str) -> dict[str, Value]:
    """Checked values by parameter.

    Raises:
        InputError: A parameter is unknown or no option of RocksDB, or a value is none.
    """
    if not given:
        raise InputError(field, "sets nothing; write parameter = value, or name default")
    values: dict[str, Value] = {}
    for name, value in given.items():
        parameter = catalogue().get(name)
        if parameter is None:
            mend = "see `rocktune space all`"
            raise InputError(field, f"there is no parameter {name!r:.60}; {mend}")
        if parameter.section == "workload":
            raise InputError(field, f"{name} is a fact of the load; put it into a workload file")
        found = parse_value(parameter, value, field=f"{field} ({name})")
        if parameter.is_numeric and float(found) < 0 and found not in parameter.special:
            raise InputError(field, f"{name} is below 0: {found}")
        values[name] = found
    return values
