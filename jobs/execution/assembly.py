"""What this machine measures with: of a whole job, or of one configuration outside of any job."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from db.schema.job_row import JobRow
from jobs.results.export import export_options
from jobs.specification.load_warnings import baseline_warnings, scale_warnings, too_small_warnings
from jobs.specification.named_files import baseline_named, specify
from jobs.specification.resolved_job import ResolvedJob, measured_baseline, resolve
from jobs.specification.specification import Specification, wrong_scale_or_seed
from optimizer.run.ports import Hosts, OneHost
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.bench.accepted import require_supported
from sampler.bench.bench_folder import require_space
from sampler.bench.bench_plan import BenchPlan
from sampler.bench.builds import (
    build_facts,
    database_version,
    fit_words,
    fitting_build,
    installed_build,
    installed_versions,
)
from sampler.bench.command_bench import CommandBench, require_program
from sampler.bench.db_bench import DbBench
from sampler.bench.installed import InstalledDbBench, build_words
from sampler.bench.outcome import Outcome
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings
from sampler.common.errors import InputError, refuse_noted
from sampler.machine.machine import fingerprint, host_name
from sampler.rocksdb.parameters import Value
from sampler.space.space import Configuration
from sampler.space.space_file import load_space
from sampler.workload.workload import Workload
from sampler.workload.workload_file import load_workload, workload_from_document


def assemble(specification: Specification, settings: Settings) -> ResolvedJob:
    """Checks a specification against this machine and puts the parts together.

    Raises:
        InputError: There is no db_bench, or no build of the name asked for; it does not know an
            option that the user asked for, the load is too small to measure anything, the memory
            budget cannot be kept, or nothing here measures this workload.
    """
    workload = workload_from_document(specification.workload, stored=True)
    if workload.external:
        raise InputError(
            f"workload ({workload.name})",
            "needs an external runner: submit it to `rocktune serve`, then request suggestions "
            "and report trials",
        )
    if workload.command is not None:
        require_program(workload.command.argv[0])
    by_db_bench = workload.by_db_bench
    installed = installed_build(specification.db_bench, settings) if by_db_bench else None
    return assembly_of(specification, installed)


def assembly_of(specification: Specification, installed: InstalledDbBench | None) -> ResolvedJob:
    """Resolves a job for a db_bench (None: the user's own benchmark), with words on its build.

    Errors are those of ``resolve``.
    """
    resolved = resolve(specification, installed)
    if installed is None or (database := specification.chosen_for) is None:
        return resolved
    build = fit_words(database, installed.version, named=specification.db_bench)
    return replace(resolved, warnings=(*build, *resolved.warnings))


def environment_of(assembly: ResolvedJob, settings: Settings) -> dict[str, Any]:
    """The machine, the RocksDB, and what must be known of either."""
    installed = assembly.installed
    build = installed and build_facts(installed.program, version=installed.version)
    return fingerprint(settings.bench_dir) | {
        "rocksdb": installed.version if installed else None,
        "db_bench": str(installed.program) if installed else None,
        "build": build and build.document(),
        "warnings": [*(installed.warnings if installed else ()), *assembly.warnings],
    }


_TELLING = ("version", "digest", "source", "compiled")


def require_same_build(row: JobRow, environment: Mapping[str, Any]) -> None:
    """Refuses to measure a job on with another db_bench, or another library under it.

    Of a cluster nothing is asked: its hosts may have several builds, and which of them was asked
    first is chance.

    Raises:
        InputError: It has runs of another build, and not all of its runs.
    """
    before, standing = row.environment or {}, row.standing or {}
    first, now = before.get("build"), environment.get("build")
    ended = standing.get("done", 0) + standing.get("failed", 0)
    on_a_cluster = "hosts" in before or "hosts" in environment
    goes_on = 0 < ended < (standing.get("total") or ended + 1)
    if on_a_cluster or not first or not now or not goes_on:
        return
    if any(first.get(name) != now.get(name) for name in _TELLING):
        problem = (
            f"job {row.id} was measured with {build_words(first)}; this is {build_words(now)}. "
            "Runs of the two cannot be compared. Use the first program (`db_bench`, "
            "ROCKTUNE_DB_BENCH), or start a new job, which can learn from this one "
            f"(`warm_start` {row.id})"
        )
        raise InputError("db_bench", problem)


def plan_over_baseline(
    workload: Workload, installed: InstalledDbBench, **baseline: Any
) -> BenchPlan:
    """How a configuration over a baseline is measured, whichever known parameters it sets.

    ``baseline`` and errors are those of ``measured_baseline``.
    """
    found = measured_baseline(
        workload, installed, library=installed.library_defaults(), **baseline
    )
    return found.plan(workload, load_space("all"))


@dataclass(frozen=True)
class SingleBench:
    """What runs a configuration."""

    benchmark: DbBench | CommandBench
    warnings: tuple[str, ...]  # what the reader of its figures must know


def single_bench(
    workload: str | Workload,
    settings: Settings,
    *,
    baseline: str | None = None,
    options: str | None = None,
    column_family: str | None = None,
    drop_unknown: bool,
    scale: int | None,
    db_bench: str | None,
    configuration: Mapping[str, Value],
    database: str | None = None,
) -> SingleBench:
    """Puts together what measures one configuration over a baseline.

    Nothing is searched, so nothing is refused for what a search would need: a load that is small
    beside the write buffers is measured, and a warning says so.

    The workload may be a name or a TOML file; ``options`` is the text of an OPTIONS file as the
    baseline, or the baseline ``library``, ``db_bench`` or an OPTIONS
    file, None for the library's; ``db_bench`` a build's name or the path of a program, None for
    the one that fits the OPTIONS file, or the version of the ``database`` where no file tells it.
    The configuration has values over the baseline, full scale.

    Raises:
        InputError: Something is wrong with what is asked for, or with this machine.
    """
    load = workload if isinstance(workload, Workload) else load_workload(workload)
    if not load.by_db_bench:
        specification = specify(
            workload=str(workload), space="all", baseline=baseline, column_family=column_family,
            scale=scale,
        )  # fmt: skip
        assembly = assemble(specification, settings)
        return SingleBench(assembly.benchmark, assembly.warnings)
    refuse_noted(wrong_scale_or_seed(scale, 1))
    load = load if scale is None else replace(load, scale=scale)
    name = None
    if options is None:
        name, options = baseline_named(baseline)
    database = database_version(options, database) if db_bench is None else None
    if db_bench is None and database is not None:
        db_bench = fitting_build(database, installed_versions(settings))
    installed = installed_build(db_bench, settings)
    require_supported(installed, load)
    plan = plan_over_baseline(
        load,
        installed,
        base=name or "library",
        options=options,
        column_family=column_family,
        drop_unknown=drop_unknown,
    )
    values = plan.space.complete(configuration)
    warnings = (
        *(fit_words(database, installed.version, named=db_bench) if database else ()),
        *baseline_warnings(plan),
        *scale_warnings(load, values),
        *too_small_warnings(load, values),
    )
    return SingleBench(DbBench(installed, plan), warnings)


@dataclass(frozen=True)
class JobEvents:
    """What the hosts of a job tell, and how they wait."""

    waiting: Callable[[str], None]  # who holds this machine, while a trial must wait for it
    told: Callable[[str], None]  # what happens to hosts
    pause: Callable[[float], None]


class ExecutionBackend(Protocol):
    """What a job needs of wherever it is measured."""

    def assemble(
        self,
        specification: Specification,
        *,
        told: Callable[[str], None],
        check: Callable[[], None],
    ) -> ResolvedJob:
        """Checks a specification there, else an InputError; a cluster waits for its first host."""

    def environment(self, assembly: ResolvedJob) -> dict[str, Any]:
        """The machines, the RocksDB, and what must be known of either."""

    def hosts(
        self, assembly: ResolvedJob, key: str, known: Sequence[Trial], on: JobEvents
    ) -> Hosts:
        """The hosts of one job, whose trials so far are ``known``.

        ``key`` names it among all that a cluster may ever measure.
        """

    def export(
        self, assembly: ResolvedJob, configuration: Configuration, comments: list[str]
    ) -> str:
        """The OPTIONS file, tried with the RocksDB that measured; see ``export_options``."""

    def close(self) -> None:
        """Lets go of whatever was opened."""


class ThisMachine:
    """Measures here."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def assemble(
        self,
        specification: Specification,
        *,
        told: Callable[[str], None] = lambda _: None,  # noqa: ARG002
        check: Callable[[], None] = lambda: None,  # noqa: ARG002
    ) -> ResolvedJob:
        """Checks a specification against this machine."""
        if specification.host_kind is not None:
            mend = "name a cluster's `scheduler`, or leave it out"
            raise InputError("host_kind", f"this machine has no host kind; {mend}")
        return assemble(specification, self._settings)

    def environment(self, assembly: ResolvedJob) -> dict[str, Any]:
        """This machine and the RocksDB on it."""
        return environment_of(assembly, self._settings)

    def hosts(
        self,
        assembly: ResolvedJob,
        key: str,  # noqa: ARG002
        known: Sequence[Trial],  # noqa: ARG002
        on: JobEvents,
    ) -> Hosts:
        """The one."""
        if assembly.confirming:  # known now, not when the search is over
            require_space(self._settings.bench_dir, assembly.confirming.space_bytes)
        return LocalHost(assembly, self._settings, waiting=on.waiting, pause=on.pause)

    def export(
        self, assembly: ResolvedJob, configuration: Configuration, comments: list[str]
    ) -> str:
        """The OPTIONS file, tried with the db_bench of this machine."""
        return export_options(assembly.plan, assembly.installed, configuration, comments)

    def close(self) -> None:
        """Nothing is open."""


