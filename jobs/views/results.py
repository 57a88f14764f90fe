"""What finished jobs found, as pages show it: sections, files, what models say; side by side.

What is made anew stays in memory, not in the database: to read it changes nothing.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.schema.job_row import JobRow
from db.trials.trial_rows import sampled_trials
from jobs.charts import parameters
from jobs.charts.chart import Chart, drawable
from jobs.charts.trials import front_chart, front_growth_chart
from jobs.report.options_file import (
    apply_section,
    difference_section,
    file_section,
    options_diff,
)
from jobs.report.ranking import boxes_section
from jobs.report.section import Cell, Charts, Section, Table, Text, columns
from jobs.report.sections import fittest, front_section, sections
from jobs.results.export import difference_of
from jobs.results.figures import value_words
from jobs.results.fits import JobCache, fitted
from jobs.results.outcome import kept_of
from jobs.results.output_folder import DIFFERENCE, MINIMAL, OPTIONS
from jobs.specification.resolved_job import resolve_stored
from jobs.views.live import job_series_of
from optimizer.evaluation.evaluation import Evaluation
from optimizer.explained import Dependence, Explanation
from optimizer.explanation import dependences, explained
from optimizer.results.document import Result
from optimizer.results.ranking import ParameterRanking
from optimizer.trials.problem import Problem
from optimizer.trials.trial import History, Purpose
from sampler.rocksdb.application import application_steps
from sampler.rocksdb.changes import steps_of
from sampler.rocksdb.options_file import parse_options
from sampler.rocksdb.parameters import catalogue
from sampler.space.space_file import space_from_document


@dataclass(frozen=True)
class OutcomeView:
    """A finished job's sections by name, and which files there are; on its own page all else."""

    told: Mapping[str, Section]
    proven: bool  # whether something was proven better
    candidate: int | None  # the trial that was tested; None where there was no proof
    options: str | None  # the text of its OPTIONS file; None where nothing was proven better
    has_difference: bool  # whether the job was given an OPTIONS file, and has one
    has_minimal: bool
    has_fullest: bool
    proof: Sequence[Section] = ()  # the proof, its limits, and why the winner is better
    measurable: bool = False  # whether it is explained, and the explanation is not measured yet
    front: Section | None = None
    applied: Sequence[Section] = ()  # what the file changes and how it is used; empty without one


def outcome_view(job: JobRow, result: Result, kept: Mapping[str, Any]) -> OutcomeView:
    """What the first screen of a finished job tells; ``kept`` is of ``kept_of``.

    Takes no model and no trial: it is there at once, however long the job was.
    """
    return OutcomeView(
        told=sections(result, job=job.id),
        proven=result.best is not None,
        candidate=result.verdict.trial if result.verdict else None,
        options=kept["options"],
        has_difference=difference_of(result.job.baseline_options, kept["options"]) is not None,
        has_minimal=kept["minimal"] is not None,
        has_fullest=kept["fullest"] is not None,
    )


_PROOF = ("proof", "limits", "path", "contributed", "terms")


def results_view(engine: Engine, job: JobRow, result: Result) -> OutcomeView:
    """All that the page of a result tells, but for its plots of many points.

    Explains the winner anew where an earlier version did not.
    """
    kept = kept_of(engine, job.id)
    explanation, withheld = explained_job(engine, job, result)
    result = result.model_copy(
        update={"explanation": explanation, "explanation_withheld": withheld}
    )
    outcome = outcome_view(job, result, kept)
    return replace(
        outcome,
        proof=[outcome.told[name] for name in _PROOF],
        measurable=explanation is not None and explanation.measured is None,
        front=_front(engine, job.id, result, kept["fitness"]),
        applied=_applied(job, result, kept) if kept["options"] else [],
    )


