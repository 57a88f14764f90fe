"""What a job has found so far, in figures and plots: for whoever watches it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine

from db.connection.transactions import reading
from db.schema.job_row import ENDED, JobRow
from db.trials.trial_rows import read_latest, read_runs_of, read_trial_facts
from jobs.charts.chart import Chart, drawable
from jobs.charts.convergence import convergence_chart
from jobs.charts.metric_series import drift_chart, metric_series_chart
from jobs.results.cache import JobCache
from jobs.views.job_series import JobSeries, baseline_so_far, job_series_of
from optimizer.baseline.baseline import Baseline, MetricNoise
from optimizer.evaluation.pareto_front import measured
from optimizer.objective.objective import Objective, Term
from optimizer.objective.objective_file import objective_from_document
from optimizer.trials.trial import Purpose, Trial

_LATEST = 15
_REASONS = 10
_NOISY = 0.1  # a spread of the baseline beyond which only large changes can be proven


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
    cautions: Sequence[str]  # what of the baseline's noise the reader must know


def live_job(engine: Engine, row: JobRow) -> LiveJob:
    """What a job has found so far."""
    objective = objective_from_document(row.specification["objective"])
    baseline = baseline_so_far(engine, row)
    best = ((row.standing or {}).get("best") or {}).get("trial")
    with reading(engine) as connection:
        facts = read_trial_facts(connection, row.id)
        latest = read_latest(connection, row.id, limit=_LATEST)
        runs = read_runs_of(connection, row.id, best) if best else []
    # What the runs of a configuration measured, as the plots have it.
    found = next(iter(measured(baseline, runs).values()), {}) if baseline else {}
    metrics = _metrics(objective, baseline, found) if baseline else []
    names = [term.metric for term in objective.terms]
    return LiveJob(
        metrics=metrics,
        runs=baseline.runs if baseline else 0,
        names=names,
        latest=[_latest(trial, names, objective, baseline) for trial in latest],
        out=[] if row.state in ENDED else facts.out,
        failures=facts.failures[:_REASONS],
        more_failures=max(0, len(facts.failures) - _REASONS),
        bench_share=bench_share(row.standing),
        cautions=_cautions(metrics),
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


def _latest(
    trial: Trial, names: Sequence[str], objective: Objective, baseline: Baseline | None
) -> LatestTrial:
    fitness = None
    if baseline and trial.done and trial.purpose is Purpose.CANDIDATE:
        metrics = baseline.corrected(trial.metrics, trial.started_at, trial.host)
        fitness = objective.fitness(metrics, baseline.metrics)
    return LatestTrial(trial, [trial.metrics.get(name) for name in names], fitness)


def _cautions(metrics: Sequence[MetricSoFar]) -> list[str]:
    noisy = ", ".join(
        f"{each.term.metric} scatters by {100 * each.noise.spread:.0f}%"
        for each in metrics
        if each.noise.spread is not None and each.noise.spread > _NOISY
    )
    drifting = ", ".join(each.term.metric for each in metrics if each.noise.drifting)
    found = []
    if noisy:
        found.append(
            f"The baseline is noisy: {noisy} from run to run. Only larger changes can be proven; "
            "rocktune doctor looks for the cause."
        )
    if drifting:
        found.append(
            f"The machine drifts: {drifting} of the baseline changes with time. Trials are "
            "compared with the baseline of their time."
        )
    return found


# Of very many trials they take seconds. Of a job that goes on they are made again only after five
# times as long as that took, however many watch it.
_charts = JobCache[Sequence[Chart]](rest=5.0)


def live_charts(engine: Engine, row: JobRow) -> Sequence[Chart]:
    """The plots of what a job has measured so far; none before its baseline was measured.

    Points are thinned; the best, and each that was the best in its time, is always drawn.
    """
    state, ended = (row.run, row.updated_at), row.state in ENDED
    return _charts.of(
        engine, row.id, state, lambda: _drawn(job_series_of(engine, row)), final=ended
    )


def _drawn(course: JobSeries | None) -> Sequence[Chart]:
    if course is None:
        return []
    best, names = course.best, [term.metric for term in course.objective.terms]
    convergence = convergence_chart(
        course.trials,
        course.fitness,
        breaking=course.breaking,
        baselines=course.runs,
        again=course.repeats,
    )
    metrics = (_metric(course, term, best) for term in course.objective.terms)
    return drawable([convergence, *metrics, drift_chart(course.runs, course.baseline, names)])


def _metric(course: JobSeries, term: Term, best: int | None) -> Chart | None:
    noise = course.baseline.noise.get(term.metric)
    if noise is None:
        return None
    values = {
        trial.number: course.metrics[trial.number][term.metric]
        for trial in course.trials
        if term.metric in course.metrics[trial.number]
    }
    return metric_series_chart(term, course.trials, values, noise, best)
