"""From a specification to the problem that it poses: checked, but bound to no machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jobs.baseline_warnings import baseline_warnings
from jobs.confirm_scale import confirm_load
from jobs.hidden_debt import debt_warnings
from jobs.shallow_tree import shallow_warnings
from jobs.specification import Specification
from jobs.start_from import starting_points
from optimizer.objective_file import objective_from_document
from optimizer.problem import Problem, SearchSettings
from sampler.bench_plan import BenchPlan
from sampler.build_flags import require_supported
from sampler.byte_size import format_bytes
from sampler.catalogue import catalogue
from sampler.errors import InputError, noting, refuse_noted
from sampler.installed import InstalledDbBench
from sampler.option_values import read_values
from sampler.options_file import OptionsFile, parse_options
from sampler.space import COLUMN_FAMILIES, Configuration, Space, default_values, memory_bytes
from sampler.space_file import space_from_document
from sampler.starting_points import baseline_values
from sampler.workload import Workload, least_user_bytes
from sampler.workload_file import workload_from_document

# column_family.cc, SanitizeOptions: smaller write buffers are raised to this.
_LEAST_WRITE_BUFFER = 64 * 2**10


@dataclass(frozen=True)
class Frame:
    """What a job tunes, and how a configuration becomes what is measured.

    Attributes:
        warnings: What the user must know before it runs.
    """

    problem: Problem
    plan: BenchPlan
    warnings: tuple[str, ...]


def frame(specification: Specification, installed: InstalledDbBench | None) -> Frame:
    """Checks a specification as a whole.

    Args:
        specification: What is asked for.
        installed: The db_bench that will measure. Without it the catalogue's defaults are taken
            for the library's, and what this RocksDB does not know is found out when the job runs.

    Raises:
        InputError: RocksDB does not know an option that the user asked for, the load is too
            small to measure anything, or the memory budget cannot be kept.
        InputErrors: Several of these.
    """
    workload = workload_from_document(specification.workload, stored=True)
    if specification.scale is not None:
        workload = replace(workload, scale=specification.scale)
    library = installed.library_defaults() if installed else default_values("library")
    given = space_from_document(specification.space)
    found: list[InputError] = []
    with noting(found):
        _refuse_own_parameters(given, workload)
    space = given
    unknown: list[str] = []
    with noting(found):
        space, unknown = _known_to(installed, given, specification.shipped_space)
    baseline_file = OptionsFile()
    with noting(found):
        space, baseline_file = _at_baseline(space, specification, library, workload)
    with noting(found):
        _require_scale(workload, space)
    if installed:
        with noting(found):
            require_supported(installed, workload)
    search = SearchSettings.of(specification.search)
    with noting(found):
        _require_searchable(search.over, space)
    memory: int | None = None
    too_small: list[str] = []
    owed: list[str] = []
    with noting(found):
        memory = _memory(specification.memory, space)
        too_small = _load_warning(workload, space, memory)
        owed = debt_warnings(workload, space, memory)
    refuse_noted(found)
    problem = Problem(
        space=space,
        workload=workload,
        objective=objective_from_document(specification.objective),
        strategy=specification.strategy,
        memory=memory,
        seed=specification.seed,
        search=search,
        confirm=confirm_load(workload, specification.confirm_scale, specification.scale),
    )
    problem = replace(problem, starts=starting_points(problem, specification.start_from))
    plan = BenchPlan(workload, space, library, baseline_file)
    shallow = shallow_warnings(workload, space)
    warnings = (
        *unknown,
        *too_small,
        *owed,
        *shallow,
        *_factor_warnings(space),
        *baseline_warnings(plan),
    )
    return Frame(problem, plan, warnings)


def _refuse_own_parameters(space: Space, workload: Workload) -> None:
    own = [p.name for p in space.parameters if p.section == "command"]
    if own and workload.by_db_bench:
        raise InputError(
            f"parameter ({own[0]})", "is no option of RocksDB; a [command] workload can use it"
        )


def _known_to(
    installed: InstalledDbBench | None, space: Space, shipped: bool
) -> tuple[Space, list[str]]:
    """The space without the options that the installed RocksDB does not know."""
    if installed is None:
        return space, []
    fixed = [catalogue()[name] for name in space.fixed]
    unknown = [p.name for p in (*space.parameters, *fixed) if not installed.knows(p)]
    if not unknown:
        return space, []
    names = ", ".join(unknown)
    if not shipped or any(name in space.fixed for name in unknown):
        raise InputError(
            f"parameter ({unknown[0]})",
            f"RocksDB {installed.version} does not know {names}; take it out of the space",
        )
    return space.without(unknown), [
        f"RocksDB {installed.version} does not know {names}: left out of the space"
    ]


def _at_baseline(
    space: Space, specification: Specification, library: Configuration, workload: Workload
) -> tuple[Space, OptionsFile]:
    """The space around the baseline that was asked for, and the user's own file if it is one."""
    facts = workload.facts()
    if specification.baseline_options is not None:
        options = parse_options(specification.baseline_options, name="--baseline")
        found = read_values(options, catalogue().values(), scale=1)
        return space.at_baseline({**library, **found, **facts}), options
    which = specification.baseline or space.baseline
    values = baseline_values(which, library)
    return space.at_baseline({**values, **facts}), OptionsFile()


