"""Examines this machine: quick looks first, then the disk, then runs of the baseline.

Nothing is measured beside somebody's trial: the disk and the runs hold the host-wide lock, as
trials do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from jobs.assembly import Assembly, assemble
from jobs.doctor.baseline_runs import run_baseline
from jobs.doctor.cpu_check import judge_cpu
from jobs.doctor.db_bench_check import judge_db_bench, read_db_bench, refused_codecs
from jobs.doctor.diagnosis import Diagnosis
from jobs.doctor.disk_check import judge_disk_state
from jobs.doctor.finding import Finding, Level
from jobs.doctor.host_turn import look_at_disk_speed, look_for_benchmarks
from jobs.doctor.load_check import judge_load
from jobs.doctor.memory_check import judge_memory
from jobs.doctor.noise import OF_DB_BENCH, USUAL_TRIALS, Noise, noise_of
from jobs.doctor.noise_check import LEAST_RUNS, judge_failures, judge_noise, not_measured
from jobs.frame import frame
from jobs.specification import Specification
from optimizer.trial import Trial
from sampler.bench_plan import BenchPlan
from sampler.cpu_state import read_cpu_state
from sampler.cpu_use import watch
from sampler.db_bench import space_for
from sampler.disk_state import read_disk_state
from sampler.errors import InputError
from sampler.machine import fingerprint
from sampler.memory_state import read_memory_state
from sampler.pressure import read_pressure
from sampler.settings import Settings
from sampler.workload_file import workload_from_document

WATCH_SECONDS = 2.0  # of two CPUs 400 ticks: a share of 1% is 4 of them
_DIRECT = "use_direct_io_for_flush_and_compaction"


@dataclass(frozen=True, kw_only=True)
class Watcher:
    """Who is told what, while it goes on."""

    found: Callable[[Finding], None]
    waiting: Callable[[str], None]
    began: Callable[[int], None]
    ended: Callable[[Trial], None]


@dataclass(frozen=True)
class _Subject:
    """What the machine is examined for; without an assembly nothing can be run here."""

    plan: BenchPlan
    assembly: Assembly | None
    findings: tuple[Finding, ...]

    @property
    def needed_bytes(self) -> int:
        """Free bytes that a trial needs."""
        workload = self.plan.workload
        return self.assembly.benchmark.space_bytes if self.assembly else space_for(workload)


def examine(
    specification: Specification,
    settings: Settings,
    *,
    runs: int = 10,
    budgets: Sequence[int] = USUAL_TRIALS,
    watcher: Watcher,
) -> Diagnosis:
    """Looks at everything that a measurement here depends on.

    Args:
        specification: The workload, the space and the baseline that are to be measured.
        settings: Where.
        runs: How often the baseline is run; 0 leaves that out, and waits for nobody.
        budgets: Numbers of trials for which the smallest provable change is told.
        watcher: Told of findings and runs as they come.

    Raises:
        InputError: What is to be measured is wrong, whatever the machine.
    """
    findings: list[Finding] = []

    def tell(more: Sequence[Finding]) -> None:
        for finding in more:
            findings.append(finding)
            watcher.found(finding)

    subject = _subject(specification, settings)
    tell(subject.findings)
    for more in _quick_looks(subject, settings):
        tell(more)
    if not _bad(findings, _NO_ROOM):
        tell(look_at_disk_speed(settings, waiting=watcher.waiting if runs else None))
    noise = None
    if runs and (why := _bad(findings, _NO_TRIAL)):
        tell([not_measured(f"{why.check}: {why.found}")])
    elif runs:
        assert subject.assembly is not None  # else there is no db_bench, and a finding says so
        more, noise = _noise(subject.assembly, settings, runs, budgets, watcher)
        tell(more)
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
    """The first problem of these checks."""
    bad = (f for f in findings if f.level is Level.PROBLEM and f.check in checks)
    return next(bad, None)


def _subject(specification: Specification, settings: Settings) -> _Subject:
    needed = workload_from_document(specification.workload).by_db_bench
    found = read_db_bench(settings.db_bench)
    if needed and isinstance(found, str):
        # Bad input is bad input, db_bench or not.
        plan = frame(specification, None).plan
        return _Subject(plan, None, tuple(judge_db_bench(found, ())))
    assembly = assemble(specification, settings)
    installed = assembly.installed
    refused = refused_codecs(installed, assembly.plan) if installed else ()
    judged = judge_db_bench(installed or found, refused, needed=needed)
    return _Subject(assembly.plan, assembly, tuple(judged))


def _quick_looks(subject: _Subject, settings: Settings) -> Iterator[list[Finding]]:
    """What can be seen without loading anything; whoever is at work is not disturbed."""
    space, workload = subject.plan.space, subject.plan.workload
    jobs = space.by_name.get("max_background_jobs")
    most_jobs = int(jobs.high if jobs and jobs.high else space.context["max_background_jobs"])
    yield judge_cpu(read_cpu_state(), most_jobs=most_jobs)
    memory, pressure = read_memory_state(), read_pressure()
    use = watch(WATCH_SECONDS)
    yield judge_load(use, pressure, seconds=WATCH_SECONDS)
    yield look_for_benchmarks(settings)
    load_bytes = workload.user_bytes() * workload.threads if workload.by_db_bench else 0
    yield judge_memory(
        memory,
        read_memory_state(),
        load_bytes=load_bytes,
        stalled=pressure.stalled.get("memory"),
    )
    yield judge_disk_state(
        read_disk_state(settings.bench_dir),
        needed_bytes=subject.needed_bytes,
        least_free_bytes=settings.free_bytes,
        wants_direct=_DIRECT in space.by_name,
    )


def _noise(
    assembly: Assembly,
    settings: Settings,
    runs: int,
    budgets: Sequence[int],
    watcher: Watcher,
) -> tuple[list[Finding], Noise | None]:
    try:
        trials = run_baseline(
            assembly,
            settings,
            runs=runs,
            waiting=watcher.waiting,
            began=watcher.began,
            ended=watcher.ended,
        )
    except InputError as error:
        return [not_measured(error.problem)], None
    findings = judge_failures(trials)
    if sum(trial.done for trial in trials) < LEAST_RUNS:
        return [*findings, not_measured("it takes two runs that end well")], None
    judged = OF_DB_BENCH if assembly.installed else ()
    noise = noise_of(trials, budgets, judged)
    return [*findings, *judge_noise(noise)], noise
