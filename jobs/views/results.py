"""What a finished job has proven, or why it has not: the proof, the path, the files, the front."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.schema.job_row import JobRow
from jobs.charts.changes import changes_chart, contributions_chart, fitness_terms_chart
from jobs.charts.chart import Chart, drawable
from jobs.charts.trade_offs import front_chart, front_growth_chart
from jobs.report import rows
from jobs.results.best_words import beside_lines, limit_advice, only_limits_failed, reasons
from jobs.results.export import difference_of
from jobs.results.fits import JobCache
from jobs.results.option_changes import option_changes, options_diff
from jobs.results.outcome import OPTIONS_FILES, kept_of
from jobs.views.importance import explained_job
from jobs.views.live import job_series_of
from optimizer.objective.limits import kept_words
from optimizer.objective.objective import Objective
from optimizer.objective.objective_file import objective_from_document
from optimizer.trials.trial import Purpose
from sampler.options.application import application_steps
from sampler.options.applying import Change, Steps, steps_of
from sampler.options.options_file import parse_options


def outcome_view(kept: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    """What the first screen of a finished job tells: verdict, trade, changes with reasons, files.

    Takes no model and no trial: it is there at once, however long the job was.
    """
    trade = rows.trade_rows(result)
    return {
        "best": result["best"],
        "verdict": result["verdict"],
        "trade": trade,
        "marks": rows.marks_words(trade),
        "changes": option_changes(result),
        "unproven": None if result["best"] else _unproven(result),
        "beside": beside_lines(result),
        "difference": difference_of(result["job"], kept["options"]),
        **{name: kept[name] for name in OPTIONS_FILES},
    }


def results_view(engine: Engine, job: JobRow, result: Mapping[str, Any]) -> dict[str, Any]:
    """All that the page tells but for its plots of many points."""
    kept, objective = kept_of(engine, job.id), objective_from_document(result["job"]["objective"])
    names = [term.metric for term in objective.terms]
    explained = {**result, **explained_job(engine, job, result)}
    proof = rows.proof_content(explained, names)
    options = kept["options"]
    diff = options_diff(job, result, options) if options else []
    rank = {row["name"]: row["rank"] for row in result["parameters"]}
    return {
        **outcome_view(kept, result),
        **proof,
        "names": names,
        "charts": _charts(explained, proof["rows"], objective),
        "front": _front(engine, job.id, result, objective, kept["fitness"]),
        "diff": diff,
        "apply": _steps([line.change for line in diff], options) if options else None,
        "rank": rank,
        "why": reasons(result),
        "scale": result["job"].get("scale") or result["job"]["workload"].get("scale"),
        "rocksdb": result["environment"].get("rocksdb"),
    }


def _steps(changes: list[Change], text: str) -> Steps:
    return steps_of(changes, parse_options(text), application_steps(text))


def _charts(
    result: Mapping[str, Any],
    proof: Sequence[Mapping[str, Any]],
    objective: Objective,
) -> dict[str, Chart]:
    drawn = [(row["metric"], row["change"]) for row in proof]
    verdict, names = result["verdict"], [term.metric for term in objective.terms]
    terms = None
    if verdict is not None and len(names) > 1:  # one term alone needs no plot
        proven = objective.gains_of_changes(
            {n: row["percent"] for n, row in verdict["change"].items()}
        )
        terms = fitness_terms_chart(names, proven, {})
    changes = changes_chart(drawn, objective.terms, rows.detectable(result))
    found = drawable([changes, contributions_chart(result["explanation"]), terms])
    return {chart.name: chart for chart in found}


def _front(
    engine: Engine,
    job_id: int,
    result: Mapping[str, Any],
    objective: Objective,
    fitness: Mapping[int, float],
) -> dict[str, Any]:
    """The fittest of the Pareto front, and how many more there are; none with one metric."""
    numbers = result["pareto"] if len(objective.terms) > 1 else []
    shown = rows.fittest(numbers, fitness)
    points = {number: metrics for number, _, metrics in JobStore(engine).points(job_id, shown)}
    return rows.front_rows(numbers, points, [term.metric for term in objective.terms], fitness)


_NOISY = 0.05  # of the median: a baseline that scatters more hides a usual gain


def _unproven(result: Mapping[str, Any]) -> dict[str, Any]:
    """What tells why nothing was proven: the page says it in words."""
    names = [row["name"] for row in result["job"]["objective"]["metric"]]
    noise = {name: each["spread"] or 0.0 for name, each in result["baseline"]["noise"].items()}
    power = rows.detectable(result)
    return {
        "trials": result["trials"],
        "broken": [kept_words(row) for row in rows.limit_rows(result) if row["kept"] is False],
        "limit_advice": limit_advice(result),
        "only_limits": only_limits_failed(result),
        "power": {name: value for name, value in power.items() if name in names},
        "noisy": {n: spread for n, spread in noise.items() if n in names and spread > _NOISY},
    }


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
