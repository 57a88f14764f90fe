"""What stands on one side of a comparison, from what the user wrote.

Everything is read when the command begins: a file that changes while it runs changes nothing.
"""

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from jobs.results.figures import option_value
from jobs.specification.named_files import require_trusted
from jobs.specification.specification import require_tunes, specification_from_document
from sampler.bench.builds import DEFAULT_BUILD, JAVA
from sampler.common.documents import names_a_file, parse_toml
from sampler.common.errors import InputError
from sampler.machine.machine import cpu_threads
from sampler.rocksdb.forms import read_user_options
from sampler.rocksdb.parameters import Parameter, Value, catalogue, parse_value
from sampler.space.kioxia_guide import LEAST_BUFFERS
from sampler.space.space import default_values, memtable_bytes
from sampler.space.space_file import space_from_document
from sampler.space.starting_points import (
    Room,
    guide_values,
    known_points,
    named_threads,
    names_guide,
    point_names,
    values_of,
)
from sampler.workload.workload import Workload

_LIBRARY = ("default", "library")
_JOB = "job:"
_PROGRAMS = (b"\x7fELF", b"#!")


@dataclass(frozen=True, kw_only=True)
class Side:
    """A configuration and what runs it."""

    asked: str  # as the user wrote it
    what: str  # in words
    build: str | None = None  # a build's name, the path of a program, or None for the one in use
    # what is not set otherwise: `library`, `db_bench` or a shipped starting point
    base: str = "library"
    options: str | None = None  # the text of an OPTIONS file over that; None without one
    column_family: str | None = None  # of that file; None: its default one
    values: Mapping[str, Value]  # parameters over both, full scale
    # more of them under the workload of that name
    by_workload: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    # CPU threads of the host that the tuning guide is still to be worked out for; None: it is not
    # asked for, or is in `by_workload`.
    guide_threads: int | None = None
    notes: Sequence[str] = ()  # what the reader must know of it
    # whether options of the file that its RocksDB does not know are left out
    drop_unknown: bool = False

    def values_under(self, workload: str) -> dict[str, Value]:
        """Parameters that it sets under a workload, full scale."""
        return {**self.values, **self.by_workload.get(workload, {})}

    def set_values(self) -> dict[str, Any]:
        """What it sets, as JSON holds it: ``by_workload`` only where there is any."""
        by_workload = {name: dict(values) for name, values in self.by_workload.items()}
        more = {"by_workload": by_workload} if by_workload else {}
        return {"values": dict(self.values), **more}


JobSide = Callable[[int, str], Side]
"""The side of a job's best, by its number and what the user calls this side."""


def side_named(
    text: str, builds: Collection[str], job_side: JobSide, *, field: str, files: bool
) -> Side:
    """Reads ``default``, a point, ``guide``, values, a file, ``job:12``, a build or ``BUILD:...``.

    ``builds`` are the names of builds; ``files``: whether a file of this machine may be named.

    Raises:
        InputError: It is nothing of that, or what it names is wrong.
    """
    name, _, rest = text.partition(":")
    if name in {*builds, JAVA} - {DEFAULT_BUILD} and not (files and names_a_file(text)):
        side = _configured(rest or _LIBRARY[0], job_side, field=field, files=files)
        return replace(side, asked=text, build=name)
    return _configured(text, job_side, field=field, files=files)


def side_of_options(name: str, text: str, *, field: str) -> Side:
    """The side of an OPTIONS file's text; an InputError if it is none."""
    read_user_options(text, name=field)
    return Side(asked=name, what=f"the OPTIONS file {name}", options=text, values={})


