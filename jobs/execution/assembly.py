"""From a specification and this machine to what a tuning run needs."""

from dataclasses import dataclass, replace

from jobs.specification.resolved_job import resolve
from jobs.specification.specification import Specification
from optimizer.trials.problem import Problem
from sampler.bench.bench_plan import BenchPlan
from sampler.bench.builds import installed_build
from sampler.bench.command_bench import CommandBench, require_program
from sampler.bench.db_bench import DbBench
from sampler.bench.installed import InstalledDbBench
from sampler.common.errors import InputError
from sampler.runner.settings import Settings
from sampler.workload.workload_file import workload_from_document


@dataclass(frozen=True)
class Assembly:
    """A job, ready to run here."""

    specification: Specification  # what was asked for
    problem: Problem
    plan: BenchPlan
    benchmark: DbBench | CommandBench
    # the db_bench in use; None with a benchmark of the user's own
    installed: InstalledDbBench | None
    warnings: tuple[str, ...]  # what the user must know before it runs
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
            "is measured by a runner of your own: submit it to `rocktune serve`, then ask for "
            "suggestions and tell trials",
        )
    if workload.command is not None:
        require_program(workload.command.argv[0])
    by_db_bench = workload.by_db_bench
    installed = installed_build(specification.db_bench, settings) if by_db_bench else None
    return assembly_of(specification, installed)


def assembly_of(specification: Specification, installed: InstalledDbBench | None) -> Assembly:
    """Puts the parts around a db_bench (None: the user's own benchmark); errors of ``resolve``."""
    framed = resolve(specification, installed)
    problem, plan = framed.problem, framed.plan
    if installed:
        measured, confirming = DbBench(installed, plan), None
        if problem.confirm is not None:
            confirming = DbBench(installed, replace(plan, workload=problem.confirm))
        return Assembly(
            specification, problem, plan, measured, installed, framed.warnings, confirming
        )
    command = workload_from_document(specification.workload, stored=True).command
    assert command is not None
    bench = CommandBench(command, plan)
    return Assembly(specification, problem, plan, bench, None, framed.warnings)
