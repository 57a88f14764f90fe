"""What the machine is examined for: checked first, and tried with db_bench in its turn."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.doctor.db_bench_check import judge_db_bench, read_db_bench, refused_codecs
from jobs.doctor.finding import Finding, Level
from jobs.doctor.host_turn import NoTurn, Waiting, in_turn
from jobs.execution.assembly import Assembly, assemble
from jobs.specification.resolved_job import resolve
from jobs.specification.specification import Specification
from sampler.bench.bench_plan import BenchPlan
from sampler.bench.db_bench import space_for
from sampler.bench.installed import find_db_bench
from sampler.common.errors import InputError
from sampler.runner.settings import Settings
from sampler.workload.workload_file import workload_from_document


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What is to be measured, as far as that is known.

    Attributes:
        plan: Of the catalogue's defaults while db_bench was not tried.
        needed_bytes: Free bytes that a trial needs.
        by_db_bench: Whether db_bench measures it.
        assembly: What is run; None while db_bench was not tried, or where there is none.
    """

    plan: BenchPlan
    needed_bytes: int
    by_db_bench: bool
    assembly: Assembly | None = None


def subject_of(specification: Specification, settings: Settings) -> Subject:
    """Checks what is to be measured, and starts no process.

    Raises:
        InputError: It is wrong, whatever the machine.
    """
    if workload_from_document(specification.workload, stored=True).by_db_bench:
        plan = resolve(specification, None).plan
        return Subject(plan=plan, needed_bytes=space_for(plan.workload), by_db_bench=True)
    return _subject(assemble(specification, settings))


def look_at_db_bench(
    subject: Subject, specification: Specification, settings: Settings, *, waiting: Waiting | None
) -> tuple[list[Finding], Subject]:
    """Tries db_bench, a few times for some milliseconds, while nobody's trial runs.

    Args:
        subject: What ``subject_of`` made of the specification.
        specification: What is to be measured.
        settings: Where.
        waiting: As ``in_turn`` has it.

    Returns:
        The findings, and the subject, with an assembly if it can be run here.

    Raises:
        InputError: This db_bench does not know what the specification asks for.
    """
    needed = subject.by_db_bench
    try:
        program = find_db_bench(settings.db_bench)
    except InputError as error:
        return judge_db_bench(error.problem, (), needed=needed), subject
    tried = in_turn(settings, lambda: _try(subject, specification, settings), waiting=waiting)
    if not isinstance(tried, NoTurn):
        return tried
    if not needed:
        return judge_db_bench(f"not tried: {tried.why}", (), needed=False), subject
    found = f"{program}, not tried: {tried.why}"
    return [Finding("db_bench", Level.NOTE, found, tried.advice)], subject


def _try(
    subject: Subject, specification: Specification, settings: Settings
) -> tuple[list[Finding], Subject]:
    found = read_db_bench(settings.db_bench)
    if not subject.by_db_bench or isinstance(found, str):
        return judge_db_bench(found, (), needed=subject.by_db_bench), subject
    assembly = assemble(specification, settings)
    return judge_db_bench(found, refused_codecs(found, assembly.plan)), _subject(assembly)


def _subject(assembly: Assembly) -> Subject:
    return Subject(
        plan=assembly.plan,
        needed_bytes=assembly.benchmark.space_bytes,
        by_db_bench=assembly.installed is not None,
        assembly=assembly,
    )
