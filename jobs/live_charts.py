"""The plots of a job that goes on, or has ended: convergence, each metric, drift."""

from __future__ import annotations

from sqlalchemy import Engine

from db.job_row import JobRow
from jobs.charts.chart import Chart
from jobs.charts.convergence import convergence
from jobs.charts.drift import drift
from jobs.charts.metric_course import metric_course
from jobs.course import Course, course_of
from optimizer.objective import Term


def live_charts(engine: Engine, row: JobRow) -> list[Chart]:
    """The plots of what a job has measured so far; none before its baseline was measured.

    Points are thinned; the best, and each that was the best in its time, is always drawn.
    """
    course = course_of(engine, row)
    if course is None:
        return []
    best, names = course.best, [term.metric for term in course.objective.terms]
    drawn = [
        convergence(
            course.trials, course.fitness, breaking=course.breaking, baselines=course.runs,
            again=course.repeats,
        ),
        *(_metric(course, term, best) for term in course.objective.terms),
        drift(course.runs, course.baseline, names),
    ]  # fmt: skip
    return [chart for chart in drawn if chart is not None]


def _metric(course: Course, term: Term, best: int | None) -> Chart | None:
    noise = course.baseline.noise.get(term.metric)
    if noise is None:
        return None
    values = {}
    for trial in course.trials:
        metrics = course.corrected(trial)
        if term.metric in metrics:
            values[trial.number] = metrics[term.metric]
    return metric_course(term, course.trials, values, noise, best)