def _configured(text: str, job_side: JobSide, *, field: str, files: bool) -> Side:
    if text in _LIBRARY:
        return Side(asked=text, what="the library's defaults", values={})
    if text.startswith(_JOB):
        number = text.removeprefix(_JOB)
        if not (number.isascii() and number.isdecimal()) or len(number) > 18:
            raise InputError(field, f"{number!r} is not a job number; write for example job:12")
        return job_side(int(number), field)
    if files and names_a_file(text):
        return _of_file(text, Path(text), field)
    if text in known_points():
        what = f"the starting point {text}"
        room = Room(cpu_threads(), memtable_bytes(default_values("library")))
        return Side(asked=text, what=what, values=values_of(text, None, room))
    if names_guide(text):
        threads = named_threads(text, field=field) or cpu_threads()
        what = f"KIOXIA's tuning guide for {threads} CPU threads"
        return Side(asked=text, what=what, values={}, guide_threads=threads)
    if "=" in text:
        return Side(asked=text, what=text, values=_assigned(text, field))
    points = ", ".join(name for name in point_names() if name not in _LIBRARY)
    raise InputError(
        field,
        f"{text!r} is neither default, parameter=value,..., job:NUMBER, one of {points}, java, "
        f"a build of this host nor {'a readable file' if files else 'an OPTIONS file'}",
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
        raise InputError(field, f"{text!r} is neither a program nor readable text") from None
    if path.suffix in (".toml", ".json"):
        read = parse_toml if path.suffix == ".toml" else _parse_json
        values = _values(read(written, field=field), field)
        return Side(asked=text, what=f"the values of {path.name}", values=values)
    return replace(side_of_options(path.name, written, field=field), asked=text)


def _parse_json(text: str, *, field: str) -> dict[str, Any]:
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
    """Checked values by parameter; an InputError of what is unknown or no option of RocksDB."""
    if not given:
        raise InputError(field, "sets no parameter; write parameter = value, or name default")
    values: dict[str, Value] = {}
    for name, value in given.items():
        parameter = catalogue().get(name)
        if parameter is None:
            mend = "see the space `all`"
            raise InputError(field, f"there is no parameter {name!r:.60}; {mend}")
        if parameter.section == "workload":
            raise InputError(field, f"{name} describes the load; set it in a workload file")
        found = parse_value(parameter, value, field=f"{field} ({name})")
        if parameter.is_numeric and float(found) < 0 and found not in parameter.special:
            raise InputError(field, f"{name} is {found}; it must not be negative")
        values[name] = found
    return values


def side_of_job(engine: Engine, number: int, field: str) -> Side:
    """The winner of a job over the job's own baseline; not its workload, nor its scale.

    Raises:
        InputError: There is no such job, it has no result or no winner, or it tuned a program
            that is not db_bench.
    """
    store = JobStore(engine)
    try:
        row = store.job(number)
    except KeyError:
        raise InputError(field, f"there is no job {number} in this database") from None
    require_tunes(row, field)
    require_trusted(engine, number, field)
    result = store.result(number)
    if result is None:
        raise InputError(field, f"job {number} is {row.state.value} and has no result")
    best = result["best"]
    if best is None:
        raise InputError(field, f"job {number} found nothing better than its baseline")
    specification = specification_from_document(row.specification)
    configuration = best["configuration"]
    unknown = [name for name in configuration if name not in catalogue()]
    if unknown:
        raise InputError(field, f"job {number} tuned {unknown[0]}, not an option of RocksDB")
    facts = [name for name in configuration if catalogue()[name].section == "workload"]
    told = f"of job {number} describes its load and is left out here"
    baseline = specification.baseline or space_from_document(specification.space).baseline
    return Side(
        asked=f"job:{number}",
        what=f"the best of job {number}, trial {best['trial']}",
        build=specification.db_bench,
        base="library" if specification.baseline_options is not None else baseline,
        options=specification.baseline_options,
        column_family=specification.column_family,
        values={name: value for name, value in configuration.items() if name not in facts},
        notes=tuple(f"{name} = {configuration[name]} {told}" for name in facts),
        drop_unknown=specification.drop_unknown,
    )


def of_files(sides: Sequence[Side], column_family: str | None, drop_unknown: bool) -> list[Side]:
    """The sides as their OPTIONS files are to be read; an InputError where no file is given.

    The winner of a job, which has values over a file, stays as it is.
    """
    read = [replace(side, drop_unknown=drop_unknown or side.drop_unknown) for side in sides]
    if column_family is None:
        return read
    files = [n for n, side in enumerate(read) if side.options is not None and not side.values]
    if not files:
        problem = f"needs an OPTIONS file as A or B for {column_family!r:.80}"
        raise InputError("column_family", problem)
    for n in files:
        what = f"{read[n].what}, column family {column_family}"
        read[n] = replace(read[n], column_family=column_family, what=what)
    return read


def worked_out(side: Side, workloads: Sequence[Workload], baseline: Mapping[str, Value]) -> Side:
    """The side with the guide's settings under each workload; as it is where none is asked for.

    As a search that begins at the guide has them by default: within the memory of the baseline,
    so that it is compared with as much, and with keys and values together. The baseline has every
    known parameter, full scale; each workload is at its scale.
    """
    if side.guide_threads is None:
        return side
    # The guide is of one family; each has write buffers of its own.
    memory = memtable_bytes(baseline)
    found = {
        each.name: _settings(each, side.guide_threads, memory // each.column_families)
        for each in workloads
    }
    return replace(side, guide_threads=None, by_workload=found)


def _settings(workload: Workload, threads: int, memory: int) -> dict[str, Value]:
    """The nearest whole step of each parameter, and what the memory holds of write buffers."""
    told = guide_values(workload, cpu_threads=threads, memory=memory, separating=False)
    values = {name: _nearest_step(name, value) for name, value in told.items()}
    step = catalogue()["write_buffer_size"].quantum
    most = memory // LEAST_BUFFERS // step * step
    size = min(int(values["write_buffer_size"]), most)
    number = min(int(values["max_write_buffer_number"]), memory // size)
    return {**values, "write_buffer_size": size, "max_write_buffer_number": number}


def _nearest_step(name: str, value: Value) -> Value:
    parameter = catalogue()[name]
    if not isinstance(value, int) or isinstance(value, bool) or value < parameter.quantum:
        return value
    return parameter.nearest_multiple(value)


HALF, MIDDLE, DOUBLE = "half", "as-is", "double"
_FIELD = "around"


def sides_around(
    side: Side, values: Mapping[str, Mapping[str, Value]], name: str
) -> dict[str, Side]:
    """A side with half, as much, and twice of a parameter; the middle one first.

    ``values`` are those of every known parameter in the side, full scale, by workload.

    Raises:
        InputError: There is no such parameter, it is no number, or its value is one that means
            something else (automatic, none).
    """
    parameter = halved_parameter(name)
    middle = {workload: each[name] for workload, each in values.items()}
    for value in middle.values():
        if value in parameter.special or not float(value) > 0:
            problem = f"{name} is {value} in A, which cannot be halved; write A as {name}=..."
            raise InputError(_FIELD, problem)
        if _times(parameter, value, 0.5) == value:
            raise InputError(_FIELD, f"{name} is {value} in A; half of that is not a valid value")
    sides = {MIDDLE: _at(side, parameter, middle)}
    for called, factor in ((HALF, 0.5), (DOUBLE, 2.0)):
        moved = {load: _times(parameter, value, factor) for load, value in middle.items()}
        sides[called] = _at(side, parameter, moved)
    return sides


def halved_parameter(name: str) -> Parameter:
    """The parameter of that name; an InputError of one that cannot be halved and doubled."""
    parameter = catalogue().get(name)
    if parameter is None:
        raise InputError(_FIELD, f"there is no parameter {name!r:.60}; see the space `all`")
    if not parameter.is_numeric or parameter.section == "workload":
        raise InputError(_FIELD, f"{name} cannot be halved or doubled; name a numeric option")
    return parameter


def _times(parameter: Parameter, value: Value, factor: float) -> Value:
    """The product, as near as the parameter's type has it, and at least its quantum."""
    product = float(value) * factor
    return product if parameter.kind == "float" else parameter.nearest_multiple(product)


def _at(side: Side, parameter: Parameter, values: Mapping[str, Value]) -> Side:
    """The side with the parameter's value under each workload."""
    name = parameter.name
    shown = {load: option_value(value, parameter) for load, value in values.items()}
    told, *more = dict.fromkeys(shown.values())
    if more:
        told = ", ".join(f"{text} ({load})" for load, text in shown.items())
    what = f"{name} = {told} in {side.what}"
    if not side.by_workload:
        return replace(side, what=what, values={**side.values, name: next(iter(values.values()))})
    moved = {load: {**side.by_workload[load], name: value} for load, value in values.items()}
    return replace(side, what=what, by_workload=moved)
