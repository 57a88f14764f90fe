"""Where a search begins: from what was asked for (``--start-from``) to points of its space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from optimizer.strategies.registry import STRATEGIES
from optimizer.strategies.strategy import Prefers, starting_point
from optimizer.trials.problem import Problem, StartingPoint
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.kioxia_guide.for_workload import guide_values, names_guide, threads_of, with_threads
from sampler.machine.machine import cpu_threads
from sampler.parameters.parameter import Value
from sampler.space.starting_points import known_points, point_names, usual_points, values_of
from sampler.workload.workload import Workload

NONE = "none"
MOST = 20
Asked = Sequence[Mapping[str, Any]]


def read_starts(given: Sequence[str]) -> list[dict[str, Any]] | None:
    """What the terminal's names and OPTIONS files stand for, with the text of each file.

    Args:
        given: Names of shipped points, OPTIONS files, or ``none`` alone.

    Returns:
        None where nothing is given: then the strategy decides.

    Raises:
        InputError: A file cannot be read.
        InputErrors: Several.
    """
    if not given:
        return None
    found: list[InputError] = []
    asked: list[dict[str, Any]] = []
    for each in given:
        with noting(found):
            asked.append(_read(each))
    refuse_noted(found)
    return asked


def sent_starts(given: Sequence[str]) -> list[str | dict[str, Any]] | None:
    """The same as a request carries it: names as they are, and the text of each file.

    Raises:
        InputError: A file cannot be read.
        InputErrors: Several.
    """
    asked = read_starts(given)
    return (
        None if asked is None else [each if "options" in each else each["name"] for each in asked]
    )


def require_starts(asked: Asked, *, field: str = "--start-from") -> list[Mapping[str, Any]]:
    """Checks where a search shall begin; ``none`` stands for nowhere.

    The guide is for a host of as many CPU threads as this machine has, unless its name says how
    many. They are written down here: a job resumed elsewhere begins at the same point.

    Raises:
        InputError: A point is unknown or no OPTIONS file, ``none`` is not alone, or there are
            too many.
        InputErrors: Several of that.
    """
    names = [each["name"] for each in asked]
    if NONE in names and len(asked) > 1:
        raise InputError(field, "give none alone, or the points to begin at")
    if len(asked) > MOST:
        raise InputError(field, f"{len(asked)} are too many; {MOST} are the most")
    found: list[InputError] = []
    kept = [each for each in asked if each["name"] != NONE or each.get("options")]
    for each in kept:
        with noting(found):
            if _is_guide(each):
                threads_of(each["name"], field=field)
            else:
                values_of(each["name"], each.get("options"), field=field)
    refuse_noted(found)
    threads = cpu_threads()
    return [
        {"name": with_threads(each["name"], threads)} if _is_guide(each) else each for each in kept
    ]


def require_sizes(asked: Asked, workload: Workload, *, field: str = "--start-from") -> None:
    """Refuses the guide where a workload does not say how many keys of what size it has.

    Raises:
        InputError: It is so.
    """
    if not workload.by_db_bench and any(_is_guide(each) for each in asked):
        problem = f"guide needs keys and sizes, which the workload {workload.name} does not tell"
        raise InputError(field, f"{problem}; leave it out")


def starting_points(problem: Problem, asked: Asked | None) -> tuple[StartingPoint, ...]:
    """The points of a space where its search begins; what is the baseline there is left out.

    Args:
        problem: What is tuned.
        asked: As a specification holds it; None: the usual ones for a strategy that has models.
    """
    if asked is None:
        models = isinstance(STRATEGIES.get(problem.strategy), Prefers)
        asked = [{"name": name} for name in usual_points()] if models else []
    found = (starting_point(problem, each["name"], _values(problem, each)) for each in asked)
    return tuple(start for start in found if start is not None)


def _is_guide(asked: Mapping[str, Any]) -> bool:
    return asked.get("options") is None and names_guide(asked["name"])


def _values(problem: Problem, asked: Mapping[str, Any]) -> dict[str, Value]:
    if not _is_guide(asked):
        return values_of(asked["name"], asked.get("options"))
    start = problem.space.start
    memory = problem.memory
    return guide_values(
        problem.workload,
        cpu_threads=threads_of(asked["name"]) or cpu_threads(),
        memory=None
        if memory is None
        else (memory - int(start["cache_size"])) // problem.workload.column_families,
        separating=bool(start["enable_blob_files"]) or "enable_blob_files" in problem.searched,
    )


def _read(given: str) -> dict[str, Any]:
    if given == NONE or given in known_points() or names_guide(given):
        return {"name": given}
    path = Path(given)
    try:
        return {"name": path.name, "options": path.read_text(encoding="utf-8")}
    except (OSError, UnicodeDecodeError, ValueError):
        names = ", ".join(point_names())
        problem = f"{given!r} is neither one of {names}, none nor an OPTIONS file to read"
        raise InputError("--start-from", problem) from None
