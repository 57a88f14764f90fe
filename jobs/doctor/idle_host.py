"""What takes its turn with the host's lock, as trials do: db_bench is tried, the disk is loaded.

Beside it a look at who else measures, and at the conditions of runs.
"""

import contextlib
import math
import secrets
import shutil
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from jobs.doctor.findings import Finding, Severity, judge_benchmarks, judge_disk_speed, percentage
from jobs.execution.assembly import Assembly, assemble
from jobs.specification.resolved_job import ResolvedJob, resolve
from jobs.specification.specification import Specification
from sampler.bench.bench_plan import BenchPlan
from sampler.bench.db_bench import space_for
from sampler.bench.installed import InstalledDbBench, find_db_bench, probe, try_options
from sampler.common.errors import InputError
from sampler.machine.disk_speed import BULK_BYTES, DiskSpeed, measure_disk
from sampler.machine.host_load import running
from sampler.runner.bench_folder import trial_folder
from sampler.runner.conditions import Conditions
from sampler.runner.host_lock import host_lock
from sampler.runner.settings import Settings
from sampler.workload.metric_table import MACHINE
from sampler.workload.workload_file import workload_from_document

T = TypeVar("T")
Waiting = Callable[[str], None]
_CODEC = "compression_type"


@dataclass(frozen=True)
class HostBusy:
    """Why something was left out, what to do about it, and who holds the host, if anybody."""

    why: str
    advice: str
    holder: str = ""


class _Held(Exception):
    """Somebody holds the host, and that is not waited for."""


def _give_up(_: float) -> None:
    raise _Held


def under_host_lock(
    settings: Settings, work: Callable[[], T], *, waiting: Waiting | None
) -> T | HostBusy:
    """Does some work under the host's lock; what that raises is raised.

    ``waiting`` is told who holds the host, while somebody does; None waits for nobody.
    """
    token, holders = secrets.token_hex(8), list[str]()
    tell, pause = (holders.append, _give_up) if waiting is None else (waiting, time.sleep)
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(host_lock(settings.lock, token, waiting=tell, pause=pause))
        except _Held:
            holder = holders[0] if holders else "another process"
            return HostBusy("a trial is running here", "run this again when it has ended", holder)
        except InputError as error:
            return HostBusy(error.problem, "fix that, then run this again")
        return work()


def look_for_benchmarks(settings: Settings) -> list[Finding]:
    """Sees whether somebody else measures here, without waiting for them."""
    others = running("db_bench")
    tried = under_host_lock(settings, lambda: None, waiting=None)
    if tried is not None and not tried.holder:
        advice = "set ROCKTUNE_LOCK to a file that all users who measure here can open"
        return [Finding("lock", Severity.PROBLEM, tried.why, advice)]
    return judge_benchmarks(others, tried.holder if tried else None)


def look_at_disk_speed(settings: Settings, *, waiting: Waiting | None) -> list[Finding]:
    """Loads the disk for some seconds, while nobody's trial runs."""
    try:
        speed = under_host_lock(settings, lambda: _speed_of(settings.bench_dir), waiting=waiting)
    except InputError as error:
        speed = HostBusy(error.problem, "fix that, then run this again")
    except OSError as error:
        speed = HostBusy(f"{error.strerror}", "free space, or replace the disk if it is broken")
    if isinstance(speed, HostBusy):
        found = f"not measured: {speed.why}"
        return [Finding("disk speed", Severity.NOTE, found, speed.advice)]
    return judge_disk_speed(speed)


