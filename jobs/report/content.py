"""What a report says: the sections of a finished job, from what is stored of it.

Results of earlier versions lack some parts; theirs are left out.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.charts import parameters, series, trade_offs
from jobs.charts.chart import Chart, drawable
from jobs.report.course import (
    environment_section,
    failures_section,
    hosts_section,
    noise_section,
    phases_section,
)
from jobs.report.option_changes import (
    apply_section,
    file_section,
    outside_lines,
    steps_of_best,
    steps_table,
)
from jobs.report.ranking import boxes_section, ranking_sections, top_section
from jobs.report.section import Block, Section, Text
from jobs.report.sections import front_section, sections
from jobs.report.verdict import terms_section
from jobs.results.figures import figure
from jobs.results.outcome import JobOutcome
from jobs.results.output_folder import FULLEST, MINIMAL, OPTIONS
from optimizer.baseline.baseline import Baseline, summarise
from optimizer.budget.budget import confirmation_words
from optimizer.evaluation.evaluation import (
    Front,
    each_once,
    front_of,
    measured,
    replicated,
    within_limits,
)
from optimizer.results.document import Result
from optimizer.trials.trial import Phase, Trial
from sampler.common.byte_size import format_bytes
from sampler.parameters.catalogue import catalogue
from sampler.space.space_file import space_from_document

_MOST_RANKED = 15  # rows of the tables of parameters
_FRONT = ("trade", "changed", "reasons", "beside", "next")
_BASELINES = {"library": "RocksDB's defaults", "db_bench": "db_bench's defaults"}


def content(finished: JobOutcome) -> dict[str, Any]:
    """All that the page's template draws: what decides, and an appendix."""
    result = Result.read(finished.result)
    job, told = result.job, sections(result)
    asked = (job["workload"]["name"], job["space"]["name"], job["objective"]["name"])
    appendix = [
        *(told[name] for name in ("proof", "limits", "path", "contributed")),
        *_sections_of_trials(finished, result),
        environment_section(result.environment),
        *(_file_sections(finished, result) if finished.options else ()),
    ]
    return {
        "title": f"{asked[0]}, {asked[1]}",
        "heading": "{}: {} space, {} objective".format(*asked),
        "intro": _intro(result),
        "verdict": told["verdict"],
        "open": result.best is None,
        "warnings": result.environment.get("warnings") or (),
        "front": [each for each in (*(told[name] for name in _FRONT), top_section(result))
                  if each.blocks],
        "appendix": [section for section in appendix if section.blocks],
    }  # fmt: skip


def _intro(result: Result) -> str:
    """What was asked for, in a few sentences."""
    job, load = result.job, result.job["workload"]
    lines = [f"{load.get('help') or 'Your own benchmark'}."]
    if settle := load.get("settle"):
        scale = job.get("scale") or load.get("scale")
        whole = f"with 1/{scale} of the data and of the byte-sized options"
        where = confirmation_words(result.confirmation) or (
            f"Measured {'at full scale' if scale == 1 else whole}"
        )
        waits = "all compactions finished" if settle == "wait" else (
            "pending compactions are not counted"
        )  # fmt: skip
        lines.append(f"{where}; {waits} (settle = {settle}).")
    minutes = result.time.get("wall_seconds", 0.0) / 60
    lines.append(
        f"Strategy {job['strategy']}, seed {job['seed']}, {result.trials.get('total', 0)} runs "
        f"in {minutes:.0f} min."
    )
    own = job.get("baseline") or job["space"].get("baseline", "library")
    file = "your OPTIONS file" if job.get("baseline_options") else _BASELINES.get(own, own)
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
    space = space_from_document(result.job["space"]).by_name
    byte_sized = frozenset(name for name, each in catalogue().items() if each.is_bytes)
    configurations, mean = each_once(trials, fitness)
    allowed = {number: value for number, value in mean.items() if number not in breaking}
    repeats = len(replicated(trials))
    level = baseline.metrics.get("memory") if baseline else None
    memory = trade_offs.memory_chart(
        configurations,
        allowed,
        baseline=level,
        budget=result.job.get("memory") or result.baseline.metrics.get("memory"),
        winner=winner,
    )
    within = trade_offs.best_within(configurations, allowed, level) if level else None
    convergence = series.convergence_chart(
        configurations, mean, breaking=breaking, baselines=searched, again=repeats
    )
    boxes = parameters.box_charts(result, space, trials) if result.forests_learned else []
    order = [row.name for row in result.sorted_by(None)]
    parallel = parameters.parallel_chart(configurations, mean, order, byte_sized=byte_sized)
    front = [
        trade_offs.front_chart(points, kept, on_front.numbers, terms, again=repeats),
        trade_offs.front_growth_chart(
            on_front.growth, terms, max((t.number for t in trials), default=0)
        ),
    ]
    pairs = drawable(trade_offs.two_metric_front_charts(points, kept, again=repeats))
    drift = series.drift_chart(searched, baseline, names) if baseline else None
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
        noise_section(result, series.noise_of_fitness(searched, fitness), drift),
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
