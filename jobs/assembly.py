"""From a specification and this machine to what a tuning run needs."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.frame import frame
from jobs.specification import Specification
from optimizer.problem import Problem
from sampler.bench_plan import BenchPlan
from sampler.command_bench import CommandBench, require_program
from sampler.db_bench import DbBench
from sampler.errors import InputError
from sampler.installed import InstalledDbBench, find_db_bench, probe
from sampler.settings import Settings
from sampler.workload_file import workload_from_document


@dataclass(frozen=True)
class Assembly:
    """A job, ready to run here.

    Attributes:
        installed: The db_bench in use; None with a benchmark of the user's own.
        warnings: What the user must know before it runs.
    """

    problem: Problem
    plan: BenchPlan
    benchmark: DbBench | CommandBench
    installed: InstalledDbBench | None
    warnings: tuple[str, ...]


def assemble(specification: Specification, settings: Settings) -> Assembly:
    """Checks a specification against this machine and puts the parts together.

    Raises:
        InputError: There is no db_bench, it does not know an option that the user asked for, the
            load is too small to measure anything, the memory budget cannot be kept, or nothing
            here measures this workload.
    """
    workload = workload_from_document(specification.workload)
    if workload.external:
        raise InputError(
            f"workload ({workload.name})",
            "is measured by a runner of your own: submit it to `rocktune serve`, then ask for "
            "suggestions and tell trials",
        )
    installed = probe(find_db_bench(settings.db_bench)) if workload.by_db_bench else None
    framed = frame(specification, installed)
    problem, plan = framed.problem, framed.plan
    if installed:
        return Assembly(problem, plan, DbBench(installed, plan), installed, framed.warnings)
    assert workload.command is not None
    require_program(workload.command.argv[0])
    command = CommandBench(workload.command, plan)
    return Assembly(problem, plan, command, None, framed.warnings)
