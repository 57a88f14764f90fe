"""Where a search begins: from what was asked for (``--start-from``) to points of its space."""

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.specification.request import NONE
from optimizer.trials.problem import Problem, StartingPoint, starting_point
from sampler.bench.user_options import require_known_filter
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.machine.machine import cpu_threads
from sampler.rocksdb.forms import read_user_options
from sampler.rocksdb.parameters import Value
from sampler.space.space import memtable_bytes
from sampler.space.starting_points import (
    Room,
    guide_values,
    handful,
    named_threads,
    names_guide,
    values_of,
    with_threads,
)
from sampler.workload.workload import Workload

MOST = 20
# Where jobs of earlier versions began that had models: they end as they began.
_EARLIER = ("library", "benchmark.sh", "basic-tuning", "universal-style")
_OF_SPACE = ("sa", "lsm_bytes")
_FIELD = "start_from"
Starts = Sequence[Mapping[str, Any]]


def require_starts(asked: Starts) -> list[Mapping[str, Any]]:
    """Checks where a search shall begin; ``none`` stands for nowhere.

    The guide is for a host of as many CPU threads as this machine has, unless its name says how
    many. They are written down here: a job resumed elsewhere begins at the same point.

    Raises:
        InputError: A point is unknown or no OPTIONS file, ``none`` is not alone, or there are
            too many.
    """
    names = [each["name"] for each in asked]
    if NONE in names and len(asked) > 1:
        raise InputError(_FIELD, "give either none or the points to start from")
    if len(asked) > MOST:
        raise InputError(_FIELD, f"{len(asked)} are too many; the limit is {MOST}")
    found: list[InputError] = []
    kept = [each for each in asked if each["name"] != NONE or each.get("options")]
    for each in kept:
        with noting(found):
            if _is_guide(each):
                named_threads(each["name"], field=_FIELD)
            else:
                values_of(each["name"], each.get("options"), Room(1, 0), field=_FIELD)
                if each.get("options"):
                    file = read_user_options(each["options"], name=_FIELD)
                    require_known_filter(file, name=_FIELD)
    refuse_noted(found)
    threads = cpu_threads()
    return [
        {"name": with_threads(each["name"], threads)} if _is_guide(each) else each for each in kept
    ]


def require_sizes(asked: Starts, workload: Workload) -> None:
    """Refuses the guide, with an InputError, where a workload tells no number and size of keys."""
    if not workload.by_db_bench and any(_is_guide(each) for each in asked):
        problem = f"guide needs keys and sizes, which the workload {workload.name} lacks"
        raise InputError(_FIELD, f"{problem}; leave it out")


def starting_points(
    problem: Problem, asked: Starts | None, *, cores: int | None = None
) -> tuple[StartingPoint, ...]:
    """The points of a space where its search begins; what is the baseline there is left out.

    Where none are asked for, a job begins at those for its load, whatever the strategy.
    ``cores`` are the CPU threads that they are worked out for; None: the job is of a version that
    knew no such points, and of which only strategies with models began at any.
    """
    from optimizer.strategies.registry import STRATEGIES

    if asked is None:
        strategy = STRATEGIES.get(problem.strategy)
        models = strategy is not None and strategy.has_models
        names = _EARLIER if cores is None else usual_starts(problem)
        asked = [{"name": name} for name in names] if models or cores is not None else []
    room = room_of(problem, cores or 1)
    found = (starting_point(problem, each["name"], _values(problem, each, room)) for each in asked)
    return tuple(start for start in found if start is not None)


def usual_starts(problem: Problem) -> tuple[str, ...]:
    """The names of the points that a job begins at unless told otherwise."""
    objective = problem.objective
    weights = {True: 0.0, False: 0.0}
    for term in objective.terms:
        weights[term.metric in _OF_SPACE] += term.weight
    limited = any(limit.metric in _OF_SPACE for limit in objective.limits)
    return handful(problem.workload, space_bound=limited or weights[True] > weights[False])


def room_of(problem: Problem, cores: int) -> Room:
    """What the points of a job are worked out for: its memory, or else its baseline's."""
    start, families = problem.space.start, problem.workload.column_families
    if problem.memory is None:
        facts = problem.workload.facts()
        return Room(cores, memtable_bytes({**start, **facts}) // families)
    return Room(cores, max(0, problem.memory - int(start["cache_size"])) // families)


def _is_guide(asked: Mapping[str, Any]) -> bool:
    return asked.get("options") is None and names_guide(asked["name"])


def _values(problem: Problem, asked: Mapping[str, Any], room: Room) -> dict[str, Value]:
    if not _is_guide(asked):
        return values_of(asked["name"], asked.get("options"), room)
    start, memory = problem.space.start, problem.memory
    if memory is not None:
        memory = (memory - int(start["cache_size"])) // problem.workload.column_families
    return guide_values(
        problem.workload,
        cpu_threads=named_threads(asked["name"]) or cpu_threads(),
        memory=memory,
        separating=bool(start["enable_blob_files"]) or "enable_blob_files" in problem.searched,
    )
