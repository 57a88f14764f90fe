"""From a specification to the problem that it poses: checked, but bound to no machine.

With a warm start (``--warm-start``) the problem takes earlier jobs along. Which of them, and what
of each, is frozen with the job when it first begins: a job is a pure function of what is stored
with it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from db.jobs.job_store import JobStore
from db.schema.job_row import ENDED, JobKind, JobRow
from jobs.specification.load_warnings import (
    baseline_warnings,
    better_scale,
    shallow_warnings,
    small_load_warnings,
)
from jobs.specification.request import AUTO, WarmStart, require_file
from jobs.specification.specification import (
    Specification,
    require_tunes,
    specification_from_document,
)
from jobs.specification.start_from import starting_points
from optimizer.objective.objective_file import objective_from_document
from optimizer.run.ports import TrialLog
from optimizer.trials.problem import Prior, PriorJob, Problem
from optimizer.trials.trial import History, Purpose
from sampler.bench.accepted import require_supported
from sampler.bench.bench_plan import BenchPlan
from sampler.bench.command_bench import CommandBench
from sampler.bench.db_bench import DbBench
from sampler.bench.installed import InstalledDbBench
from sampler.bench.user_options import UserOptions, user_options
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.common.text import format_bytes
from sampler.rocksdb.parameters import Value, catalogue
from sampler.space.space import (
    LEAST_WRITE_BUFFER,
    Space,
    default_values,
    holding,
    memory_bytes,
)
from sampler.space.space_file import space_from_document
from sampler.space.starting_points import baseline_values
from sampler.workload.workload import Workload
from sampler.workload.workload_file import workload_from_document


@dataclass(frozen=True, kw_only=True)
class MeasuredBaseline:
    """A baseline under a workload."""

    values: Mapping[str, Value]  # of every known parameter, full scale
    library: Mapping[str, Value]  # the library's defaults
    own: UserOptions  # the user's file; empty without one

    def plan(self, workload: Workload, space: Space) -> BenchPlan:
        """How a space around this baseline is measured."""
        around = space.at_baseline(self.values)
        own = self.own
        return BenchPlan(
            workload, around, self.library, own.file, own.dropped, own.notes, own.text
        )


def measured_baseline(
    workload: Workload,
    installed: InstalledDbBench | None,
    *,
    library: Mapping[str, Value],
    base: str = "library",
    options: str | None = None,
    column_family: str | None = None,
    drop_unknown: bool = False,
    field: str = "baseline_options",
) -> MeasuredBaseline:
    """The values of a baseline, the facts of the workload among them.

    Without an ``installed`` db_bench, what it takes is found out later. The base is ``library``
    (whose defaults are given), ``db_bench`` or a shipped starting point; the text of an OPTIONS
    file over that may be without what its RocksDB does not know, and of its column families one
    counts, by default ``default``. ``field`` is the user's word.

    Raises:
        InputError: The text is no OPTIONS file, it has no such family, or RocksDB refuses it.
    """
    require_file(column_family, options)
    own = UserOptions()
    if options is not None:
        own = user_options(
            options, installed, name=field, family=column_family, drop_unknown=drop_unknown
        )
    values = {**baseline_values(base, library), **own.values, **workload.facts()}
    return MeasuredBaseline(values=values, library=library, own=own)


@dataclass(frozen=True)
class ResolvedJob:
    """What a job tunes, and how a configuration becomes what is measured."""

    specification: Specification  # what was asked for
    problem: Problem
    plan: BenchPlan
    warnings: tuple[str, ...]  # what the user must know before it runs
    # The db_bench that measures; None with a benchmark of the user's own, or while it is unknown.
    installed: InstalledDbBench | None = None

    @property
    def benchmark(self) -> DbBench | CommandBench:
        """What measures the search; only of a job that is resolved for a machine."""
        if self.installed is not None:
            return DbBench(self.installed, self.plan)
        assert self.plan.workload.command is not None
        return CommandBench(self.plan.workload.command, self.plan)

    @property
    def confirming(self) -> DbBench | None:
        """What measures the confirmation, where its load is a larger one."""
        confirm = self.problem.confirm
        if self.installed is None or confirm is None:
            return None
        return DbBench(self.installed, replace(self.plan, workload=confirm))


def resolve(specification: Specification, installed: InstalledDbBench | None) -> ResolvedJob:
    """Checks a specification as a whole, for the db_bench that will measure.

    Without it the catalogue's defaults are taken for the library's, and what this RocksDB does not
    know is found out when the job runs.

    Raises:
        InputError: RocksDB does not know an option that the user asked for, the load is too
            small to measure anything, or the memory budget cannot be kept.
    """
    workload = workload_from_document(specification.workload, stored=True)
    if specification.scale is not None:
        workload = replace(workload, scale=specification.scale)
    library = installed.library_defaults() if installed else default_values("library")
    given = space_from_document(specification.space)
    found: list[InputError] = []
    commands = [p.name for p in given.parameters if p.section == "command"]
    if commands and workload.by_db_bench:
        problem = "is not an option of RocksDB; only a [command] workload can use it"
        found.append(InputError(f"space.parameter ({commands[0]})", problem))
    space = given
    unknown: list[str] = []
    with noting(found):
        space, unknown = _known_to(installed, given, specification.shipped_space)
    own = UserOptions()
    with noting(found):
        baseline = measured_baseline(
            workload,
            installed,
            library=library,
            base=specification.baseline or space.baseline,
            options=specification.baseline_options,
            column_family=specification.column_family,
            drop_unknown=specification.drop_unknown,
        )
        own, space = baseline.own, space.at_baseline(baseline.values)
    if own.file.sections:  # the ranges hold what the user's file has
        unmoved = [name for name in space.names if name in own.immovable]
        space = holding(space.without(unmoved), space.context)
        if unmoved:
            why = "not searched, because your OPTIONS file leaves no such choice"
            unknown.append(f"{', '.join(unmoved)}: {why}")
    set_by_load = {n: v for n, v in workload.options.items() if n not in own.values}
    if fixed := [name for name in space.fixed if name in set_by_load]:
        problem = f"{space.name} fixes {fixed[0]}, which the load {workload.name} sets"
        found.append(InputError("space", f"{problem}; choose another space"))
    if held := [name for name in space.names if name in set_by_load]:
        space = space.without(held).at_baseline({name: set_by_load[name] for name in held})
        unknown.append(f"{', '.join(held)}: not searched; the load {workload.name} sets it")
    with noting(found):
        _require_scale(workload, space)
    if installed:
        with noting(found):
            require_supported(installed, workload)
    search = specification.search
    with noting(found):
        _require_searchable(search.over, space)
    confirm: Workload | None = None
    if specification.confirm_scale is not None:
        # The number of keys belongs to the scale of the search, whoever named that.
        confirm = workload.at_scale(specification.confirm_scale)
    memory: int | None = None
    small: list[str] = []
    with noting(found):
        memory = _memory(specification.memory, space)
        small = small_load_warnings(workload, space, memory)
    refuse_noted(found)
    tuned = Problem(
        space=space,
        workload=workload,
        objective=objective_from_document(specification.objective),
        strategy=specification.strategy,
        memory=memory,
        seed=specification.seed,
        search=search,
        confirm=confirm,
        price=not specification.no_price,
    )
    starts = starting_points(tuned, specification.start_from, cores=specification.cores)
    tuned = replace(tuned, starts=starts)
    plan = BenchPlan(workload, space, library, own.file, own.dropped, own.notes, own.text)
    warnings = [*unknown, *small, *shallow_warnings(workload, space)]
    if factors := [p.name for p in space.parameters if p.section == "workload"]:
        what = f"{', '.join(factors)} describe the workload, not RocksDB"
        warnings.append(f"{what}: no OPTIONS file can hold them")
    warnings += baseline_warnings(plan)
    return ResolvedJob(specification, tuned, plan, tuple(warnings), installed)


def resolve_stored(job: JobRow) -> ResolvedJob:
    """A stored job, read without its db_bench; an InputError if it is of another version."""
    return resolve(specification_from_document(job.specification), None)


def _known_to(
    installed: InstalledDbBench | None, space: Space, shipped: bool
) -> tuple[Space, list[str]]:
    if installed is None:
        return space, []
    fixed = [catalogue()[name] for name in space.fixed]
    unknown = [p.name for p in (*space.parameters, *fixed) if not installed.knows(p)]
    if not unknown:
        return space, []
    problem = f"RocksDB {installed.version} does not know {', '.join(unknown)}"
    if not shipped or any(name in space.fixed for name in unknown):
        raise InputError(f"space.parameter ({unknown[0]})", f"{problem}; remove it from the space")
    return space.without(unknown), [f"{problem}: left out of the space"]


def _memory(asked: int | None, space: Space) -> int | None:
    """The budget in bytes; None where the space has none and none is asked for."""
    if asked is None and not space.memory_budget:
        return None
    sizes = ("write_buffer_size", "max_write_buffer_number", "cache_size")
    lows = {name: space.by_name[name].low or 0 for name in sizes if name in space.by_name}
    least = memory_bytes({**space.start, **lows})
    budget = memory_bytes(space.context) if asked is None else asked
    if budget < least:
        raise InputError(
            "memory",
            f"{format_bytes(budget)} is too little for the space {space.name}; give "
            f"{format_bytes(least)} or more",
        )
    return budget


def _require_searchable(names: Sequence[str], space: Space) -> None:
    for name in names:
        if name not in space.by_name:
            raise InputError("over", f"the space {space.name} has no parameter {name!r}")
        if name in space.unsearched:
            raise InputError("over", f"the space {space.name} does not search {name}")


def _require_scale(workload: Workload, space: Space) -> None:
    if not workload.by_db_bench:
        return
    moved = space.by_name.get("write_buffer_size")
    smallest = min(
        int(space.context["write_buffer_size"]),
        int(moved.low if moved and moved.low is not None else space.start["write_buffer_size"]),
    )
    if smallest // workload.scale < LEAST_WRITE_BUFFER:
        raise InputError(
            f"workload ({workload.name})",
            f"at scale {workload.scale}, a write buffer of {format_bytes(smallest)} falls below "
            f"RocksDB's minimum of {format_bytes(LEAST_WRITE_BUFFER)}; {better_scale(smallest)}",
        )


DOCUMENT = "prior"
"""The document of what a job took along."""

_MOST_JOBS = 3
_LOOKED_AT = 200  # of the newest jobs
_LEAST_TRIALS = 10  # fewer teach nothing
_LEAST_IN_COMMON = 0.5  # of the parameters that move


def frozen_prior(
    store: JobStore,
    log: TrialLog,
    job_id: int,
    asked: WarmStart,
    problem: Problem,
    hosts: Collection[str] | None,
) -> Prior:
    """What the job took along when it began; found, and kept in its log, the first time.

    ``asked`` is as its specification holds it, ``hosts`` where it is measured, if that is known.

    Raises:
        InputError: The job that is asked for is not there, or has nothing to teach.
        LeaseLost: Another controller has taken the job over.
    """
    if asked is None:
        return Prior()
    kept = log.recall(DOCUMENT)
    if kept is None:
        kept = prior_of(store, job_id, asked, problem, hosts).document()
        log.remember(DOCUMENT, kept)
    return Prior.from_document(kept)


def hosts_in(environment: Mapping[str, Any]) -> set[str]:
    """The hosts that an environment tells of."""
    several = environment.get("hosts")
    return set(several) if several else {str(environment["host"])}


def said_of(prior: Prior) -> str:
    """What is taken along, for people."""
    if not prior.jobs:
        return "warm start: no earlier job here is similar enough; starting without one"
    return f"warm start: {', '.join(job.said() for job in prior.jobs)}"


def prior_of(
    store: JobStore, job_id: int, asked: WarmStart, problem: Problem, hosts: Collection[str] | None
) -> Prior:
    """What a job would take along now; see ``frozen_prior``."""
    from optimizer.surrogate.training_data import MOST

    if isinstance(asked, int):
        return Prior((_named(store, asked, problem),))
    if asked != AUTO:
        return Prior()
    # Jobs of the same load first.
    similar = sorted(
        _similar(store, job_id, problem), key=lambda each: each[1].workload != problem.workload
    )
    taken = (_taken(store, number, earlier, problem, hosts) for number, earlier in similar)
    found = list(islice((each for each in taken if each is not None), _MOST_JOBS))
    share = MOST // max(1, len(found))
    return Prior(tuple(replace(each, trials=each.trials[:share]) for each in found))


def require_job(store: JobStore, asked: WarmStart, *, field: str = "warm_start") -> None:
    """Refuses, with an InputError, to start from a job that is not there."""
    if isinstance(asked, int):
        try:
            row = store.job(asked)
        except KeyError:
            problem = f"there is no job {asked} in this database; write auto, none or a job number"
            raise InputError(field, problem) from None
        require_tunes(row, field)


def _named(store: JobStore, number: int, problem: Problem) -> PriorJob:
    require_job(store, number)
    earlier = resolve_stored(store.job(number)).problem
    taken = _taken(store, number, earlier, problem, None)
    if taken is None or not _in_common(earlier, problem):
        why = f"job {number} has fewer than {_LEAST_TRIALS} measured configurations"
        if taken is not None:
            why = f"job {number} varies none of this job's parameters"
        raise InputError("warm_start", f"{why}; name another, or none")
    return taken


def _similar(store: JobStore, job_id: int, problem: Problem) -> Iterator[tuple[int, Problem]]:
    """Ended jobs of the same kind of load that move enough of the same, newest first."""
    for row in store.jobs(limit=_LOOKED_AT):
        if row.id == job_id or row.state not in ENDED or row.kind is not JobKind.TUNE:
            continue
        try:
            earlier = resolve_stored(row).problem
        except InputError:  # of another version, or of files that were there then
            continue
        alike = _kind(earlier.workload) == _kind(problem.workload)
        if alike and _in_common(earlier, problem) >= _LEAST_IN_COMMON:
            yield row.id, earlier


def _taken(
    store: JobStore, number: int, earlier: Problem, problem: Problem, hosts: Collection[str] | None
) -> PriorJob | None:
    """What is taken of a job; None if it measured too little there."""
    from optimizer.surrogate.training_data import prior_job

    trials = store.trials(number)
    history = History(t for t in trials if hosts is None or t.host in hosts)
    if not any(trial.done for trial in history.of(Purpose.BASELINE)):
        return None
    taken = prior_job(problem, earlier, history, job=number)
    return taken if taken.of >= _LEAST_TRIALS else None


def _kind(workload: Workload) -> tuple[object, ...]:
    """What two loads must have in common to be similar: who measures them, and what is done."""
    if workload.command is not None:
        return ("command", workload.command.argv)
    if workload.external:
        return ("external", workload.name)
    prepared = workload.prepare.benchmarks if workload.prepare else ()
    return ("db_bench", prepared, workload.benchmarks)


def _in_common(earlier: Problem, problem: Problem) -> float:
    moved = set(earlier.space.names)
    return sum(name in moved for name in problem.searched) / max(1, len(problem.searched))
