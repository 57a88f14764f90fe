"""What a finished job found, as its pages show it: sections, files, the front, what models say.

What is made anew stays in memory, not in the database: to read it changes nothing.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import orjson
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.schema.job_row import JobRow
from db.trials.trial_rows import sampled_trials
from jobs.charts import parameters
from jobs.charts.chart import Chart, drawable
from jobs.charts.trials import front_chart, front_growth_chart
from jobs.report.options_file import (
    apply_section,
    file_section,
    options_diff,
    outside_lines,
)
from jobs.report.ranking import boxes_section
from jobs.report.section import Cell, Charts, Section, Table, Text, columns
from jobs.report.sections import fittest, front_section, sections
from jobs.results.export import difference_of
from jobs.results.fits import JobCache, fitted
from jobs.results.outcome import OPTIONS_FILES, kept_of
from jobs.results.output_folder import DIFFERENCE, MINIMAL, OPTIONS
from jobs.specification.resolved_job import resolve_stored
from jobs.views.live import job_series_of
from optimizer.evaluation.evaluation import Evaluation
from optimizer.explanation import NOTHING_EXPLAINED, explanation_document
from optimizer.results.document import Result
from optimizer.results.ranking import ParameterRanking
from optimizer.surrogate.parameter_effects import Dependences, dependences
from optimizer.trials.problem import Problem
from optimizer.trials.trial import History, Purpose
from sampler.rocksdb.application import application_steps
from sampler.rocksdb.changes import steps_of
from sampler.rocksdb.options_file import parse_options
from sampler.space.space_file import space_from_document


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
    diff = options_diff(job, result, options) if options else []
    steps = None
    if options:
        changes = [line.change for line in diff]
        steps = steps_of(changes, parse_options(options), application_steps(options))
    files = [
        (f"Changes to your own file: {DIFFERENCE}", view["difference"]),
        (OPTIONS, options),
        (f"Fewest changes: {MINIMAL}", kept["minimal"]),
    ]
    used = [apply_section(steps), file_section(result, files)] if options else []
    return {
        **view,
        "front": _front(engine, job.id, result, kept["fitness"]),
        "outside": outside_lines(result),
        "diff": diff,
        "how": [how for _, how in steps.rows] if steps else [],
        "use": [section.numbered(job.id) for section in used],
        "rank": {row.name: row.rank for row in result.parameters},
        "why": {row.name: row.reason for row in result.best.changes} if result.best else {},
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


_MOST_BOXED = 5000  # trials that are read; box plots of more show nothing else
_MOST_TAUGHT = 2000  # of these the models take the best and others evenly, 300 at most
_PARAMETERS = 6
_PAIRS_DRAWN, _LEAST_DRAWN = 4, 0.005
_PAIRS_TOLD = 10


def importance_details(engine: Engine, job: JobRow, ranking: ParameterRanking) -> list[Section]:
    """What is learned from trials one by one, for a final ranking or the one so far.

    Box plots of the most and least important parameters where forests and tests say something,
    how the parameters that make most of the variance act, and the strongest pairs.
    """
    space = space_from_document(job.specification["space"]).by_name
    boxes: list[Chart] = []
    if ranking.forests_learned:
        trials, _ = sampled_trials(engine, job.id, most=_MOST_BOXED)
        boxes = parameters.box_charts(ranking, space, trials)
    sizes = {name for name, each in space.items() if each.is_bytes}
    return [boxes_section(boxes), *_dependence_sections(dependence_of_job(engine, job), sizes)]


def _dependence_sections(known: Dependences | None, sizes: Collection[str]) -> list[Section]:
    title = "Effect of each parameter"
    if known is None:
        few = "Too few trials succeeded to model how a metric depends on a parameter."
        return [Section("dependence", title, [Text(few)])]
    noise = ", ".join(
        f"{share:.0%} of the variance of {m}" for m, share in known.unexplained.items()
    )
    how = (
        f"By one additive Gaussian process per metric, fitted to {known.trials:,} trials of all "
        f"phases. Unexplained noise: {noise}."
    )
    effects = Section("dependence", title, [Text(how), Charts(_curves(known, sizes))])
    if not known.pairs:
        none = "None found: no pair is seen to act beyond the separate effects of its parameters."
        return [effects, Section("pairs", _PAIRS, [Text(none)])]
    rows: list[Sequence[str | Cell]] = [
        (
            *(Cell(name, link="parameter") for name in pair.parameters),
            pair.metric,
            f"{pair.share:.2%}",
        )
        for pair in known.pairs[:_PAIRS_TOLD]
    ]
    caption = (
        "Interaction of two parameters beyond their separate effects: share of the metric's "
        "variance over the whole space."
    )
    table = Table(columns(("parameter", "with", "metric"), ("share",)), rows, caption)
    drawn = [pair for pair in known.pairs if pair.share >= _LEAST_DRAWN][:_PAIRS_DRAWN]
    charts = [
        parameters.pair_effect_chart(
            pair,
            (known.settings[one], known.settings[other]),
            is_bytes=(one in sizes, other in sizes),
        )
        for pair in drawn
        for one, other in [pair.parameters]
    ]
    return [effects, Section("pairs", _PAIRS, [table, Charts(charts)])]


_PAIRS = "The strongest pairs"


def _curves(known: Dependences, sizes: Collection[str]) -> list[Chart]:
    total: dict[str, float] = defaultdict(float)
    for curve in known.curves:
        total[curve.parameter] += curve.share
    metrics = list(known.unexplained)  # a metric has the same colour in every plot
    curves = sorted(known.curves, key=lambda curve: metrics.index(curve.metric))
    return drawable(
        parameters.dependence_chart(
            name,
            [curve for curve in curves if curve.parameter == name],
            known.settings[name],
            is_bytes=name in sizes,
        )
        for name in sorted(total, key=lambda name: -total[name])[:_PARAMETERS]
    )


_known = JobCache[Dependences | None](alone=True)


def dependence_of_job(engine: Engine, job: JobRow) -> Dependences | None:
    """What its trials teach so far; of many, some evenly over the job.

    None while they are too few, or teach nothing at all.
    """
    standing = job.standing or {}
    state = (job.run, standing.get("done"), standing.get("failed"), job.state)
    return _known.of(engine, job.id, state, lambda: _learned(engine, job))


def dependence_document(found: Dependences) -> dict[str, Any]:
    """As JSON holds it; figures of effects in percent."""
    document: dict[str, Any] = orjson.loads(orjson.dumps(found, default=np.ndarray.tolist))
    return document


def _learned(engine: Engine, job: JobRow) -> Dependences | None:
    trials, _ = sampled_trials(engine, job.id, most=_MOST_TAUGHT)
    runs = [trial for trial in trials if trial.purpose is Purpose.BASELINE and trial.done]
    if not runs:
        return None
    problem = _problem(job, runs[0].configuration)
    return fitted(dependences, Evaluation(problem, History(trials)))


def _problem(job: JobRow, baseline: Mapping[str, Any]) -> Problem:
    """With the defaults of the RocksDB that measured, not the catalogue's."""
    problem = resolve_stored(job).problem
    return replace(problem, space=problem.space.at_baseline(baseline))


_made_anew = JobCache[dict[str, Any]](alone=True)


def explained_job(engine: Engine, job: JobRow, result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Its ``explanation`` and ``explanation_withheld``; made anew of an earlier version's."""
    if result["best"] is None:
        return NOTHING_EXPLAINED
    if "explanation" in result:  # one that an earlier version made is shown as it is
        return {name: result.get(name) for name in NOTHING_EXPLAINED}
    return _made_anew.of(engine, job.id, job.updated_at, lambda: _anew(engine, job, result))


def _anew(engine: Engine, job: JobRow, result: Mapping[str, Any]) -> dict[str, Any]:
    problem = _problem(job, result["baseline"].get("configuration") or {})
    evaluation = Evaluation(problem, History(JobStore(engine).trials(job.id)))
    best, verdict = result["best"]["configuration"], result["verdict"]
    explain = partial(explanation_document, low=verdict["low"], high=verdict["high"])
    return fitted(explain, evaluation, best)
