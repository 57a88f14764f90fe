"""The plots of what was won that need all trials: the Pareto front, and how it grew.

Of a hundred thousand trials they take seconds. The job has ended, so they are made once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Engine

from db.schema.job_row import JobRow
from jobs.charts.chart import Chart
from jobs.charts.front import front
from jobs.charts.front_growth import front_growth
from jobs.results.remembered import Remembered
from jobs.views.course import course_of
from optimizer.trials.trial import Purpose

_made = Remembered[Sequence[Chart]]()


def won_charts(engine: Engine, job: JobRow, result: Mapping[str, Any]) -> Sequence[Chart]:
    """The plots; points are thinned, those of the front are always drawn.

    Args:
        engine: The database.
        job: A job that is done.
        result: The document of its result.json.
    """
    return _made.of(engine, job.id, job.updated_at, lambda: _drawn(engine, job, result))


def _drawn(engine: Engine, job: JobRow, result: Mapping[str, Any]) -> Sequence[Chart]:
    course = course_of(engine, job)
    if course is None:
        return []
    new = [trial.number for trial in course.trials if trial.purpose is Purpose.CANDIDATE]
    points = {number: course.metrics[number] for number in new}
    kept = points.keys() - course.breaking
    terms = course.objective.terms
    growth = [(row["trial"], row["value"]) for row in result.get("hypervolume", [])]
    last = max((trial.number for trial in course.runs), default=0)
    drawn = [
        front(points, kept, set(result["pareto"]), terms, again=course.repeats),
        front_growth(growth, terms, last),
    ]
    return [chart for chart in drawn if chart is not None]
