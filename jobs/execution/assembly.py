"""What this machine measures with: of a whole job, or of one configuration outside of any job."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from db.schema.job_row import JobRow
from jobs.specification.compaction_debt import too_small_warnings
from jobs.specification.measured_baseline import (
    baseline_warnings,
    measured_baseline,
    scale_warnings,
)
from jobs.specification.named_files import baseline_named, specify
from jobs.specification.resolved_job import ResolvedJob, resolve
from jobs.specification.specification import Specification, wrong_scale_or_seed
from sampler.bench.accepted import require_supported
from sampler.bench.builds import build_facts, installed_build
from sampler.bench.command_bench import CommandBench, require_program
from sampler.bench.db_bench import DbBench
from sampler.bench.fitting_build import (
    database_version,
    fit_words,
    fitting_build,
    installed_versions,
)
from sampler.bench.installed import InstalledDbBench, build_words
from sampler.common.errors import InputError, refuse_noted
from sampler.machine.machine import fingerprint
from sampler.parameters.parameter import Value
from sampler.runner.settings import Settings
from sampler.space.space_file import load_space
from sampler.workload.workload import Workload
from sampler.workload.workload_file import load_workload, workload_from_document


@dataclass(frozen=True, kw_only=True)
class Assembly(ResolvedJob):
    """A job, ready to run here."""

    benchmark: DbBench | CommandBench
    # the db_bench in use; None with a benchmark of the user's own
    installed: InstalledDbBench | None = None
    # what measures the confirmation, where its load is a larger one
    confirming: DbBench | None = None


def assemble(specification: Specification, settings: Settings) -> Assembly:
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


def assembly_of(specification: Specification, installed: InstalledDbBench | None) -> Assembly:
    """Puts the parts around a db_bench (None: the user's own benchmark); errors of ``resolve``."""
    resolved = resolve(specification, installed)
    if installed is not None and (database := specification.chosen_for) is not None:
        build = fit_words(database, installed.version, named=specification.db_bench)
        resolved = replace(resolved, warnings=(*build, *resolved.warnings))
    plan, confirm = resolved.plan, resolved.problem.confirm
    if installed is None:
        assert plan.workload.command is not None
        return Assembly(**vars(resolved), benchmark=CommandBench(plan.workload.command, plan))
    return Assembly(
        **vars(resolved),
        benchmark=DbBench(installed, plan),
        installed=installed,
        confirming=DbBench(installed, replace(plan, workload=confirm)) if confirm else None,
    )


def environment_of(assembly: Assembly, settings: Settings) -> dict[str, Any]:
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
    found = measured_baseline(
        load,
        installed,
        library=installed.library_defaults(),
        base=name or "library",
        options=options,
        column_family=column_family,
        drop_unknown=drop_unknown,
    )
    plan = found.plan(load, load_space("all"))
    values = plan.space.complete(configuration)
    warnings = (
        *(fit_words(database, installed.version, named=db_bench) if database else ()),
        *baseline_warnings(plan),
        *scale_warnings(load, values),
        *too_small_warnings(load, values),
    )
    return SingleBench(DbBench(installed, plan), warnings)