def _applied(job: JobRow, result: Result, kept: Mapping[str, Any]) -> list[Section]:
    own, options = result.job.baseline_options, kept["options"]
    diff = options_diff(job, result, options)
    steps = steps_of(
        [line.change for line in diff], parse_options(options), application_steps(options)
    )
    files = [
        (f"Changes to your own file: {DIFFERENCE}", difference_of(own, options)),
        (OPTIONS, options),
        (f"Fewest changes: {MINIMAL}", kept["minimal"]),
    ]
    found = (
        difference_section(result, diff, steps),
        apply_section(steps),
        file_section(result, files),
    )
    return [section.numbered(job.id) for section in found]


def _front(engine: Engine, job_id: int, result: Result, fitness: Mapping[int, float]) -> Section:
    """The fittest of the Pareto front, and how many more there are; none with one metric."""
    names = result.terms
    numbers = result.pareto if len(names) > 1 else []
    shown = fittest(numbers, fitness)
    points = {number: metrics for number, _, metrics in JobStore(engine).points(job_id, shown)}
    return front_section(numbers, points, names, fitness)


_made = JobCache[Sequence[Chart]]()


def front_charts(engine: Engine, job: JobRow, result: Result) -> Sequence[Chart]:
    """The plots; points are thinned, those of the front are always drawn."""
    return _made.of(engine, job.id, job.updated_at, lambda: _drawn(engine, job, result))


def _drawn(engine: Engine, job: JobRow, result: Result) -> Sequence[Chart]:
    course = job_series_of(engine, job)
    if course is None:
        return []
    new = [trial.number for trial in course.trials if trial.purpose is Purpose.CANDIDATE]
    points = {number: course.metrics[number] for number in new}
    kept = points.keys() - course.breaking
    terms = course.objective.terms
    growth = [(step.trial, step.value) for step in result.hypervolume]
    last = max((trial.number for trial in course.runs), default=0)
    front = front_chart(points, kept, set(result.pareto), terms, again=course.repeats)
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


def _dependence_sections(known: Dependence | None, sizes: Collection[str]) -> list[Section]:
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


def _curves(known: Dependence, sizes: Collection[str]) -> list[Chart]:
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


_known = JobCache[Dependence | None](alone=True)


def dependence_of_job(engine: Engine, job: JobRow) -> Dependence | None:
    """What its trials teach so far; of many, some evenly over the job.

    None while they are too few, or teach nothing at all.
    """
    standing = job.standing or {}
    state = (job.run, standing.get("done"), standing.get("failed"), job.state)
    return _known.of(engine, job.id, state, lambda: _learned(engine, job))


def _learned(engine: Engine, job: JobRow) -> Dependence | None:
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


Explained = tuple[Explanation | None, dict[str, Any] | None]
_made_anew = JobCache[Explained](alone=True)


def explained_job(engine: Engine, job: JobRow, result: Result) -> Explained:
    """Its ``explanation`` and ``explanation_withheld``; made anew of an earlier version's."""
    if result.best is None:
        return None, None
    if "explanation" in result.model_fields_set:  # one that an earlier version made stays
        return result.explanation, result.explanation_withheld
    return _made_anew.of(engine, job.id, job.updated_at, lambda: _anew(engine, job, result))


def _anew(engine: Engine, job: JobRow, result: Result) -> Explained:
    best, verdict = result.best, result.verdict
    if best is None or verdict is None or verdict.low is None or verdict.high is None:
        return None, None
    problem = _problem(job, result.baseline.configuration)
    evaluation = Evaluation(problem, History(JobStore(engine).trials(job.id)))
    explain = partial(explained, low=verdict.low, high=verdict.high)
    return fitted(explain, evaluation, best.configuration)


_RANKS = 12
_ALIKE = ("workload", "space", "objective", "baseline", "host", "rocksdb")


@dataclass(frozen=True)
class SideBySideRow:
    """A row of a table with a column for each job."""

    name: str  # what it tells
    values: tuple[Any, ...]  # one for each job; None: it has none

    @property
    def differs(self) -> bool:
        """Whether not all of the jobs that have a value have the same."""
        return len({str(value) for value in self.values if value is not None}) > 1


