"""Examines this machine: quick looks first, then db_bench, the disk, and runs of the baseline.

Nothing is measured beside somebody's trial: db_bench is tried, the disk loaded and the baseline
run under the host-wide lock, as trials are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jobs.doctor.baseline_runs import run_baseline
from jobs.doctor.diagnosis import Diagnosis
from jobs.doctor.finding import Finding, Level
from jobs.doctor.host_turn import look_at_disk_speed
from jobs.doctor.noise import OF_DB_BENCH, USUAL_TRIALS, Noise, noise_of
from jobs.doctor.noise_check import LEAST_RUNS, judge_failures, judge_noise, not_measured
from jobs.doctor.quick_looks import look
from jobs.doctor.subject import look_at_db_bench, subject_of
from jobs.execution.assembly import Assembly
from jobs.specification.specification import Specification
from optimizer.trials.trial import Trial
from sampler.common.errors import InputError
from sampler.machine.machine import fingerprint
from sampler.runner.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Watcher:
    """Who is told what, while it goes on."""

    found: Callable[[Finding], None]
    waiting: Callable[[str], None]
    began: Callable[[int], None]
    ended: Callable[[Trial], None]


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
        InputError: What is to be measured is wrong, or not known to this db_bench.
    """
    findings: list[Finding] = []

    def tell(more: Sequence[Finding]) -> None:
        for finding in more:
            findings.append(finding)
            watcher.found(finding)

    subject = subject_of(specification, settings)
    for more in look(subject, settings):
        tell(more)
    waiting = watcher.waiting if runs else None
    more, subject = look_at_db_bench(subject, specification, settings, waiting=waiting)
    tell(more)
    if not _bad(findings, _NO_ROOM):
        tell(look_at_disk_speed(settings, waiting=waiting))
    noise = None
    if runs and (why := _bad(findings, _NO_TRIAL)):
        tell([not_measured(f"{why.check}: {why.found}")])
    elif runs and subject.assembly:
        more, noise = _noise(subject.assembly, settings, runs, budgets, watcher)
        tell(more)
    elif runs:  # the lock could be opened, and then no longer
        tell([not_measured("db_bench was not tried")])
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
