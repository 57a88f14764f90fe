"""Known good settings that a search may begin at: a catalogue, each point with its source."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from sampler.common.errors import InputError
from sampler.kioxia_guide.for_workload import NAME as GUIDE
from sampler.options.measured_part import without_derived
from sampler.options.normal_form import file_values, read_user_options
from sampler.parameters.catalogue import catalogue
from sampler.parameters.parameter import Value, parse_value
from sampler.space.space import default_values


@dataclass(frozen=True)
class KnownPoint:
    """Settings that somebody runs or advises."""

    name: str
    help: str
    source: str  # where they are said: a file of RocksDB and the part of it, or a page
    usual: bool  # whether a search with models begins there unless told otherwise
    # By parameter, full scale; what is not named stays at the baseline.
    values: Mapping[str, Value]


@cache
def known_points() -> Mapping[str, KnownPoint]:
    """The shipped points by name, in the order in which they are measured."""
    text = files("sampler").joinpath("starting_points.toml").read_text(encoding="utf-8")
    points = (_point(row) for row in tomllib.loads(text)["point"])
    return {point.name: point for point in points}


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
        return default_values(which)
    values = dict(default_values("library") if library is None else library)
    if which == "library":
        return values
    if which not in known_points():
        names = ", ".join(known_points())
        problem = f"{which!r} is neither library, db_bench nor one of {names}"
        raise InputError("space.baseline", problem)
    return {**values, **known_points()[which].values}


def usual_points() -> tuple[str, ...]:
    """The names of those where a search with models begins."""
    return tuple(point.name for point in known_points().values() if point.usual)


def values_of(name: str, options: str | None, *, field: str = "--start-from") -> dict[str, Value]:
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
        raise InputError(field, f"{name!r} is neither one of {names}, none nor an OPTIONS file")
    return dict(known_points()[name].values)


def _point(row: Mapping[str, object]) -> KnownPoint:
    if "defaults" in row:
        values = default_values(str(row["defaults"]))
    else:
        given = row["values"]
        assert isinstance(given, dict)
        values = {name: parse_value(catalogue()[name], value) for name, value in given.items()}
    return KnownPoint(
        str(row["name"]), str(row["help"]), str(row["source"]), bool(row.get("usual")), values
    )
