"""Known good settings that a search may begin at: a catalogue, each option with its source.

Some options depend on the host and on the job's memory. Such a value is a rule: ``cores`` or
``memory``, perhaps times or divided by a number: ``memory / 4``, ``cores, at least 4``.
"""

import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

from sampler.common.errors import InputError
from sampler.rocksdb.forms import read_user_options
from sampler.rocksdb.measured_part import file_values, without_derived
from sampler.rocksdb.parameters import Parameter, Value, catalogue, parse_value
from sampler.space.kioxia_guide import (
    EXAMPLE_FILE,
    LEAST_BUFFERS,
    OPEN_FILES,
    Planned,
    compute_guide,
    files_of,
    rocksdb_values,
)
from sampler.space.space import default_values
from sampler.workload.workload import Workload, load_class

_RULE = re.compile(
    r"(?P<of>cores|memory)(?: (?P<sign>[*/]) (?P<by>[1-9][0-9]?))?"
    r"(?:, at least (?P<least>[0-9]{1,9}))?",
    re.ASCII,
)
_CATALOGUE = "starting_points.toml"
GUIDE = "guide"
GUIDE_HELP = (
    "KIOXIA's tuning guide, computed for the workload; guide:48 for a host with 48 CPU threads"
)
GUIDE_SOURCE = (
    "KIOXIA, Optimizing TRocksDB for Improved Performance; rocktune guide, "
    "docs/explanation/kioxia-guide.md"
)
_MOST_THREADS = 4096
# For keys alone: with the values among them such files and levels would be far too small, and
# the values, which TRocksDB compresses in their own files, would not be compressed at all.
_FOR_KEYS_ALONE = ("target_file_size_base", "max_bytes_for_level_base", "compression_type")
SPACE_BOUND = "space"
"""The class of jobs for which space counts more than anything else."""


@dataclass(frozen=True)
class Room:
    """What the values of a point depend on."""

    cores: int  # CPU threads of the host
    memory: int  # bytes for the memtables of one column family, at full scale


@dataclass(frozen=True)
class KnownPoint:
    """Settings that somebody runs or advises."""

    name: str
    help: str
    source: str  # where they are said: a file of RocksDB and the part of it, or a page
    usual: bool  # whether jobs of some class begin there unless told otherwise
    # By parameter, full scale; what is not named stays at the baseline.
    values: Mapping[str, Value]
    rules: Mapping[str, str] = field(default_factory=dict)  # values that depend on the ``Room``
    # Of single options, where they differ.
    sources: Mapping[str, str] = field(default_factory=dict)

    def values_in(self, room: Room) -> dict[str, Value]:
        """All values, those by rules worked out."""
        known = catalogue()
        found = {n: _worked_out(known[n], rule, room) for n, rule in self.rules.items()}
        return {**self.values, **found}


@cache
def known_points() -> Mapping[str, KnownPoint]:
    """The shipped points by name."""
    usual = {name for names in handfuls().values() for name in names}
    points = (_point(row, usual) for row in _document()["point"])
    return {point.name: point for point in points}


def handful(workload: Workload, *, space_bound: bool = False) -> tuple[str, ...]:
    """The names of the points that a job of a workload begins at, in the order to be measured.

    ``space_bound``: whether the job's objective is about space most of all.
    """
    return handfuls()[SPACE_BOUND if space_bound else load_class(workload)]


def classes_of(name: str) -> tuple[str, ...]:
    """The classes of jobs that begin at a point unless told otherwise."""
    return tuple(kind for kind, names in handfuls().items() if name in names)


def point_names() -> tuple[str, ...]:
    """All names that a search may begin at: the shipped points, and the one that is computed."""
    return (*known_points(), GUIDE)


def baseline_values(which: str, library: Mapping[str, Value] | None = None) -> dict[str, Value]:
    """The value of every catalogued parameter at a baseline.

    That is ``library``, ``db_bench``, or a shipped point, which is laid over the library's. Its
    defaults are the catalogue's where no RocksDB tells them.

    Raises:
        InputError: None of these.
    """
    if which == "db_bench":
        return default_values("db_bench")
    values = dict(default_values("library") if library is None else library)
    if which == "library":
        return values
    # A baseline is the same on every host.
    fixed = {name: point for name, point in known_points().items() if not point.rules}
    if which not in fixed:
        names = ", ".join(fixed)
        problem = f"{which!r} is neither library, db_bench nor one of {names}"
        raise InputError("space.baseline", problem)
    return {**values, **fixed[which].values}