def _speed_of(bench_dir: Path) -> DiskSpeed:
    with trial_folder(bench_dir) as folder:
        most = min(BULK_BYTES, shutil.disk_usage(folder).free // 4)
        return measure_disk(folder, bulk_bytes=most)


def look_at_conditions(
    settings: Settings, *, pause: Callable[[float], None] = time.sleep
) -> Finding:
    """Which conditions of a run can be read here, and how much the machine's speed scatters."""
    looks: list[dict[str, float]] = []
    try:
        with trial_folder(settings.bench_dir) as folder:
            for _ in range(4):
                watching = Conditions(folder, {}, probe=settings.speed_probe)
                pause(0.5)
                looks.append(watching.end())
    except InputError as error:
        why = f"cannot read them: {error.problem}"
        return Finding("conditions", Severity.NOTE, why, "check ROCKTUNE_BENCH_DIR")
    missing = [name for name in MACHINE if any(name not in look for look in looks)]
    if missing:
        advice = "check /proc/stat"
        if MACHINE[1] in missing:
            advice = (
                "the probe had too little time or could not start; try again on an idle machine"
                if settings.speed_probe
                else "ROCKTUNE_SPEED_PROBE turns it off"
            )
        advice += "; times and rates are not corrected for missing conditions"
        return Finding("conditions", Severity.NOTE, f"missing: {', '.join(missing)}", advice)
    spread = statistics.stdev(math.log(look[MACHINE[1]]) for look in looks)
    found = f"{' and '.join(MACHINE)} are available; the speed varied by {percentage(spread)}"
    return Finding("conditions", Severity.OK, found)


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
        advice = "run `apt-get install rocksdb-tools`, or set ROCKTUNE_DB_BENCH to a working one"
        return [Finding("db_bench", Severity.PROBLEM, found.split(";")[0], advice)]
    findings = [Finding("db_bench", Severity.OK, f"{found.program}, RocksDB {found.version}")]
    findings += [_build(warning) for warning in found.warnings]
    if not found.warnings:
        findings.append(Finding("build", Severity.OK, "optimised, without assertions"))
    if refused:
        shown = f"without {', '.join(refused)}: configurations that ask for them will fail"
        advice = "build RocksDB with them, or remove them from the space"
        findings.append(Finding("codecs", Severity.WARNING, shown, advice))
    return findings


def _build(warning: str) -> Finding:
    """What db_bench says of its own build (db_bench_tool.cc, PrintWarnings)."""
    if "Optimization is disabled" in warning:
        advice = "build with DEBUG_LEVEL=0: unoptimised code has different bottlenecks"
        return Finding("build", Severity.PROBLEM, warning, advice)
    advice = "check that your production build is the same"
    if "Assertions are enabled" in warning:
        advice = (
            "compare configurations only; for absolute figures, build RocksDB with "
            "DEBUG_LEVEL=0 and set ROCKTUNE_DB_BENCH (Debian's package has assertions)"
        )
    return Finding("build", Severity.WARNING, warning, advice)


def examined_load(specification: Specification, settings: Settings) -> ResolvedJob:
    """Checks what is to be measured, and starts no process; an InputError if that is wrong.

    It is an ``Assembly`` already where db_bench does not measure it; else it has the catalogue's
    defaults while db_bench was not tried.
    """
    if workload_from_document(specification.workload, stored=True).by_db_bench:
        return resolve(specification, None)
    return assemble(specification, settings)


def needed_bytes(subject: ResolvedJob) -> int:
    """Free bytes that a trial needs."""
    if isinstance(subject, Assembly):
        return subject.benchmark.space_bytes
    return space_for(subject.plan.workload)


def look_at_db_bench(
    subject: ResolvedJob, settings: Settings, *, waiting: Waiting | None
) -> tuple[list[Finding], ResolvedJob]:
    """Tries db_bench, a few times for some milliseconds, while nobody's trial runs.

    Returns the findings, and what ``examined_load`` made of the specification, as an ``Assembly``
    if it can be run here. ``waiting`` is as ``under_host_lock`` has it.

    Raises:
        InputError: This db_bench does not know what the specification asks for.
    """
    needed = subject.plan.workload.by_db_bench
    try:
        program = find_db_bench(settings.db_bench)
    except InputError as error:
        return judge_db_bench(error.problem, (), needed=needed), subject
    tried = under_host_lock(settings, lambda: _try(subject, settings), waiting=waiting)
    if not isinstance(tried, HostBusy):
        return tried
    if not needed:
        return judge_db_bench(f"not tried: {tried.why}", (), needed=False), subject
    found = f"{program}, not tried: {tried.why}"
    return [Finding("db_bench", Severity.NOTE, found, tried.advice)], subject


def _try(subject: ResolvedJob, settings: Settings) -> tuple[list[Finding], ResolvedJob]:
    needed = subject.plan.workload.by_db_bench
    try:
        found = probe(find_db_bench(settings.db_bench))
    except InputError as error:
        return judge_db_bench(error.problem, (), needed=needed), subject
    if not needed:
        return judge_db_bench(found, (), needed=False), subject
    assembly = assemble(subject.specification, settings)
    return judge_db_bench(found, _refused_codecs(found, assembly.plan)), assembly
