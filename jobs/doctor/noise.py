"""How much the baseline differs from run to run, and what that leaves provable."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from jobs.doctor.findings import (
    CHECKS,
    ExaminationObserver,
    Finding,
    Severity,
    finding,
    graded,
    percentage,
)
from jobs.results.figures import figure
from jobs.specification.resolved_job import ResolvedJob
from optimizer.budget.budget import divide
from optimizer.budget.power import p_words, pairs_for, smallest_change
from optimizer.confirmation.paired_tests import CONFIDENCE
from optimizer.evaluation.baseline import MetricNoise, summarise
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from sampler.machine.machine import host_name
from sampler.space.space import digest
from sampler.workload.metric_table import MACHINE, TIME_BASED, shown_in

USUAL_TRIALS = (90, 400, 1000)
WANTED_CHANGES = (0.05, 0.01)
# Of all that is read from db_bench, what the paper's objective is made of.
OF_DB_BENCH = shown_in("batch")


@dataclass(frozen=True, kw_only=True)
class MetricScatter:
    """A metric over some runs of one configuration."""

    noise: MetricNoise  # median, spread and drift
    # low, high: smallest and largest value
    low: float
    high: float
    # spread_low, spread_high: the 95% interval of the spread, of runs that scatter normally; None
    # where there is no spread.
    spread_low: float | None
    spread_high: float | None


@dataclass(frozen=True, kw_only=True)
class Provable:
    """What a job of so many trials can prove."""

    trials: int
    pairs: int  # runs of the winner, and as many of the baseline, that prove it
    # the smallest relative change by metric that they show with probability 0.8
    change: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Noise:
    """What the runs of the baseline say."""

    runs: int  # how many ended well
    metrics: Mapping[str, MetricScatter]  # every metric that all of them have
    judged: tuple[str, ...]  # the names of those that the machine is judged by
    provable: tuple[Provable, ...]  # by budget
    # by metric: for each wanted change (`0.05` is 5%) the pairs that show it
    pairs_needed: Mapping[str, Mapping[float, int]]


def noise_of(
    trials: Sequence[Trial],
    budgets: Sequence[int] = USUAL_TRIALS,
    judged: Sequence[str] = OF_DB_BENCH,
) -> Noise:
    """Sums up the baseline's runs, of which at least two must have ended well.

    ``budgets`` are numbers of trials of jobs, each at least 12. The machine is judged by the
    metrics ``judged``; empty, or none of them there: by all.

    Raises:
        ValueError: None has ended well, or a budget is too small.
    """
    baseline = summarise(trials)
    done = [trial for trial in trials if trial.done]
    metrics = {
        name: _scatter(noise, [trial.metrics[name] for trial in done])
        for name, noise in baseline.noise.items()
    }
    results = tuple(name for name in metrics if name not in MACHINE)
    chosen = tuple(name for name in judged if name in metrics) or results
    spreads = {
        name: spread for name in chosen if (spread := metrics[name].noise.spread) is not None
    }
    return Noise(
        runs=baseline.runs,
        metrics=metrics,
        judged=chosen,
        provable=tuple(
            Provable(
                trials=trials_of_job,
                pairs=(pairs := divide(trials_of_job).pairs),
                change={name: smallest_change(spread, pairs) for name, spread in spreads.items()},
            )
            for trials_of_job in budgets
        ),
        pairs_needed={
            name: {change: pairs_for(change, spread) for change in WANTED_CHANGES}
            for name, spread in spreads.items()
        },
    )


def _scatter(noise: MetricNoise, values: Sequence[float]) -> MetricScatter:
    from scipy import stats

    spread, freedom = noise.spread, len(values) - 1
    low = high = None
    if spread is not None:
        # The variance of normal runs: (n - 1) s^2 / sigma^2 has a chi-squared distribution.
        tail = (1 - CONFIDENCE) / 2
        low = spread * math.sqrt(freedom / float(stats.chi2.isf(tail, freedom)))
        high = spread * math.sqrt(freedom / float(stats.chi2.ppf(tail, freedom)))
    ends = {"low": min(values), "high": max(values)}
    return MetricScatter(noise=noise, **ends, spread_low=low, spread_high=high)


LEAST_RUNS = 2


def judge_noise(noise: Noise) -> list[Finding]:
    """One finding a metric that the machine is judged by."""
    return [_metric(name, noise.metrics[name], noise.runs) for name in noise.judged]


def judge_failures(trials: Sequence[Trial]) -> list[Finding]:
    """The runs that did not end well; nothing where all did."""
    failed = [trial for trial in trials if not trial.done]
    if not failed:
        return []
    lines = [(trial.failure or trial.state.value).splitlines()[-1] for trial in failed]
    reasons = " / ".join(dict.fromkeys(lines))
    found = f"{len(failed)} of {len(trials)} runs of the baseline failed: {reasons}"
    return [finding("baseline runs", Severity.PROBLEM, found)]


def not_measured(why: str) -> Finding:
    """Noise that could not be measured on this machine as it is."""
    return finding("noise", Severity.NOTE, f"not measured: {why}")


def _metric(name: str, scatter: MetricScatter, runs: int) -> Finding:
    noise, check = scatter.noise, f"noise of {name}"
    if noise.spread is None:
        return Finding(check, Severity.OK, f"no spread: the mean of {runs} runs is 0")
    found = (
        f"spread {percentage(noise.spread)}, median {figure(noise.median)}, "
        f"{figure(scatter.low)} to {figure(scatter.high)} in {runs} runs"
    )
    level = graded(noise.spread, CHECKS["noise"].limits)
    longer = "try a longer workload (rocktune workloads)"
    fix = f"{longer}: byte counters vary less over more data"
    if name in TIME_BASED:
        fix = f"fix the findings above, then {longer}"
    if noise.drifting:
        found += f", drifting ({p_words(noise.drift_p)})"
        level = Severity.NOTE if level is Severity.OK else level
        fix += "; a job corrects times and rates for drift"
    return Finding(check, level, found, "" if level is Severity.OK else fix)


def _run_baseline(
    assembly: ResolvedJob, settings: Settings, *, runs: int, observer: ExaminationObserver
) -> Sequence[Trial]:
    runner = LocalRunner(assembly.benchmark, settings, waiting=observer.waiting)
    configuration = assembly.problem.space.default_configuration()
    trials = []
    for number in range(1, runs + 1):
        observer.began(number)
        outcome = runner.run(configuration)
        now = datetime.now(UTC)
        trial = Trial(
            number=number,
            phase=Phase.BASELINE,
            purpose=Purpose.BASELINE,
            seed=assembly.problem.seed_of(number),
            configuration=configuration,
            digest=digest(configuration),
            subject=1,
            # It may have waited for the host before.
            started_at=now - timedelta(seconds=outcome.bench_seconds),
        ).ended(outcome, host=host_name(), finished_at=now)
        trials.append(trial)
        observer.ended(trial)
    return trials


def look_at_noise(
    assembly: ResolvedJob,
    settings: Settings,
    runs: int,
    budgets: Sequence[int],
    observer: ExaminationObserver,
) -> tuple[list[Finding], Noise | None]:
    """Runs the baseline and judges how much it differs; no ``Noise`` where it cannot be told."""
    try:
        trials = _run_baseline(assembly, settings, runs=runs, observer=observer)
    except InputError as error:
        return [not_measured(error.problem)], None
    findings = judge_failures(trials)
    if sum(trial.done for trial in trials) < LEAST_RUNS:
        return [*findings, not_measured("at least two runs must succeed")], None
    judged = OF_DB_BENCH if assembly.installed else ()
    noise = noise_of(trials, budgets, judged)
    return [*findings, *judge_noise(noise)], noise