def values_of(
    name: str, options: str | None, room: Room, *, field: str = "start_from"
) -> dict[str, Value]:
    """The settings of a starting point, by parameter, full scale.

    ``options`` is the text of the user's own OPTIONS file; None for a shipped point.

    Raises:
        InputError: There is no such point, or the text is no OPTIONS file.
    """
    if options is not None:
        file = without_derived(read_user_options(options, name=field))
        known = catalogue()
        return {name: v for name, v in file_values(file).items() if name in known}
    if name not in known_points():
        names = ", ".join(point_names())
        raise InputError(field, f"{name!r} is not one of {names}, none or an OPTIONS file")
    return known_points()[name].values_in(room)


def _worked_out(parameter: Parameter, rule: str, room: Room) -> Value:
    found = _RULE.fullmatch(rule)
    assert found is not None and parameter.low is not None and parameter.high is not None
    amount, by = (room.cores if found["of"] == "cores" else room.memory), int(found["by"] or 1)
    amount = amount * by if found["sign"] == "*" else amount // by
    least = max(int(found["least"] or 0), int(parameter.low))
    return max(least, min(amount // parameter.quantum * parameter.quantum, int(parameter.high)))


@cache
def _document() -> Mapping[str, Any]:
    return tomllib.loads(files("sampler").joinpath(_CATALOGUE).read_text(encoding="utf-8"))


def _in_full(source: str) -> str:
    """A source, which may begin with what the catalogue calls it, in full."""
    called: Mapping[str, str] = _document()["source"]
    short = max((each for each in called if source.startswith(each)), key=len, default="")
    return called.get(short, "") + source[len(short) :]


@cache
def handfuls() -> Mapping[str, tuple[str, ...]]:
    """The names of the points that jobs begin at, by class, in the order to be measured."""
    return {kind: tuple(names) for kind, names in _document()["handful"].items()}


def _point(row: Mapping[str, Any], usual: Collection[str]) -> KnownPoint:
    name, values, rules, sources = str(row["name"]), {}, {}, {}
    for option, given in row.get("values", {}).items():
        said = given if isinstance(given, dict) else {"value": given}
        if "source" in said:
            sources[option] = "; ".join(map(_in_full, said["source"].split("; ")))
        if isinstance(said["value"], str) and _RULE.fullmatch(said["value"]):
            rules[option] = said["value"]
        else:
            values[option] = parse_value(catalogue()[option], said["value"])
    if "defaults" in row:
        values = default_values(row["defaults"])
    return KnownPoint(
        name, row["help"], row["source"], name in usual, values, rules=rules, sources=sources
    )


def names_guide(name: str) -> bool:
    """Whether a starting point's name means the guide: ``guide``, or ``guide:`` and a number."""
    return name == GUIDE or name.startswith(f"{GUIDE}:")


def named_threads(name: str, *, field: str = "start_from") -> int | None:
    """The CPU threads in ``guide:48``; None in ``guide``.

    Raises:
        InputError: What follows the colon is no number of threads.
    """
    _, colon, text = name.partition(":")
    if not colon:
        return None
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:6]) <= _MOST_THREADS):
        raise InputError(field, f"{name!r:.40} has no number of threads; write it like guide:48")
    return int(text)


def with_threads(name: str, threads: int) -> str:
    """The name with so many CPU threads in it, unless it has some."""
    return f"{GUIDE}:{threads}" if name == GUIDE else name


def planned_for(workload: Workload, *, cpu_threads: int, memory: int | None) -> Planned:
    """The database that a workload of db_bench stands for, at full scale.

    A workload at scale 64 has a 64th of the keys. There are so few open files that each file of
    keys is 8 MB, as in the guide's example, 80,000 at most; and so many that two write buffers,
    which hold a file each, fit into the memory (None: no bound). More of them may not: a starting
    point is given fewer write buffers before smaller ones.
    """
    planned = Planned(
        keys=workload.num * workload.scale,
        key_size=workload.key_size,
        value_size=workload.value_size,
        cpu_threads=cpu_threads,
        memory=2**62 if memory is None else memory,
    )
    pair = planned.key_bytes + planned.value_size
    fitting = planned.memory // LEAST_BUFFERS // pair
    keys_per_file = max(1, min(EXAMPLE_FILE // planned.key_bytes, fitting))
    return replace(planned, open_files=min(OPEN_FILES, files_of(planned.keys, keys_per_file)))


def guide_values(
    workload: Workload, *, cpu_threads: int, memory: int | None, separating: bool
) -> dict[str, Value]:
    """The guide's settings for a workload, by parameter, full scale.

    The block cache is left where it is, as by every starting point. Where keys and values cannot
    be kept apart (``separating``), what is meant for keys alone (sizes of files and levels, the
    codec) is left out, and so is what concerns values. For the rest see ``planned_for``.
    """
    planned = planned_for(workload, cpu_threads=cpu_threads, memory=memory)
    values = rocksdb_values(compute_guide(planned))
    left = {"cache_size"}
    if not separating:
        left |= {*_FOR_KEYS_ALONE, *(name for name in values if "blob" in name)}
    return {name: value for name, value in values.items() if name not in left}
