"""The plots of what was won that need all trials: the Pareto front, and how it grew.

Of a hundred thousand trials they take seconds. The job has ended, so they are made once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Engine

from db.job_row import JobRow
from jobs.charts.chart import Chart
from jobs.charts.front import front
from jobs.charts.front_growth import front_growth
from jobs.course import course_of
from optimizer.trial import Purpose

_MOST_REMEMBERED = 16
_Made = dict[tuple[int, datetime], Sequence[Chart]]
_made: WeakKeyDictionary[Engine, _Made] = WeakKeyDictionary()


def won_charts(engine: Engine, job: JobRow, result: Mapping[str, Any]) -> Sequence[Chart]:
    """The plots; points are thinned, those of the front are always drawn.

    Args:
        engine: The database.
        job: A job that is done.
        result: The document of its result.json.
    """
    made = _made.setdefault(engine, {})
    key = (job.id, job.updated_at)
    if key not in made:
        if len(made) >= _MOST_REMEMBERED:
            made.clear()
        made[key] = _drawn(engine, job, result)
    return made[key]


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
