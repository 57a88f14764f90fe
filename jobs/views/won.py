"""What a finished job has won, without reading its trials: the proof, the path, the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.schema.job_row import JobRow
from jobs.charts.changes import changes
from jobs.charts.chart import Chart
from jobs.charts.contributions import contributions
from jobs.charts.fitness_terms import fitness_terms
from jobs.report.contribution_rows import contribution_lines, contribution_rows
from jobs.report.explanation_rows import explanation_rows
from jobs.report.limit_rows import limit_rows
from jobs.report.proof_rows import proof_rows
from jobs.report.report_power import detectable
from jobs.results.explanation_words import withheld_words
from jobs.results.finished import kept_of
from jobs.results.option_changes import carried_apart
from jobs.results.options_diff import options_diff
from jobs.views.explained_job import explained_job
from jobs.views.unproven import reasons_unproven, what_next
from optimizer.budget.confirm_load import confirmation_words
from optimizer.objective.objective import Objective, Term
from optimizer.objective.objective_file import objective_from_document

_FRONT_ROWS = 12


def won(engine: Engine, job: JobRow, result: Mapping[str, Any]) -> dict[str, Any]:
    """All that the page tells but for its plots of many points.

    Args:
        engine: The database.
        job: A job that is done.
        result: The document of its result.json.
    """
    kept, objective = kept_of(engine, job.id), objective_from_document(result["job"]["objective"])
    names = [term.metric for term in objective.terms]
    rows = proof_rows(result, names)
    explained = {**result, **explained_job(engine, job, result)}
    diff = options_diff(job, result, kept.options) if kept.options else []
    rank = {row["name"]: row["rank"] for row in result["parameters"]}
    return {
        "best": result["best"],
        "verdict": result["verdict"],
        "reasons": reasons_unproven(result),
        "next_steps": what_next(result),
        "rows": rows,
        "names": names,
        "limits": limit_rows(result),
        "confirmation": confirmation_words(result.get("confirmation")),
        "explained": explanation_rows(explained, names),
        "withheld": withheld_words(explained),
        "contributed": _contributed(result),
        "charts": _charts(result, rows, objective.terms, explained["explanation"]),
        "front": _front(engine, job.id, result, objective, kept.fitness),
        "diff": diff,
        "rank": rank,
        "apart": carried_apart(result),
        "options": kept.options,
        "minimal": kept.minimal,
        "scale": result["job"].get("scale") or result["job"]["workload"].get("scale"),
        "rocksdb": result["environment"].get("rocksdb"),
    }


def _charts(
    result: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    terms: Sequence[Term],
    explanation: Mapping[str, Any] | None,
) -> dict[str, Chart]:
    drawn = [(row["metric"], row["change"]) for row in rows]
    found = [
        changes(drawn, terms, detectable(result)),
        contributions(explanation),
        _terms(result, terms),
    ]
    return {chart.name: chart for chart in found if chart is not None}


def _terms(result: Mapping[str, Any], terms: Sequence[Term]) -> Chart | None:
    """The terms of the fitness in the proof; one alone needs no plot."""
    verdict = result["verdict"]
    if verdict is None or len(terms) < 2:
        return None
    level = result["baseline"]["metrics"]
    proven = Objective("", tuple(terms)).gains(verdict["metrics"], level)
    return fitness_terms([term.metric for term in terms], proven, {})


def _contributed(result: Mapping[str, Any]) -> dict[str, Any] | None:
    found = result.get("contributions")
    if not found:
        return None
    metrics = list(found["steps"][0]["change"]) if found["steps"] else []
    return {
        "rows": contribution_rows(found),
        "metrics": metrics,
        "lines": contribution_lines(found),
    }


def _front(
    engine: Engine,
    job_id: int,
    result: Mapping[str, Any],
    objective: Objective,
    fitness: Mapping[int, float],
) -> dict[str, Any]:
    """The fittest of the Pareto front, and how many more there are; none with one metric."""
    numbers = result["pareto"] if len(objective.terms) > 1 else []
    shown = sorted(numbers, key=lambda number: -fitness.get(number, 0.0))[:_FRONT_ROWS]
    points = {number: metrics for number, _, metrics in JobStore(engine).points(job_id, shown)}
    rows = [
        {
            "number": number,
            "fitness": fitness.get(number),
            "metrics": [points[number].get(term.metric) for term in objective.terms],
        }
        for number in shown
        if number in points
    ]
    return {"rows": rows, "more": len(numbers) - len(rows)}
