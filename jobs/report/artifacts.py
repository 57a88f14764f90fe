"""What a finished job leaves: OPTIONS.ini, result.json, trials.csv and its report.

The report is one page that needs nothing else, once its plots' library is in it. Beside
OPTIONS.ini lies OPTIONS.minimal.ini where fewer changes do as well, OPTIONS.full.ini where it is
a simplified version of another candidate, and OPTIONS.diff where it is a file of the user's.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from db.schema.job_row import JobRow
from jobs.charts import parameters
from jobs.charts import trials as of_trials
from jobs.charts.chart import Chart, drawable
from jobs.report.course import (
    environment_section,
    failures_section,
    hosts_section,
    noise_section,
    phases_section,
)
from jobs.report.options_file import (
    apply_section,
    describe,
    describe_fullest,
    describe_minimal,
    file_section,
    outside_lines,
    steps_of_best,
    steps_table,
)
from jobs.report.ranking import boxes_section, ranking_sections
from jobs.report.section import Block, Section, Text
from jobs.report.sections import front_section, sections, top_section
from jobs.report.trial_export import trials_csv
from jobs.report.verdict import terms_section
from jobs.results.export import ExportRefusedError, difference_of
from jobs.results.figures import figure
from jobs.results.fits import JobCache
from jobs.results.outcome import JobOutcome, job_outcome, kept_report
from jobs.results.output_folder import (
    DIFFERENCE,
    FULLEST,
    MINIMAL,
    OPTIONS,
    REPORT,
    RESULT,
    TRIALS,
    json_text,
)
from jobs.results.pages import document_html, whole_page
from jobs.specification.specification import Specification
from optimizer.budget.budget import confirmation_words
from optimizer.evaluation.baseline import Baseline, summarise
from optimizer.evaluation.evaluation import (
    Front,
    each_once,
    front_of,
    measured,
    replicated,
    within_limits,
)
from optimizer.results.document import Export, Result
from optimizer.results.result import Conclusion, fitness_by_trial, job_result
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Phase, Trial
from sampler.common.atomic_write import atomic_write
from sampler.common.errors import InputError
from sampler.common.text import format_bytes
from sampler.rocksdb.application import application_names
from sampler.rocksdb.parameters import catalogue
from sampler.space.space import Configuration
from sampler.space.space_file import space_from_document

_made_anew = JobCache[str]()


def conclude_job(
    specification: Specification,
    problem: Problem,
    conclusion: Conclusion,
    environment: Mapping[str, Any],
    *,
    export: Callable[[Configuration, list[str]], str],
    tried: bool,
) -> JobOutcome:
    """The result and the OPTIONS file.

    ``export`` writes the file of a configuration, with lines of comment at its top; ``tried`` says
    whether a real RocksDB loads it there. Where RocksDB does not take the file, or not as
    intended, the outcome has none, and the result's ``export`` says why and holds its text. Else
    it names what the program sets itself.
    """
    result = job_result(conclusion, job=specification.document(), environment=environment)
    options = minimal = fullest = None
    if best := result.best:
        try:
            options = export(best.configuration, describe(problem, result, tried=tried))
        except ExportRefusedError as refused:  # what was measured is worth as much without it
            exported = Export(refused=str(refused), options=refused.text)
        else:
            exported = Export(application=application_names(specification.baseline_options))
        result = result.model_copy(update={"export": exported})
    if fewer := result.explanation and result.explanation.fewer:
        try:
            text = describe_minimal(problem, result, tried=tried)
            minimal = export(fewer.configuration, text)
        except ExportRefusedError as refused:  # it was never measured, and the best file stands
            result = result.refusing_minimal(str(refused))
    if full := result.best and result.best.fullest:
        with suppress(ExportRefusedError):
            text = describe_fullest(problem, result, tried=tried)
            fullest = export(full.configuration, text)
    fitness, trials = fitness_by_trial(conclusion), tuple(conclusion.history)
    return JobOutcome(result.document(), options, fitness, trials, minimal, fullest)


def report_html(finished: JobOutcome) -> str:
    """The page, with a place for what draws its plots."""
    return document_html("report.html", **content(finished))


def report_of_job(engine: Engine, job: JobRow) -> bytes:
    """The page of a finished job; a KeyError of one without a result."""
    kept = kept_report(engine, job.id)
    if kept is None:
        kept = _made_anew.of(
            engine, job.id, job.updated_at, lambda: report_html(job_outcome(engine, job.id))
        )
    return whole_page(kept)


REFUSED = "OPTIONS.refused.ini"  # what RocksDB did not take, for whoever looks for the reason


def write_artifacts(finished: JobOutcome, out: Path) -> list[Path]:
    """Writes the files, each whole or not at all; returns those that are there.

    Where nothing was proven better there is no OPTIONS file, and those of an earlier job go. Where
    one cannot be written, an InputError, nothing is lost: they are made of what the database has.
    """
    result = Result.read(finished.result)
    files: dict[str, str | bytes | None] = {
        OPTIONS: finished.options,
        DIFFERENCE: difference_of(result.job.baseline_options, finished.options),
        MINIMAL: finished.minimal,
        FULLEST: finished.fullest,
        REFUSED: result.export.options,
        RESULT: json_text(finished.result),
        TRIALS: trials_csv(finished.trials, finished.fitness),
        REPORT: whole_page(report_html(finished)),
    }
    try:
        for name, text in files.items():
            if text is None:
                (out / name).unlink(missing_ok=True)
            else:
                atomic_write(out / name, text)
        return [out / name for name, text in files.items() if text is not None]
    except OSError as error:
        problem = f"cannot write to {str(out)!r}: {error.strerror or error}"
        raise InputError("out", f"{problem}; all that was measured is kept") from None


_MOST_RANKED = 15  # rows of the tables of parameters
_FRONT = ("trade", "changed", "reasons", "beside", "next")
_BASELINES = {"library": "RocksDB's defaults", "db_bench": "db_bench's defaults"}


def content(finished: JobOutcome) -> dict[str, Any]:
    """All that the page's template draws: what decides, and an appendix."""
    result = Result.read(finished.result)
    job, told = result.job, sections(result)
    asked = (job.workload.name, job.space["name"], job.objective["name"])
    appendix = [
        *(told[name] for name in ("proof", "limits", "path", "contributed")),
        *_sections_of_trials(finished, result),
        environment_section(result.environment.document()),
        *(_file_sections(finished, result) if finished.options else ()),
    ]
    return {
        "title": f"{asked[0]}, {asked[1]}",
        "heading": "{}: {} space, {} objective".format(*asked),
        "intro": _intro(result),
        "verdict": told["verdict"],
        "open": result.best is None,
        "warnings": result.environment.warnings,
        "front": [each for each in (*(told[name] for name in _FRONT), top_section(result))
                  if each.blocks],
        "appendix": [section for section in appendix if section.blocks],
    }  # fmt: skip


