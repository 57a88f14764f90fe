"""What a report says: the figures and plots of a finished job, from what is stored of it.

Results of earlier versions lack some parts; theirs are left out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from jobs.charts.changes import changes
from jobs.charts.chart import Chart
from jobs.charts.contributions import contributions
from jobs.charts.convergence import convergence, noise_of
from jobs.charts.drift import drift
from jobs.charts.fitness_terms import fitness_terms
from jobs.charts.front import Points, front
from jobs.charts.front_growth import front_growth
from jobs.charts.fronts_of_two import fronts_of_two
from jobs.charts.groups import Question, groups, questions
from jobs.charts.importance import LEAST_R2, importance
from jobs.charts.learned import by_models, forests_r2, ranked_r2
from jobs.charts.memory import best_within, memory
from jobs.charts.model_effects import model_effects
from jobs.charts.parallel import parallel
from jobs.charts.sampling import sampling
from jobs.charts.stability import stability
from jobs.report.contribution_rows import contribution_lines, contribution_rows
from jobs.report.explanation_rows import explanation_rows
from jobs.report.limit_rows import limit_rows, limits_asked
from jobs.report.proof_rows import UNITS, proof_rows
from jobs.report.report_phases import phase_rows
from jobs.report.report_power import detectable
from jobs.report.warm_start_lines import warm_start_lines
from jobs.results.explanation_words import withheld_words
from jobs.results.finished import Finished
from jobs.results.option_changes import carried_apart, option_changes
from optimizer.baseline.baseline import Baseline, summarise
from optimizer.budget.confirm_load import confirmation_words
from optimizer.evaluation.configurations import each_once, replicated
from optimizer.evaluation.pareto_front import Front, front_of, measured, within_limits
from optimizer.objective.objective import Objective, Term
from optimizer.trials.trial import Phase, Trial
from sampler.parameters.catalogue import catalogue
from sampler.parameters.parameter import Parameter
from sampler.space.space_file import space_from_document

_SHORT = {"time": ", s", "rate": ", ops/s", "waf": ", ratio", "sa": ", ratio"}
_FRONT_ROWS = 12


def content(finished: Finished) -> dict[str, Any]:
    """All that the page's template asks for."""
    result, trials, fitness = finished.result, finished.trials, finished.fitness
    job, verdict = result["job"], result["verdict"]
    terms = [_term(row) for row in job["objective"]["metric"]]
    names = [term.metric for term in terms]
    searched = _searched(trials, result)
    baseline = _baseline(searched)
    objective = Objective("", tuple(terms), tuple(limits_asked(job["objective"])))
    points = measured(baseline, trials) if baseline else {}
    kept = within_limits(objective, baseline.metrics, points) if baseline else {}
    breaking = points.keys() - kept.keys()
    on_front = front_of(objective, baseline, trials) if baseline else Front((), ())
    compared = proof_rows(result, names)
    power = detectable(result)
    parameters = _parameters(result)
    modelled, r2, forests = by_models(result), ranked_r2(result), forests_r2(result)
    # Beside models, forests of a few draws are shown only if they say anything.
    least = LEAST_R2 if modelled else -math.inf
    learned = any(value is not None and value >= least for value in forests.values())
    ranked = [row["name"] for row in parameters]
    winner = verdict["trial"] if verdict else None
    budget = job.get("memory") or result["baseline"]["metrics"].get("memory")
    level = baseline.metrics.get("memory") if baseline else None
    configurations, mean = each_once(trials, fitness)
    allowed = {number: value for number, value in mean.items() if number not in breaking}
    repeats = len(replicated(trials))
    pairs = fronts_of_two(points, kept, again=repeats)
    charts: list[Chart | None] = [
        changes([(row["metric"], row["change"]) for row in compared], terms, power),
        contributions(result.get("explanation")),
        fitness_terms(names, *_terms(result, terms, trials, baseline)),
        memory(configurations, allowed, baseline=level, budget=budget, winner=winner),
        convergence(configurations, mean, breaking=breaking, baselines=searched, again=repeats),
        stability(parameters, names) if learned else None,
        sampling(result.get("sampling") or {}),
        parallel(configurations, mean, ranked, byte_sized=_byte_sized(ranked)),
        front(points, kept, on_front.numbers, terms, again=repeats),
        *pairs,
        front_growth(on_front.growth, terms, max((t.number for t in trials), default=0)),
        drift(searched, baseline, names) if baseline else None,
    ]
    return {
        "result": result,
        "job": job,
        "best": result["best"],
        "verdict": verdict,
        "terms": terms,
        "rows": compared,
        "limits": limit_rows(result),
        "power": {m: power[m] for m in names if m in power},
        "power_fitness": (result.get("power") or {}).get("fitness"),
        "power_level": (result.get("power") or {}).get("level", 0.8),
        "changes": option_changes(result),
        "explained": explanation_rows(result, names),
        "withheld": withheld_words(result),
        "charts": {chart.name: chart for chart in charts if chart},
        "effects": _each(
            model_effects(m, parameters, f) for m, f in result.get("models", {}).items()
        ),
        "modelled": modelled,
        "idle": [row["name"] for row in parameters if row.get("model") and not row["matters"]],
        "forests": forests,
        "importances": _each(importance(m, parameters, f) for m, f in result["forest"].items()),
        "boxes": _each(
            groups(question, trials, _SHORT.get(question.metric, ""))
            for question in _questions(parameters, job)
        )
        if learned
        else [],
        "contributed": _contributed(result),
        "two_metrics": [chart.name for chart in pairs],
        "parameters": parameters[:15],
        "learned": learned,
        "r2": r2,
        "unsure": [m for m, value in r2.items() if value is not None and value < LEAST_R2],
        "least_r2": LEAST_R2,
        "within": best_within(configurations, allowed, level) if level else None,
        "noise_of_fitness": noise_of(searched, fitness),
        "confirmation": confirmation_words(result.get("confirmation")),
        "front": _front(on_front, points, names, mean),
        "phases": phase_rows(trials, result),
        "given": sum(trial.given for trial in trials),
        "warm_start": warm_start_lines(result),
        "failures": _failures(trials),
        "warnings": Counter(w for trial in trials for w in trial.warnings).most_common(20),
        "noise": {m: n for m, n in result["baseline"]["noise"].items() if m in (*names, *UNITS)},
        "sampling": result.get("sampling") or {},
        "options": finished.options,
        "minimal": finished.minimal,
        "apart": carried_apart(result),
    }


