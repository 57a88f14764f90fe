"""Examines this machine: quick looks first, then db_bench, the disk, and runs of the baseline.

Nothing is measured beside somebody's trial: db_bench is tried, the disk loaded and the baseline
run under the host-wide lock, as trials are. Who else measures is seen without waiting for them.
"""

import contextlib
import math
import secrets
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from jobs.doctor.findings import (
    CHECKS,
    ExaminationObserver,
    Finding,
    Severity,
    finding,
    fine,
    judge_benchmarks,
    judge_cpu,
    judge_disk_speed,
    judge_disk_state,
    judge_load,
    judge_memory,
    percentage,
)
from jobs.doctor.noise import USUAL_TRIALS, Noise, look_at_noise, not_measured
from jobs.execution.assembly import assemble
from jobs.specification.resolved_job import ResolvedJob, resolve
from jobs.specification.specification import Specification
from sampler.bench.bench_folder import (
    BULK_BYTES,
    DiskSpeed,
    measure_disk,
    read_disk_state,
    trial_folder,
)
from sampler.bench.bench_plan import BenchPlan
from sampler.bench.db_bench import space_for
from sampler.bench.host_lock import host_lock
from sampler.bench.installed import InstalledDbBench, find_db_bench, probe, try_options
from sampler.bench.runner import Conditions
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from sampler.machine.host_load import read_pressure, running, watch_cpu
from sampler.machine.machine import fingerprint, read_cpu_state, read_memory_state
from sampler.workload.metric_table import MACHINE
from sampler.workload.workload_file import workload_from_document


class Fitness(StrEnum):
    """Whether to measure on a machine."""

    FIT = "fit"
    WITH_CARE = "fit with care"
    NOT_FIT = "not fit"


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """What was found."""

    machine: Mapping[str, Any]  # `sampler.machine.machine.fingerprint`
    workload: str  # the name of the load that it was judged for
    findings: tuple[Finding, ...]  # in the order in which they were made
    noise: Noise | None  # of the baseline's runs; None where it was not measured

    @property
    def fitness(self) -> Fitness:
        """A problem makes a machine unfit, a warning calls for care, a note for nothing."""
        levels = {finding.level for finding in self.findings}
        if Severity.PROBLEM in levels:
            return Fitness.NOT_FIT
        return Fitness.WITH_CARE if Severity.WARNING in levels else Fitness.FIT

    def count(self, level: Severity) -> int:
        """How many findings are of a level."""
        return sum(finding.level is level for finding in self.findings)

    def document(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "schema": 1,
            "fitness": self.fitness.value,
            "machine": dict(self.machine),
            "workload": self.workload,
            "findings": [asdict(finding) for finding in self.findings],
            "noise": None if self.noise is None else asdict(self.noise),
        }


WATCH_SECONDS = 2.0  # of two CPUs 400 ticks: a share of 1% is 4 of them
_DIRECT = "use_direct_io_for_flush_and_compaction"


def _quick_findings(subject: ResolvedJob, settings: Settings) -> Iterator[list[Finding]]:
    # What others do is looked at first: pressure is of the last ten seconds, and would be of the
    # doctor's own work later.
    pressure, memory = read_pressure(), read_memory_state()
    use = watch_cpu(WATCH_SECONDS)
    later = read_memory_state()
    yield judge_load(use, pressure, seconds=WATCH_SECONDS)
    yield [look_at_conditions(settings)]
    yield look_for_benchmarks(settings)
    space, workload = subject.plan.space, subject.plan.workload
    load_bytes = workload.loaded_bytes() if workload.by_db_bench else 0
    stalled = pressure.stalled.get("memory")
    yield judge_memory(memory, later, load_bytes=load_bytes, stalled=stalled)
    jobs = space.by_name.get("max_background_jobs")
    most_jobs = int(jobs.high if jobs and jobs.high else space.context["max_background_jobs"])
    yield [*judge_cpu(read_cpu_state(), most_jobs=most_jobs)]
    yield judge_disk_state(
        read_disk_state(settings.bench_dir),
        needed_bytes=needed_bytes(subject),
        least_free_bytes=settings.free_bytes,
        wants_direct=_DIRECT in space.by_name,
    )