class LocalHost(OneHost):
    """Meets ``optimizer.run.ports.Hosts`` with this machine."""

    def __init__(
        self,
        assembly: ResolvedJob,
        settings: Settings,
        *,
        waiting: Callable[[str], None] = lambda _: None,
        pause: Callable[[float], None],
    ) -> None:
        """Binds all trials of a job to this machine; see ``LocalRunner``."""
        made = partial(LocalRunner, settings=settings, waiting=waiting, pause=pause)
        self._searching = made(assembly.benchmark)
        self._confirming = made(assembly.confirming) if assembly.confirming else self._searching
        self._runner = self._searching  # the one whose trial is in flight
        self._flying: Trial | None = None
        self._read_rounds = assembly.problem.read_rounds
        self.name = host_name()

    def start(self, trial: Trial, *, cutoff_seconds: float | None) -> None:
        """Begins to measure, when the host is free; a proof shares no prepared database."""
        confirms = trial.phase is Phase.CONFIRM
        self._runner = self._confirming if confirms else self._searching
        proves = trial.purpose is Purpose.PROVE
        self._flying = trial
        self._runner.start(
            trial.configuration,
            cutoff_seconds=cutoff_seconds,
            share=not proves,
            reads=self._read_rounds(proves=proves),
        )

    def wait(self, timeout: float) -> tuple[Trial, Outcome] | None:
        """The trial with its outcome, or None when it is not over after ``timeout`` s."""
        if self._flying is None or (outcome := self._runner.wait(timeout)) is None:
            return None
        trial, self._flying = self._flying, None
        return trial, outcome

    def cancel(self) -> None:
        """Ends the trial in flight."""
        self._flying = None
        self._runner.cancel()
