"""The plots of a job that goes on, or has ended: convergence, each metric, drift.

Those of very many trials take seconds to make. Of a job that goes on they are made again only
after five times as long as that took, however many watch it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from weakref import WeakKeyDictionary

from sqlalchemy import Engine

from db.schema.job_row import ENDED, JobRow
from jobs.charts.chart import Chart
from jobs.charts.convergence import convergence
from jobs.charts.drift import drift
from jobs.charts.metric_course import metric_course
from jobs.views.course import Course, course_of
from optimizer.objective.objective import Term

_LONG_SECONDS = 0.2
_REST = 5.0
_MOST_KEPT = 16


@dataclass(frozen=True)
class _Drawn:
    charts: Sequence[Chart]
    at: tuple[int, datetime]  # the job's run, and when it last changed
    good_until: float  # of a job that goes on, by the clock of this process


_kept: WeakKeyDictionary[Engine, OrderedDict[int, _Drawn]] = WeakKeyDictionary()


def live_charts(engine: Engine, row: JobRow) -> Sequence[Chart]:
    """The plots of what a job has measured so far; none before its baseline was measured.

    Points are thinned; the best, and each that was the best in its time, is always drawn.
    """
    kept = _kept.setdefault(engine, OrderedDict())
    drawn, at = kept.get(row.id), (row.run, row.updated_at)
    began = monotonic()
    if drawn and (drawn.at == at or (row.state not in ENDED and began < drawn.good_until)):
        return drawn.charts
    charts = _drawn(course_of(engine, row))
    now = monotonic()
    if now - began > _LONG_SECONDS:
        kept[row.id] = _Drawn(charts, at, now + _REST * (now - began))
        kept.move_to_end(row.id)
        while len(kept) > _MOST_KEPT:
            kept.popitem(last=False)
    return charts


def _drawn(course: Course | None) -> Sequence[Chart]:
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
    values = {
        trial.number: course.metrics[trial.number][term.metric]
        for trial in course.trials
        if term.metric in course.metrics[trial.number]
    }
    return metric_course(term, course.trials, values, noise, best)
