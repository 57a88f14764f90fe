"""What a finished job has proven, or why it has not: the proof, the path, the files, the front."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.schema.job_row import JobRow
from jobs.charts.changes import changes_chart
from jobs.charts.chart import Chart, drawable
from jobs.charts.contributions import contributions_chart, fitness_terms_chart
from jobs.charts.front import front_chart, front_growth_chart
from jobs.report import rows
from jobs.results.best_words import beside_lines, reasons
from jobs.results.cache import JobCache
from jobs.results.export import difference_of
from jobs.results.option_changes import option_changes, options_diff
from jobs.results.outcome import Kept, kept_of
from jobs.views.job_series import job_series_of
from jobs.views.models import explained_job
from optimizer.objective.limits import kept_words
from optimizer.objective.objective import Objective
from optimizer.objective.objective_file import objective_from_document
from optimizer.trials.trial import Purpose
from sampler.options.applying import steps_of
from sampler.options.options_file import parse_options


def outcome_view(kept: Kept, result: Mapping[str, Any]) -> dict[str, Any]:
    """What the first screen of a finished job tells: verdict, trade, changes with reasons, files.

    Takes no model and no trial: it is there at once, however long the job was.
    """
    return {
        "best": result["best"],
        "verdict": result["verdict"],
        "trade": rows.trade_rows(result),
        "changes": option_changes(result),
        "reasons": reasons_unproven(result),
        "next_steps": what_next(result),
        "beside": beside_lines(result),
        "difference": difference_of(result["job"], kept.options),
        "options": kept.options,
        "minimal": kept.minimal,
        "fullest": kept.fullest,
    }


def results_view(engine: Engine, job: JobRow, result: Mapping[str, Any]) -> dict[str, Any]:
    """All that the page tells but for its plots of many points."""
    kept, objective = kept_of(engine, job.id), objective_from_document(result["job"]["objective"])
    names = [term.metric for term in objective.terms]
    explained = {**result, **explained_job(engine, job, result)}
    proof = rows.proof_content(explained, names)
    diff = options_diff(job, result, kept.options) if kept.options else []
    rank = {row["name"]: row["rank"] for row in result["parameters"]}
    return {
        **outcome_view(kept, result),
        **proof,
        "names": names,
        "charts": _charts(explained, proof["rows"], objective),
        "front": _front(engine, job.id, result, objective, kept.fitness),
        "diff": diff,
        "apply": steps_of([line.change for line in diff], parse_options(kept.options))
        if kept.options
        else None,
        "rank": rank,
        "why": reasons(result),
        "scale": result["job"].get("scale") or result["job"]["workload"].get("scale"),
        "rocksdb": result["environment"].get("rocksdb"),
    }


def _charts(
    result: Mapping[str, Any],
    proof: Sequence[Mapping[str, Any]],
    objective: Objective,
) -> dict[str, Chart]:
    drawn = [(row["metric"], row["change"]) for row in proof]
    verdict, names = result["verdict"], [term.metric for term in objective.terms]
    terms = None
    if verdict is not None and len(names) > 1:  # one term alone needs no plot
        proven = objective.gains(verdict["metrics"], result["baseline"]["metrics"])
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


def reasons_unproven(result: Mapping[str, Any]) -> list[str]:
    """The reasons, the deciding one first; none where something was proven."""
    if result["best"] is not None:
        return []
    verdict = result["verdict"]
    names = [row["name"] for row in result["job"]["objective"]["metric"]]
    if verdict is None:
        counts = result["trials"]
        return [
            "No new configuration could be measured against the baseline: "
            f"{counts['done']} of {counts['total']} runs ended well."
        ]
    found = [f"The declared test did not pass: {verdict['why']}."]
    if verdict.get("low") is not None:
        found.append(
            f"The 95% interval of the candidate's fitness, {verdict['low']:.0f} to "
            f"{verdict['high']:.0f}, must lie above 0 as a whole."
        )
    broken = [row for row in rows.limit_rows(result) if row["kept"] is False]
    found += [f"Limit {kept_words(row)}." for row in broken]
    power = {name: value for name, value in rows.detectable(result).items() if name in names}
    if power:
        seen = ", ".join(f"{name} {value:.1f}%" for name, value in power.items())
        found.append(
            f"{verdict['pairs']} pairs of runs show a change of one metric 8 times in 10 if it is "
            f"at least {seen}. A smaller one may be there and unseen."
        )
    noisy = {
        name: noise["spread"]
        for name, noise in result["baseline"]["noise"].items()
        if name in names and (noise["spread"] or 0.0) > _NOISY
    }
    if noisy:
        said = ", ".join(f"{name} by {100 * spread:.0f}%" for name, spread in noisy.items())
        found.append(f"The baseline itself scatters: {said} of its median (standard deviation).")
    return found


def what_next(result: Mapping[str, Any]) -> list[str]:
    """What may prove more, where nothing was proven."""
    if result["best"] is not None:
        return []
    found = [
        "Give it more trials: clone the job with a larger budget. What it has measured can be "
        "taken over with a warm start.",
    ]
    if any(row["kept"] is False for row in rows.limit_rows(result)):
        found.append("Loosen the limit that was broken, if you can live with that.")
    if result["verdict"] is not None:
        found.append(
            "Weigh the metrics by a preference of your own, on the page What was won: by other "
            "weights another configuration may be the best. What is picked there is not proven."
        )
    found.append("Or keep what you have: for this load and machine it may be good already.")
    return found


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