def _memory(asked: int | None, space: Space) -> int | None:
    """The budget in bytes; None where the space has none and none is asked for."""
    if asked is None and not space.memory_budget:
        return None
    least = memory_bytes(
        {
            name: space.by_name[name].low or 0 if name in space.by_name else space.start[name]
            for name in ("write_buffer_size", "max_write_buffer_number", "cache_size")
        }
        | {name: space.start[name] for name in (COLUMN_FAMILIES,) if name in space.start}
    )
    budget = memory_bytes(space.context) if asked is None else asked
    if budget < least:
        raise InputError(
            "--memory",
            f"{format_bytes(budget)} is less than the space needs at least, {format_bytes(least)}",
        )
    return budget


def _load_warning(workload: Workload, space: Space, memory: int | None) -> list[str]:
    """Refuses a load that stays in the write buffers; the paper's own space is only warned."""
    if not workload.by_db_bench:
        return []
    cache = int(space.context["cache_size"])
    memtables = (memory_bytes(space.context) if memory is None else memory) - cache
    needed = least_user_bytes(memtables, workload.scale)
    given = workload.loaded_bytes()
    if given >= needed:
        return []
    text = (
        f"writes {format_bytes(given)}, less than 16 times the write buffers of "
        f"{format_bytes(memtables)} at scale {workload.scale}, {format_bytes(needed)}: "
        "it would measure memory, not the tree"
    )
    # Column families fill their write buffers in turn: with several it is a warning.
    stays = given < least_user_bytes(memtables // workload.column_families, workload.scale)
    if space.memory_budget and stays:
        raise InputError(f"workload ({workload.name})", f"{text}; raise num or lower the budget")
    return [f"the workload {workload.name} {text}"]


def _require_searchable(names: Sequence[str], space: Space) -> None:
    """Refuses to search what is not in the space, or is a fact of the user's load."""
    for name in names:
        if name not in space.by_name:
            raise InputError("--over", f"the space {space.name} has no parameter {name!r}")
        if name in space.unsearched:
            raise InputError("--over", f"{name} is left to the users of the space {space.name}")


def _require_scale(workload: Workload, space: Space) -> None:
    """Refuses a scale at which RocksDB would not use the write buffers that it is told to."""
    if not workload.by_db_bench:
        return
    moved = space.by_name.get("write_buffer_size")
    smallest = min(
        int(space.context["write_buffer_size"]),
        int(moved.low if moved and moved.low is not None else space.start["write_buffer_size"]),
    )
    if smallest // workload.scale < _LEAST_WRITE_BUFFER:
        raise InputError(
            f"workload ({workload.name})",
            f"at scale {workload.scale} a write buffer of {format_bytes(smallest)} falls below "
            f"RocksDB's least, {format_bytes(_LEAST_WRITE_BUFFER)}; "
            f"a scale of at most {smallest // _LEAST_WRITE_BUFFER} measures what is asked",
        )


def _factor_warnings(space: Space) -> list[str]:
    factors = [p.name for p in space.parameters if p.section == "workload"]
    if not factors:
        return []
    return [
        f"{', '.join(factors)} describe the workload, not RocksDB: no OPTIONS file can carry them"
    ]