def side_by_side(
    jobs: Sequence[tuple[JobRow, Mapping[str, Any] | None]],
) -> dict[str, Sequence[SideBySideRow] | Sequence[str]]:
    """Compares jobs, each with its result, or None where it has none yet: all that the page tells.

    ``facts`` are what was asked for and where it was measured, ``changes`` and ``baselines`` by
    metric those of each job, ``ranks`` by parameter, the most important first. ``cautions`` say
    why figures of different columns may not be comparable.
    """
    results = [Result.read(document) if document else None for _, document in jobs]
    columns = [_fact(row, result) for (row, _), result in zip(jobs, results, strict=True)]
    facts = [SideBySideRow(name, tuple(each[name] for each in columns)) for name in columns[0]]
    apart = ", ".join(row.name for row in facts if row.name in _ALIKE and row.differs)
    caution = (
        f"The jobs differ in {apart}: compare their changes against their own baselines, not "
        "their figures."
    )
    return {
        "facts": facts,
        "cautions": [caution] if apart else [],
        "changes": _metrics(
            results, lambda result: result.verdict.change if result.verdict else {}
        ),
        "baselines": _metrics(results, lambda each: each.baseline.metrics),
        "options": _options(results),
        "ranks": _ranks(results),
    }


def _fact(row: JobRow, result: Result | None) -> dict[str, Any]:
    asked, standing = row.specification, row.standing or {}
    environment = row.environment or {}
    own = "an OPTIONS file" if asked.get("baseline_options") else asked.get("baseline")
    if asked.get("column_family"):
        own = f"{own}, column family {asked['column_family']}"
    proven = "nothing" if result else "not yet"
    if result and result.best and result.verdict:
        proven = f"{result.verdict.tested_fitness:.0f}"
    return {
        "state": row.state.value,
        "workload": asked["workload"]["name"],
        "space": asked["space"]["name"],
        "objective": asked["objective"]["name"],
        "strategy": asked["strategy"],
        "baseline": own or "the space's own",
        "seed": asked["seed"],
        "trials": standing.get("done", 0) + standing.get("failed", 0),
        "host": environment.get("host"),
        "rocksdb": environment.get("rocksdb"),
        "fitness proven": proven,
    }


def _metrics(
    results: Sequence[Result | None], figures: Callable[[Result], Mapping[str, Any]]
) -> list[SideBySideRow]:
    names = dict.fromkeys(term for result in results if result for term in result.terms)
    known = [figures(result) if result else {} for result in results]
    rows = [SideBySideRow(name, tuple(each.get(name) for each in known)) for name in names]
    return [row for row in rows if any(value is not None for value in row.values)]


def _options(results: Sequence[Result | None]) -> list[SideBySideRow]:
    """What some job changed, with the value of each: its best one's, or else its baseline's."""
    known = catalogue()
    ends = [
        (result.baseline.configuration, result.best.configuration)
        if result and result.best
        else None
        for result in results
    ]
    changed = dict.fromkeys(
        name
        for start, best in filter(None, ends)
        for name, value in best.items()
        if start.get(name) != value
    )

    def said(name: str, start: Mapping[str, Any], best: Mapping[str, Any]) -> str:
        same = " (baseline)" if best.get(name) == start.get(name) else ""
        return value_words(best.get(name), known.get(name)) + same

    return [
        SideBySideRow(name, tuple(each and said(name, *each) for each in ends)) for name in changed
    ]


def _ranks(results: Sequence[Result | None]) -> list[SideBySideRow]:
    ranks = [
        {row.name: row.rank for row in result.parameters} if result else {} for result in results
    ]
    names = dict.fromkeys(name for each in ranks for name in each)
    first = sorted(names, key=lambda n: min(each[n] for each in ranks if n in each))[:_RANKS]
    return [SideBySideRow(name, tuple(each.get(name) for each in ranks)) for name in first]
