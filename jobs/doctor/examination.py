"""Examines this machine: quick looks first, then db_bench, the disk, and runs of the baseline.

Nothing is measured beside somebody's trial: db_bench is tried, the disk loaded and the baseline
run under the host-wide lock, as trials are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from jobs.doctor.findings import (
    ExaminationObserver,
    Finding,
    Severity,
    judge_cpu,
    judge_disk_state,
    judge_load,
    judge_memory,
)
from jobs.doctor.idle_host import (
    examined_load,
    look_at_conditions,
    look_at_db_bench,
    look_at_disk_speed,
    look_for_benchmarks,
    needed_bytes,
)
from jobs.doctor.noise import USUAL_TRIALS, Noise, look_at_noise, not_measured
from jobs.execution.assembly import Assembly
from jobs.specification.resolved_job import ResolvedJob
from jobs.specification.specification import Specification
from sampler.machine.host_load import read_pressure, watch_cpu
from sampler.machine.machine import fingerprint, read_cpu_state, read_memory_state
from sampler.runner.bench_folder import read_disk_state
from sampler.runner.settings import Settings


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
    yield judge_cpu(read_cpu_state(), most_jobs=most_jobs)
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
        for finding in more:
            observer.found(finding)

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
    elif runs and isinstance(subject, Assembly):
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