def examine(
    specification: Specification,
    settings: Settings,
    *,
    runs: int = 10,
    budgets: Sequence[int] = USUAL_TRIALS,
    observer: ExaminationObserver,
) -> Diagnosis:
    """Looks at everything that a measurement of a specification depends on here.

    The baseline is run ``runs`` times; 0 leaves that out, and waits for nobody. ``budgets`` are
    numbers of trials for which the smallest provable change is told.

    Raises:
        InputError: What is to be measured is wrong, or not known to this db_bench.
    """
    findings: list[Finding] = []

    def tell(more: Sequence[Finding]) -> None:
        findings.extend(more)
        for each in more:
            observer.found(each)

    subject = examined_load(specification, settings)
    for more in _quick_findings(subject, settings):
        tell(more)
    waiting = observer.waiting if runs else None
    more, subject = look_at_db_bench(subject, settings, waiting=waiting)
    tell(more)
    if not _bad(findings, _NO_ROOM):
        tell(look_at_disk_speed(settings, waiting=waiting))
    noise = None
    if runs and (why := _bad(findings, _NO_TRIAL)):
        tell([not_measured(f"{why.check}: {why.found}")])
    elif runs and _has_benchmark(subject):
        more, noise = look_at_noise(subject, settings, runs, budgets, observer)
        tell(more)
    elif runs:  # the lock could be opened, and then no longer
        tell([not_measured("db_bench was not run")])
    return Diagnosis(
        machine=fingerprint(settings.bench_dir),
        workload=subject.plan.workload.name,
        findings=tuple(findings),
        noise=noise,
    )


# With a problem of one of these nothing can be written, or no trial run.
_NO_ROOM = ("bench folder", "free disk", "lock")
_NO_TRIAL = ("db_bench", *_NO_ROOM)


def _bad(findings: Sequence[Finding], checks: Sequence[str]) -> Finding | None:
    bad = (f for f in findings if f.level is Severity.PROBLEM and f.check in checks)
    return next(bad, None)


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
        return [finding("lock", Severity.PROBLEM, tried.why)]
    return judge_benchmarks(others, tried.holder if tried else None)


def look_at_disk_speed(settings: Settings, *, waiting: Waiting | None) -> list[Finding]:
    """Loads the disk for some seconds, while nobody's trial runs."""
    try:
        speed = under_host_lock(settings, lambda: _speed_of(settings.bench_dir), waiting=waiting)
    except InputError as error:
        speed = HostBusy(error.problem, CHECKS["disk speed"].fix)
    except OSError as error:
        speed = HostBusy(f"{error.strerror}", "free space, or replace the disk if it is broken")
    if isinstance(speed, HostBusy):
        return [finding("disk speed", Severity.NOTE, f"not measured: {speed.why}", speed.advice)]
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
        return finding("conditions", Severity.NOTE, f"cannot read them: {error.problem}")
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
        return finding("conditions", Severity.NOTE, f"missing: {', '.join(missing)}", advice)
    spread = statistics.stdev(math.log(look[MACHINE[1]]) for look in looks)
    found = f"{' and '.join(MACHINE)} are available; the speed varied by {percentage(spread)}"
    return fine("conditions", found)


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
            return [fine("db_bench", f"not needed by this workload ({found})")]
        return [finding("db_bench", Severity.PROBLEM, found.split(";")[0])]
    findings = [fine("db_bench", f"{found.program}, RocksDB {found.version}")]
    findings += [_build(warning) for warning in found.warnings]
    if not found.warnings:
        findings.append(fine("build", "optimised, without assertions"))
    if refused:
        shown = f"without {', '.join(refused)}: configurations that ask for them will fail"
        findings.append(finding("codecs", Severity.WARNING, shown))
    return findings


def _build(warning: str) -> Finding:
    """What db_bench says of its own build (db_bench_tool.cc, PrintWarnings)."""
    if "Optimization is disabled" in warning:
        fix = "build with DEBUG_LEVEL=0: unoptimised code has different bottlenecks"
        return finding("build", Severity.PROBLEM, warning, fix)
    fix = (
        "compare configurations only; for absolute figures, build RocksDB with DEBUG_LEVEL=0 and "
        "set ROCKTUNE_DB_BENCH (Debian's package has assertions)"
    )
    return finding("build", Severity.WARNING, warning, fix * ("Assertions are enabled" in warning))


def examined_load(specification: Specification, settings: Settings) -> ResolvedJob:
    """Checks what is to be measured, and starts no process; an InputError if that is wrong.

    Where db_bench measures it, it has the catalogue's defaults while db_bench was not tried.
    """
    if workload_from_document(specification.workload, stored=True).by_db_bench:
        return resolve(specification, None)
    return assemble(specification, settings)


def _has_benchmark(subject: ResolvedJob) -> bool:
    """Whether what measures it is known: it is not db_bench, or this machine's was tried."""
    return subject.installed is not None or not subject.plan.workload.by_db_bench


def needed_bytes(subject: ResolvedJob) -> int:
    """Free bytes that a trial needs."""
    if _has_benchmark(subject):
        return subject.benchmark.space_bytes
    return space_for(subject.plan.workload)


def look_at_db_bench(
    subject: ResolvedJob, settings: Settings, *, waiting: Waiting | None
) -> tuple[list[Finding], ResolvedJob]:
    """Tries db_bench, a few times for some milliseconds, while nobody's trial runs.

    Returns the findings, and what ``examined_load`` made of the specification, with this db_bench
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
    return [finding("db_bench", Severity.NOTE, found, tried.advice)], subject


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