def _intro(result: Result) -> str:
    """What was asked for, in a few sentences."""
    job, load = result.job, result.job.workload
    lines = [f"{load.help or 'Your own benchmark'}."]
    if load.settle:
        whole = f"with 1/{job.ran_scale} of the data and of the byte-sized options"
        where = confirmation_words(result.confirmation) or (
            f"Measured {'at full scale' if job.ran_scale == 1 else whole}"
        )
        waits = "all compactions finished" if load.settle == "wait" else (
            "pending compactions are not counted"
        )  # fmt: skip
        lines.append(f"{where}; {waits} (settle = {load.settle}).")
    lines.append(
        f"Strategy {job.strategy}, seed {job.seed}, {result.trials.total} runs "
        f"in {result.time.wall_seconds / 60:.0f} min."
    )
    own = job.baseline or job.space.get("baseline", "library")
    file = "your OPTIONS file" if job.baseline_options else _BASELINES.get(own, own)
    return " ".join([*lines, f"Baseline: {file}."])


def _file_sections(finished: JobOutcome, result: Result) -> list[Section]:
    """How the changes are applied, and the files."""
    steps = steps_of_best(result, finished.options or "")
    files = [
        (OPTIONS, finished.options),
        (f"All changes, not proven: {FULLEST}", finished.fullest),
        (f"Fewest changes: {MINIMAL}", finished.minimal),
    ]
    applied = apply_section(steps, steps_table(steps))
    outside = [Text(line) for line in outside_lines(result)]
    return [
        Section(applied.name, applied.title, [*applied.blocks, *outside]),
        file_section(result, files, folded=False),
    ]


