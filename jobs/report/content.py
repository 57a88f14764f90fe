"""What a report says: the figures and plots of a finished job, from what is stored of it.

Results of earlier versions lack some parts; theirs are left out.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jobs.charts import importance, parameters, series, trade_offs
from jobs.charts.chart import Chart, drawable
from jobs.report.changed import warm_start_lines
from jobs.report.sections import front_section, sections
from jobs.report.verdict import terms_section
from jobs.results.option_changes import steps_of_best, values_outside_file
from jobs.results.outcome import JobOutcome
from jobs.results.ranking_words import ranked_r2
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
from optimizer.evaluation.machine_effect import machine_words
from optimizer.results.document import Result
from optimizer.strategies.registry import find_strategy
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.common.errors import InputError
from sampler.parameters.catalogue import catalogue
from sampler.space.space_file import space_from_document
from sampler.workload.metric_table import MACHINE, shown_in


def content(finished: JobOutcome) -> dict[str, Any]:
    """All that the page's template asks for."""
    document, trials, fitness = finished.result, finished.trials, finished.fitness
    result = Result.read(document)
    job, objective, names = result.job, result.objective, result.terms
    terms, winner = objective.terms, result.verdict.trial if result.verdict else None
    noted = {*names, *shown_in("batch", "proof"), *MACHINE}
    searched = trials
    if result.confirmation is not None:  # of another load than that of the search
        searched = [trial for trial in trials if trial.phase is not Phase.CONFIRM]
    runs = [trial for trial in searched if trial.is_baseline]
    baseline = summarise(runs) if any(run.done for run in runs) else None
    points = measured(baseline, trials) if baseline else {}
    kept = within_limits(objective, baseline.metrics, points) if baseline else {}
    breaking = points.keys() - kept.keys()
    on_front = front_of(objective, baseline, trials) if baseline else Front((), ())
    ranked = sorted(document["parameters"], key=lambda row: row["rank"])
    ranking = importance.ranking_content(document)
    learned = ranking["learned"]
    order = [row["name"] for row in ranked]
    byte_sized = frozenset(name for name, each in catalogue().items() if each.is_bytes)
    budget = job.get("memory") or result.baseline.metrics.get("memory")
    level = baseline.metrics.get("memory") if baseline else None
    configurations, mean = each_once(trials, fitness)
    allowed = {number: value for number, value in mean.items() if number not in breaking}
    repeats = len(replicated(trials))
    pairs = trade_offs.two_metric_front_charts(points, kept, again=repeats)
    charts: list[Chart | None] = [
        trade_offs.memory_chart(
            configurations, allowed, baseline=level, budget=budget, winner=winner
        ),
        series.convergence_chart(
            configurations, mean, breaking=breaking, baselines=searched, again=repeats
        ),
        importance.stability_chart(ranked, names) if learned else None,
        importance.sampling_chart(ranking["sampling"]),
        parameters.parallel_chart(configurations, mean, order, byte_sized=byte_sized),
        *pairs,
        series.drift_chart(searched, baseline, names) if baseline else None,
    ]
    front = [
        trade_offs.front_chart(points, kept, on_front.numbers, terms, again=repeats),
        trade_offs.front_growth_chart(
            on_front.growth, terms, max((t.number for t in trials), default=0)
        ),
    ]
    numbers = on_front.numbers if len(terms) > 1 else ()
    return {
        "result": document,
        "job": job,
        "told": sections(result),
        "terms_section": terms_section(result, _terms_found(result, trials, baseline)),
        "front": front_section(numbers, points, names, mean, drawable(front)),
        "confirmation": confirmation_words(result.confirmation),
        "apart": values_outside_file(document),
        "terms": terms,
        "charts": {chart.name: chart for chart in drawable(charts)},
        "effects": importance.shares_charts(document, ranked),
        "idle": [row["name"] for row in ranked if row.get("model") and not row["matters"]],
        "forests": importance.forests_r2(document),
        "importances": drawable(
            importance.importance_chart(m, ranked, f) for m, f in document["forest"].items()
        ),
        "boxes": drawable(
            parameters.groups_chart(question, trials)
            for question in parameters.questions(ranked, space_from_document(job["space"]).by_name)
            if learned
        ),
        "two_metrics": [chart.name for chart in pairs],
        "parameters": ranked[:15],
        "r2": ranked_r2(document),
        **ranking,
        "within": trade_offs.best_within(configurations, allowed, level) if level else None,
        "fitness": mean,
        "noise_of_fitness": series.noise_of_fitness(searched, fitness),
        "phases": phase_rows(trials, document),
        "given": sum(trial.given for trial in trials),
        "warm_start": warm_start_lines(result),
        "failures": _failures(trials),
        "warnings": Counter(w for trial in trials for w in trial.warnings).most_common(20),
        "noise": {m: n for m, n in result.baseline.noise.items() if m in noted},
        "machine": machine_words(result.machine),
        "options": finished.options,
        "apply": steps_of_best(document, finished.options) if finished.options else None,
        "meanings": {each.key: each.help for each in catalogue().values()},
        "minimal": finished.minimal,
        "fullest": finished.fullest,
    }


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


