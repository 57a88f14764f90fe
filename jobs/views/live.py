"""How a job goes: what its trials have found so far, in figures and plots."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Engine

from db.connection.engine import reading
from db.schema.job_row import ENDED, JobRow
from db.schema.tables import MAIN_METRICS
from db.trials.trial_log import WAITS_FOR, recall_document
from db.trials.trial_rows import (
    count_baseline,
    read_baseline_runs,
    read_course,
    read_latest,
    read_runs_of,
    read_trial_facts,
)
from jobs.charts.chart import Chart, drawable
from jobs.charts.trials import convergence_chart, drift_chart, metric_series_chart
from jobs.results.fits import JobCache
from optimizer.evaluation.baseline import Baseline, MetricNoise, summarise
from optimizer.evaluation.evaluation import each_once, measured, replicated
from optimizer.objective.objective import Objective, Term
from optimizer.objective.objective_file import objective_from_document
from optimizer.trials.trial import Phase, Purpose, Trial

_baselines = JobCache[Baseline | None]()


@dataclass(frozen=True)
class JobSeries:
    """A job's whole measurements of the load that it searches by."""

    objective: Objective  # what is better, and the limits
    # over its runs so far, those of the confirmation left out, as the job's standing has it
    baseline: Baseline
    # by number; of a configuration that was measured again the first, with the mean
    trials: Sequence[Trial]
    # of each, clocks corrected for drift; of what was measured again the mean
    metrics: Mapping[int, Mapping[str, float]]
    fitness: Mapping[int, float]  # by number
    breaking: frozenset[int]  # the numbers of those that break a limit
    repeats: int  # how many runs measured a configuration again
    runs: Sequence[Trial]  # all of them, as they were measured

    @property
    def best(self) -> int | None:
        """The number of the fittest new configuration that keeps every limit."""
        new = {trial.number for trial in self.trials if trial.purpose is Purpose.CANDIDATE}
        found = (new & self.fitness.keys()) - self.breaking
        return max(sorted(found), key=self.fitness.__getitem__, default=None)


def job_series_of(engine: Engine, job: JobRow) -> JobSeries | None:
    """The course of a job; None before a run of its baseline has ended well."""
    objective = objective_from_document(job.specification["objective"])
    others = not set(objective.metrics) <= set(MAIN_METRICS)
    with reading(engine) as connection:
        own = read_baseline_runs(connection, job.id)
        if not own:
            return None
        baseline = summarise(own)
        # What the machine's state corrects is told by the state of each run.
        others = others or any(own.machine.coefficients for own in baseline.hosts.values())
        runs = read_course(connection, job.id, others=others)
    if confirms_larger_load(job):
        runs = [trial for trial in runs if trial.phase is not Phase.CONFIRM]
    metrics = {
        trial.number: baseline.corrected(trial.metrics, trial.started_at, trial.host)
        for trial in runs
    }
    fitness = _fitness(objective, metrics, baseline)
    trials, mean = each_once(runs, fitness)
    once = measured(baseline, runs) if len(trials) < len(runs) else {}
    bounds = objective.bounds(baseline.metrics)
    metrics |= once
    return JobSeries(
        objective=objective,
        baseline=baseline,
        trials=trials,
        metrics=metrics,
        fitness=mean,
        breaking=frozenset(n for n, m in metrics.items() if not all(b.holds(m) for b in bounds)),
        repeats=len(replicated(runs)),
        runs=runs,
    )


def confirms_larger_load(job: JobRow) -> bool:
    """Whether a job's confirmation measures another load than its search: no figures compare."""
    return job.specification.get("confirm_scale") is not None


def baseline_so_far(engine: Engine, job: JobRow) -> Baseline | None:
    """The baseline of a job, with all its metrics; None before a run of it has ended well."""
    with reading(engine) as connection:
        state = count_baseline(connection, job.id)

        def summed_up() -> Baseline | None:
            runs = read_baseline_runs(connection, job.id)
            return summarise(runs) if runs else None

        return _baselines.of(engine, job.id, state, summed_up)


def _fitness(
    objective: Objective, metrics: Mapping[int, Mapping[str, float]], baseline: Baseline
) -> dict[int, float]:
    """By number, of those that have every metric of the objective."""
    columns = {
        term.metric: np.array([found.get(term.metric, np.nan) for found in metrics.values()])
        for term in objective.terms
    }
    values = objective.fitness_of_many(columns, baseline.metrics).tolist()
    return {n: v for n, v in zip(metrics, values, strict=True) if not math.isnan(v)}


_LATEST = 15
_REASONS = 10


@dataclass(frozen=True)
class MetricSoFar:
    """A metric of the objective."""

    term: Term
    level: float  # the baseline's
    noise: MetricNoise  # the baseline's over its runs
    # What the fittest new configuration measured, clocks corrected for drift; the mean where it
    # was measured again.
    best: float | None
    percent: float | None  # its change against the baseline
    better: bool  # whether that is for the better