def _contributed(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """What each parameter gained, of a strategy that varies one after the other."""
    found = result.get("contributions")
    if not found:
        return None
    return {
        "rows": contribution_rows(found),
        "metrics": list(found["steps"][0]["change"]) if found["steps"] else [],
        "lines": contribution_lines(found),
    }


def _each(charts: Any) -> list[Chart]:
    return [chart for chart in charts if chart is not None]


def _term(row: Mapping[str, Any]) -> Term:
    return Term(row["name"], row["direction"], row.get("weight", 1.0))


def _searched(trials: Sequence[Trial], result: Mapping[str, Any]) -> Sequence[Trial]:
    """The trials that measured the load of the search; the confirmation may have a larger one."""
    if result.get("confirmation") is None:
        return trials
    return [trial for trial in trials if trial.phase is not Phase.CONFIRM]


def _baseline(trials: Sequence[Trial]) -> Baseline | None:
    runs = [trial for trial in trials if trial.is_baseline]
    return summarise(runs) if any(run.done for run in runs) else None


def _terms(
    result: Mapping[str, Any],
    terms: Sequence[Term],
    trials: Sequence[Trial],
    baseline: Baseline | None,
) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """The terms of the candidate in the proof, and in the run that found it."""
    verdict = result["verdict"]
    if verdict is None:
        return {}, {}
    objective = Objective("", tuple(terms))
    proven = objective.gains(verdict["metrics"], result["baseline"]["metrics"])
    first = next((t for t in trials if t.number == verdict["trial"] and t.done), None)
    if first is None or baseline is None:
        return proven, {}
    metrics = baseline.corrected(first.metrics, first.started_at, first.host)
    found = objective.gains(metrics, baseline.metrics)
    return proven, found if found.keys() == proven.keys() else {}


def _parameters(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return sorted(result["parameters"], key=lambda row: row["rank"])


def _questions(parameters: Sequence[Mapping[str, Any]], job: Mapping[str, Any]) -> list[Question]:
    known = space_from_document(job["space"]).by_name
    return [
        Question(q.parameter, q.metric, q.top, q.anova, *_kind(known.get(q.parameter)))
        for q in questions(parameters)
    ]


def _kind(parameter: Parameter | None) -> tuple[tuple[Any, ...], bool]:
    """The parameter's special values, and whether its values are bytes."""
    return (parameter.special, parameter.scaled) if parameter else ((), False)


def _byte_sized(names: Sequence[str]) -> frozenset[str]:
    known = catalogue()
    return frozenset(name for name in names if name in known and known[name].scaled)


def _front(
    front: Front, points: Points, names: Sequence[str], fitness: Mapping[int, float]
) -> dict[str, Any]:
    """The fittest of the Pareto front, and how many more there are."""
    found = sorted(front.numbers, key=lambda number: -fitness.get(number, 0.0))
    rows = [
        {
            "number": number,
            "fitness": fitness.get(number),
            "metrics": [points[number].get(name) for name in names],
        }
        for number in found[:_FRONT_ROWS]
    ]
    return {"rows": rows, "more": len(found) - len(rows)}


def _failures(trials: Sequence[Trial]) -> list[tuple[tuple[str, str], int]]:
    """(state, first line of the reason) with the number of trials, most often first."""
    counts = Counter(
        (trial.state.value, (trial.failure.splitlines() or [""])[0][:200])
        for trial in trials
        if trial.failure
    )
    return counts.most_common()
