"""What a finished job has proven, or why it has not: sections, the files, the front."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.schema.job_row import JobRow
from jobs.charts.chart import Chart, drawable
from jobs.charts.trade_offs import front_chart, front_growth_chart
from jobs.report.section import Section
from jobs.report.sections import fittest, front_section, sections
from jobs.results.export import difference_of
from jobs.results.fits import JobCache
from jobs.results.option_changes import options_diff, values_outside_file
from jobs.results.outcome import OPTIONS_FILES, kept_of
from jobs.views.importance import explained_job
from jobs.views.live import job_series_of
from optimizer.results.document import Result
from optimizer.trials.trial import Purpose
from sampler.rocksdb.application import application_steps
from sampler.rocksdb.changes import steps_of
from sampler.rocksdb.options_file import parse_options


def outcome_view(
    job: JobRow, kept: Mapping[str, Any], document: Mapping[str, Any]
) -> dict[str, Any]:
    """What the first screen of a finished job tells: sections and files.

    Takes no model and no trial: it is there at once, however long the job was.
    """
    result = Result.read(document)
    return {
        "result": result,
        "told": sections(result, job=job.id),
        "difference": difference_of(result.job, kept["options"]),
        **{name: kept[name] for name in OPTIONS_FILES},
    }


def results_view(engine: Engine, job: JobRow, document: Mapping[str, Any]) -> dict[str, Any]:
    """All that the page tells but for its plots of many points."""
    kept = kept_of(engine, job.id)
    view = outcome_view(job, kept, {**document, **explained_job(engine, job, document)})
    result, options = view["result"], kept["options"]
    diff = options_diff(job, document, options) if options else []
    changes = [line.change for line in diff]
    apply = (
        steps_of(changes, parse_options(options), application_steps(options)) if options else None
    )
    return {
        **view,
        "front": _front(engine, job.id, result, kept["fitness"]),
        "apart": values_outside_file(document),
        "diff": diff,
        "apply": apply,
        "rank": {row.name: row.rank for row in result.parameters},
        "why": {row.name: row.reason for row in result.best.changes} if result.best else {},
        "scale": result.job.get("scale") or result.job["workload"].get("scale"),
        "rocksdb": result.environment.get("rocksdb"),
    }


def _front(engine: Engine, job_id: int, result: Result, fitness: Mapping[int, float]) -> Section:
    """The fittest of the Pareto front, and how many more there are; none with one metric."""
    names = result.terms
    numbers = result.pareto if len(names) > 1 else []
    shown = fittest(numbers, fitness)
    points = {number: metrics for number, _, metrics in JobStore(engine).points(job_id, shown)}
    return front_section(numbers, points, names, fitness)


_made = JobCache[Sequence[Chart]]()


def front_charts(engine: Engine, job: JobRow, result: Mapping[str, Any]) -> Sequence[Chart]:
    """The plots; points are thinned, those of the front are always drawn."""
    return _made.of(engine, job.id, job.updated_at, lambda: _drawn(engine, job, result))


def _drawn(engine: Engine, job: JobRow, result: Mapping[str, Any]) -> Sequence[Chart]:
    course = job_series_of(engine, job)
    if course is None:
        return []
    new = [trial.number for trial in course.trials if trial.purpose is Purpose.CANDIDATE]
    points = {number: course.metrics[number] for number in new}
    kept = points.keys() - course.breaking
    terms = course.objective.terms
    growth = [(row["trial"], row["value"]) for row in result.get("hypervolume", [])]
    last = max((trial.number for trial in course.runs), default=0)
    front = front_chart(points, kept, set(result["pareto"]), terms, again=course.repeats)
    return drawable([front, front_growth_chart(growth, terms, last)])