def _sections_of_trials(finished: JobOutcome, result: Result) -> list[Section]:
    """What the trials themselves show, and the ranking that rests on them."""
    trials, fitness, objective = finished.trials, finished.fitness, result.objective
    names, terms, searched = result.terms, objective.terms, trials
    winner = result.verdict.trial if result.verdict else None
    if result.confirmation is not None:  # of another load than that of the search
        searched = [trial for trial in trials if trial.phase is not Phase.CONFIRM]
    runs = [trial for trial in searched if trial.is_baseline]
    baseline = summarise(runs) if any(run.done for run in runs) else None
    points = measured(baseline, trials) if baseline else {}
    kept = within_limits(objective, baseline.metrics, points) if baseline else {}
    breaking = points.keys() - kept.keys()
    on_front = front_of(objective, baseline, trials) if baseline else Front((), ())
    space = space_from_document(result.job.space).by_name
    byte_sized = frozenset(name for name, each in catalogue().items() if each.is_bytes)
    configurations, mean = each_once(trials, fitness)
    allowed = {number: value for number, value in mean.items() if number not in breaking}
    repeats = len(replicated(trials))
    level = baseline.metrics.get("memory") if baseline else None
    proved = result.baseline.metrics
    memory = of_trials.memory_chart(
        configurations,
        allowed,
        baseline=level,
        budget=result.job.memory or proved.get("memory"),
        winner=winner,
    )
    within = of_trials.best_within(configurations, allowed, level) if level else None
    convergence = of_trials.convergence_chart(
        configurations, mean, breaking=breaking, baselines=searched, again=repeats
    )
    boxes = parameters.box_charts(result, space, trials) if result.forests_learned else []
    order = [row.name for row in result.sorted_by(None)]
    parallel = parameters.parallel_chart(configurations, mean, order, byte_sized=byte_sized)
    front = [
        of_trials.front_chart(points, kept, on_front.numbers, terms, again=repeats),
        of_trials.front_growth_chart(
            on_front.growth, terms, max((t.number for t in trials), default=0)
        ),
    ]
    pairs = drawable(of_trials.two_metric_front_charts(points, kept, again=repeats))
    drift = of_trials.drift_chart(searched, baseline, names) if baseline else None
    ranking = [*ranking_sections(result, most=_MOST_RANKED), boxes_section(boxes)]
    return [
        terms_section(result, _terms_found(result, trials, baseline)),
        Section("memory", "Fitness versus memory", _memory_blocks(memory, within, mean)),
        Section("convergence", "Convergence", drawable([convergence])),
        *(ranking if result.by_models or result.forests_learned else ()),
        Section("parallel", "Parallel coordinates", drawable([parallel])),
        front_section(
            on_front.numbers if len(terms) > 1 else (), points, names, mean, drawable(front)
        ),
        Section("two-metrics", "Throughput, latency and CPU use",
                [Text(_TWO_METRICS), *pairs] if pairs else []),
        phases_section(result, trials),
        failures_section(trials),
        noise_section(result, of_trials.noise_of_fitness(searched, fitness), drift),
        hosts_section(result),
    ]  # fmt: skip


_TWO_METRICS = (
    "Pareto fronts of two metrics, whatever the objective: explored, not proven. For the highest "
    'throughput within a service level: `rocktune pick ID --slo "write_p99 <= 340 us"`.'
)


def _memory_blocks(
    chart: Chart | None, within: Trial | None, fitness: Mapping[int, float]
) -> list[Block]:
    if chart is None:
        return []
    line = "" if within is None else (
        f"The best single run within the baseline's memory is trial {within.number}: fitness "
        f"{figure(fitness[within.number])} with {format_bytes(within.metrics['memory'])}."
    )  # fmt: skip
    return [Text(line), chart] if line else [chart]


def _terms_found(
    result: Result, trials: Sequence[Trial], baseline: Baseline | None
) -> dict[str, float]:
    """What each metric added to the fitness in the single run that found the winner."""
    winner = result.verdict.trial if result.verdict else None
    first = next((t for t in trials if t.number == winner and t.done), None)
    if first is None or baseline is None:
        return {}
    metrics = baseline.corrected(first.metrics, first.started_at, first.host)
    found = result.objective.gains(metrics, baseline.metrics)
    return found if len(found) == len(result.terms) else {}