@dataclass(frozen=True)
class LatestTrial:
    """A trial that ended lately."""

    trial: Trial
    # its metrics of the objective, in that order; None where it has none
    values: Sequence[float | None]
    fitness: float | None  # against the baseline so far; None where it cannot be told


@dataclass(frozen=True)
class LiveJob:
    """A job as it stands."""

    metrics: Sequence[MetricSoFar]  # of the objective; empty before the baseline was measured
    runs: int  # how many runs of the baseline these rest on
    names: Sequence[str]  # the metrics of the objective
    latest: Sequence[LatestTrial]  # the newest first
    out: Sequence[Trial]  # what is being measured now
    # (state, reason) with the number of trials, the most frequent ones
    failures: Sequence[tuple[tuple[str, str], int]]
    more_failures: int  # how many further reasons there are
    # Of a host's time, what the benchmark has and not the tuner, without the hours in which nobody
    # ran the job; None where that is not known yet.
    bench_share: float | None
    waits_for: str | None  # who uses the host that the newest of ``out`` waits for


def live_job(engine: Engine, job: JobRow) -> LiveJob:
    """What a job has found so far."""
    objective = objective_from_document(job.specification["objective"])
    baseline = baseline_so_far(engine, job)
    best = ((job.standing or {}).get("best") or {}).get("trial")
    with reading(engine) as connection:
        facts = read_trial_facts(connection, job.id)
        latest = read_latest(connection, job.id, limit=_LATEST)
        runs = read_runs_of(connection, job.id, best) if best else []
        waits = recall_document(connection, job.id, WAITS_FOR) or {}
    # What the runs of a configuration measured, as the plots have it.
    found = next(iter(measured(baseline, runs).values()), {}) if baseline else {}
    metrics = _metrics(objective, baseline, found) if baseline else []
    names = [term.metric for term in objective.terms]
    return LiveJob(
        metrics=metrics,
        runs=baseline.runs if baseline else 0,
        names=names,
        latest=[
            LatestTrial(
                trial,
                [trial.metrics.get(name) for name in names],
                _fitness_of(trial, objective, baseline) if baseline else None,
            )
            for trial in latest
        ],
        out=[] if job.state in ENDED else facts.out,
        failures=facts.failures[:_REASONS],
        more_failures=max(0, len(facts.failures) - _REASONS),
        bench_share=bench_share(job.standing),
        waits_for=waits.get("holder"),
    )


def bench_share(standing: Mapping[str, Any] | None) -> float | None:
    """Of a host's time, what the benchmark has: its mean run beside the mean pause after it.

    ``standing`` is a ``RunProgress`` as a document; None: no trial has ended.
    """
    if not standing or standing.get("between_seconds") is None:
        return None
    run, pause = standing["bench_seconds"], standing["between_seconds"]
    whole = run + pause * (standing["done"] + standing["failed"])
    return float(run / whole) if whole > 0 else None


def _metrics(
    objective: Objective, baseline: Baseline, best: Mapping[str, float]
) -> list[MetricSoFar]:
    rows = []
    for term in objective.terms:
        if term.metric not in baseline.metrics:
            continue
        level, value = baseline.metrics[term.metric], best.get(term.metric)
        gain = None if value is None else term.gain(value, level)
        percent = None if gain is None else 100 * (gain if term.direction == "max" else -gain)
        better = gain is not None and gain > 0
        noise = baseline.noise[term.metric]
        rows.append(MetricSoFar(term, level, noise, value, percent, better))
    return rows


def _fitness_of(trial: Trial, objective: Objective, baseline: Baseline) -> float | None:
    if not trial.done or trial.purpose is not Purpose.CANDIDATE:
        return None
    metrics = baseline.corrected(trial.metrics, trial.started_at, trial.host)
    return objective.fitness(metrics, baseline.metrics)


# Of very many trials they take seconds. Of a job that goes on they are made again only after five
# times as long as that took, however many watch it.
_charts = JobCache[Sequence[Chart]](rest=5.0)


def live_charts(engine: Engine, job: JobRow) -> Sequence[Chart]:
    """The plots of what a job has measured so far; none before its baseline was measured.

    Points are thinned; the best, and each that was the best in its time, is always drawn.
    """
    state, ended = (job.run, job.updated_at), job.state in ENDED
    return _charts.of(
        engine, job.id, state, lambda: _drawn(job_series_of(engine, job)), final=ended
    )


def _drawn(course: JobSeries | None) -> Sequence[Chart]:
    if course is None:
        return []
    terms, noise = course.objective.terms, course.baseline.noise
    charts = [
        convergence_chart(
            course.trials,
            course.fitness,
            breaking=course.breaking,
            baselines=course.runs,
            again=course.repeats,
        )
    ]
    for term in terms:
        known = {trial.number: course.metrics[trial.number] for trial in course.trials}
        values = {n: found[term.metric] for n, found in known.items() if term.metric in found}
        if spread := noise.get(term.metric):
            charts.append(metric_series_chart(term, course.trials, values, spread, course.best))
    names = [term.metric for term in terms]
    return drawable([*charts, drift_chart(course.runs, course.baseline, names)])