def _failures(trials: Sequence[Trial]) -> list[tuple[tuple[str, str], int]]:
    """(state, first line of the reason) with the number of trials, most often first."""
    counts = Counter(
        (trial.state.value, (trial.failure.splitlines() or [""])[0][:200])
        for trial in trials
        if trial.failure
    )
    return counts.most_common()


@dataclass(frozen=True)
class PhaseRow:
    """One phase of a job, with one line each on why it began and ended."""

    name: str
    # began, ended: of its first and its last trial; None where no time is known
    began: datetime | None
    ended: datetime | None
    runs: int  # how many trials it has
    why_begun: str
    why_ended: str


def phase_rows(trials: Sequence[Trial], result: Mapping[str, Any]) -> list[PhaseRow]:
    """The phases in their order; the ranking, which runs nothing, between draws and search.

    Trials that were given, measured before the job, are left out.
    """
    own = [trial for trial in trials if not trial.given]
    runs = {phase: mine for phase in Phase if (mine := [t for t in own if t.phase is phase])}
    known, guided = sum(trial.done for trial in runs.get(Phase.BASELINE, ())), _guided(result)
    begun = {
        Phase.BASELINE: "every trial is compared with the baseline",
        Phase.SAMPLE: f"the baseline was measured ({known} runs); random ones cover the space",
        Phase.SEARCH: "the models propose configurations, and learn from every trial"
        if guided
        else "the ranking selects the parameters to search",
        Phase.CONFIRM: "the best single runs may be luck, so they are repeated with the baseline",
    }
    rows = []
    for phase, mine in runs.items():
        if phase is Phase.SEARCH:
            names = ", ".join(row["name"] for row in result["parameters"][:5])
            what = (
                "the models learned from the random ones"
                if guided
                else "the parameters are ranked"
            )
            why = f"{what}; most important at the end of the job: {names}"
            span = (_span(runs.get(Phase.SAMPLE, ()))[1], _span(mine)[0])
            rows.append(
                PhaseRow(
                    Phase.RANK.value, *span, 0, "all random configurations were measured", why
                )
            )
        why = _why_ended(phase, runs, result)
        rows.append(PhaseRow(phase.value, *_span(mine), len(mine), begun[phase], why))
    return rows


def _guided(result: Mapping[str, Any]) -> bool:
    try:
        return find_strategy(result["job"]["strategy"]).has_models
    except InputError:  # one whose libraries are not installed here
        return False


def _span(trials: Sequence[Trial]) -> tuple[datetime | None, datetime | None]:
    began = [trial.started_at for trial in trials if trial.started_at]
    ended = [trial.finished_at for trial in trials if trial.finished_at]
    return min(began, default=None), max(ended, default=None)


def _why_ended(
    phase: Phase, runs: Mapping[Phase, Sequence[Trial]], result: Mapping[str, Any]
) -> str:
    """``runs`` are the trials of each phase, in their order."""
    mine = runs[phase]
    if phase is Phase.BASELINE:
        return f"the first {len(mine)} runs were measured"
    if phase is Phase.CONFIRM:
        purposes = Counter(trial.purpose for trial in mine)
        well = sum(trial.done for trial in mine if trial.purpose is Purpose.PROVE)
        chosen = f"{purposes[Purpose.SELECT]} runs chose the winner"
        return f"{chosen}, {well} of {purposes[Purpose.PROVE]} proof runs succeeded"
    if phase is Phase.SAMPLE and Phase.SEARCH in runs:
        draws = sum(trial.purpose is Purpose.CANDIDATE for trial in mine)
        why = (result.get("sampling") or {}).get("why")
        return str(why) if why else f"the sampling budget, {draws} configurations, was used"
    search = result.get("search")
    if search and search["saved"]:
        return str(search["why"])
    own, last = [trial for each in runs.values() for trial in each], phase is [*runs][-1]
    ended = _explored_as_planned(own, result, last=last)
    return f"{ended}; {search['why']}" if search else ended


def _explored_as_planned(own: Sequence[Trial], result: Mapping[str, Any], *, last: bool) -> str:
    explored, repeats = sum(t.purpose is Purpose.CANDIDATE for t in own), len(replicated(own))
    new = explored - repeats
    job, planned = result["job"], (result.get("plan") or {}).get("explore")
    unproven = "; nothing could be confirmed" if last else ""
    if planned is None:
        return f"{new} new configurations were tried{unproven}"
    if explored >= planned:
        twice = f", {repeats} of it to repeat doubtful results" if repeats else ""
        return f"the budget for new configurations, {planned}, was used{twice}{unproven}"
    search = job.get("search") or {}
    if any(search.get(name) for name in ("stop_early", "generations", "fitness")):
        return f"the search stopped early, as its settings allow, after {new} configurations"
    if job.get("minutes") is not None:
        return "the remaining time was needed for the confirmation"
    return f"{new} of {planned} planned configurations were tried{unproven}"
