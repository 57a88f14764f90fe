"""The db_bench in use, and what the machine is examined for: tried in its turn, and judged."""

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.doctor.finding import Finding, Severity
from jobs.doctor.idle_host import HostBusy, Waiting, under_host_lock
from jobs.execution.assembly import Assembly, assemble
from jobs.specification.resolved_job import resolve
from jobs.specification.specification import Specification
from sampler.bench.bench_plan import BenchPlan
from sampler.bench.db_bench import space_for
from sampler.bench.installed import InstalledDbBench, find_db_bench, probe, try_options
from sampler.common.errors import InputError
from sampler.runner.settings import Settings
from sampler.workload.workload_file import workload_from_document

_CODEC = "compression_type"


def _refused_codecs(installed: InstalledDbBench, plan: BenchPlan) -> list[str]:
    """The codecs that the space may draw, or starts from, and this db_bench does not have."""
    drawn = plan.space.by_name.get(_CODEC)
    start = plan.space.default_configuration()
    options = {
        str(codec): plan.options({**start, _CODEC: codec})
        for codec in (drawn.values if drawn else (plan.space.context[_CODEC],))
    }
    return [c for c in options if try_options(installed.program, options[c]).options is None]


def judge_db_bench(
    found: InstalledDbBench | str, refused: Sequence[str], *, needed: bool = True
) -> list[Finding]:
    """Judges the program, or why there is none.

    ``refused`` are codecs that it does not have; ``needed``: whether db_bench measures at all.
    """
    if isinstance(found, str):
        if not needed:
            return [Finding("db_bench", Severity.OK, f"not needed by this workload ({found})")]
        advice = "`apt-get install rocksdb-tools`, or set ROCKTUNE_DB_BENCH to one that works"
        return [Finding("db_bench", Severity.PROBLEM, found.split(";")[0], advice)]
    findings = [Finding("db_bench", Severity.OK, f"{found.program}, RocksDB {found.version}")]
    findings += [_build(warning) for warning in found.warnings]
    if not found.warnings:
        findings.append(Finding("build", Severity.OK, "optimised, without assertions"))
    if refused:
        shown = f"without {', '.join(refused)}: configurations that ask for them will fail"
        advice = "build RocksDB with them, or take them out of the space"
        findings.append(Finding("codecs", Severity.WARNING, shown, advice))
    return findings


def _build(warning: str) -> Finding:
    """What db_bench says of its own build (db_bench_tool.cc, PrintWarnings)."""
    if "Optimization is disabled" in warning:
        advice = "build with DEBUG_LEVEL=0: unoptimised code has other bottlenecks"
        return Finding("build", Severity.PROBLEM, warning, advice)
    advice = "see to it that your production build agrees"
    if "Assertions are enabled" in warning:
        advice = (
            "compare configurations, not absolute figures; for those build RocksDB with "
            "DEBUG_LEVEL=0 and set ROCKTUNE_DB_BENCH (Debian's package has assertions)"
        )
    return Finding("build", Severity.WARNING, warning, advice)


@dataclass(frozen=True, kw_only=True)
class ExaminedLoad:
    """What is to be measured, as far as that is known."""

    plan: BenchPlan  # of the catalogue's defaults while db_bench was not tried
    needed_bytes: int  # free bytes that a trial needs
    by_db_bench: bool  # whether db_bench measures it
    # what is run; None while db_bench was not tried, or where there is none
    assembly: Assembly | None = None


def examined_load(specification: Specification, settings: Settings) -> ExaminedLoad:
    """Checks what is to be measured, and starts no process; an InputError if that is wrong."""
    if workload_from_document(specification.workload, stored=True).by_db_bench:
        plan = resolve(specification, None).plan
        return ExaminedLoad(plan=plan, needed_bytes=space_for(plan.workload), by_db_bench=True)
    return _subject(assemble(specification, settings))


def look_at_db_bench(
    subject: ExaminedLoad,
    specification: Specification,
    settings: Settings,
    *,
    waiting: Waiting | None,
) -> tuple[list[Finding], ExaminedLoad]:
    """Tries db_bench, a few times for some milliseconds, while nobody's trial runs.

    Returns the findings, and what ``examined_load`` made of the specification, with an assembly
    if it can be run here. ``waiting`` is as ``under_host_lock`` has it.

    Raises:
        InputError: This db_bench does not know what the specification asks for.
    """
    needed = subject.by_db_bench
    try:
        program = find_db_bench(settings.db_bench)
    except InputError as error:
        return judge_db_bench(error.problem, (), needed=needed), subject
    tried = under_host_lock(
        settings, lambda: _try(subject, specification, settings), waiting=waiting
    )
    if not isinstance(tried, HostBusy):
        return tried
    if not needed:
        return judge_db_bench(f"not tried: {tried.why}", (), needed=False), subject
    found = f"{program}, not tried: {tried.why}"
    return [Finding("db_bench", Severity.NOTE, found, tried.advice)], subject


def _try(
    subject: ExaminedLoad, specification: Specification, settings: Settings
) -> tuple[list[Finding], ExaminedLoad]:
    try:
        found = probe(find_db_bench(settings.db_bench))
    except InputError as error:
        return judge_db_bench(error.problem, (), needed=subject.by_db_bench), subject
    if not subject.by_db_bench:
        return judge_db_bench(found, (), needed=False), subject
    assembly = assemble(specification, settings)
    return judge_db_bench(found, _refused_codecs(found, assembly.plan)), _subject(assembly)


def _subject(assembly: Assembly) -> ExaminedLoad:
    return ExaminedLoad(
        plan=assembly.plan,
        needed_bytes=assembly.benchmark.space_bytes,
        by_db_bench=assembly.installed is not None,
        assembly=assembly,
    )
