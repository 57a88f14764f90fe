"""What matters in a job: its ranking, and what models of its trials say when they are asked.

What is made anew stays in memory, not in the database: to read it changes nothing.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import orjson
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.schema.job_row import JobRow
from db.trials.trial_rows import sampled_trials
from jobs.charts import importance, parameters
from jobs.charts.chart import Chart, drawable
from jobs.results.fits import JobCache, fitted
from jobs.results.ranking_words import first_share, reliable, shown_first
from jobs.specification.resolved_job import resolve_stored
from optimizer.evaluation.evaluation import Evaluation
from optimizer.explanation.explanation import NOTHING_EXPLAINED, explanation_document
from optimizer.surrogate.parameter_effects import Dependences, dependences
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Purpose
from sampler.parameters.catalogue import catalogue
from sampler.parameters.parameter import Parameter
from sampler.space.space_file import space_from_document


def importance_view(found: Mapping[str, Any], metric: str | None) -> dict[str, Any]:
    """All that the page tells but for its plots of single trials.

    ``found`` is ``result.json``, or a ranking of a job that goes on. Parameters are sorted by the
    metric; None: by all of them, as the job ranks.
    """
    rows = sorted(found["parameters"], key=lambda row: row["rank"])
    metrics, ranking, known = list(found["forest"]), importance.ranking_content(found), catalogue()
    modelled, forests = ranking["modelled"], found["forest"] if ranking["learned"] else {}
    stable = importance.stability_chart(rows, metrics) if forests else None
    return {
        "metrics": metrics,
        **ranking,
        "rows": rows if metric is None else _sorted(found, rows, metric, modelled),
        "help": {row["name"]: getattr(known.get(row["name"]), "help", "") for row in rows},
        "anova": _anova(rows, metric, in_order=ranking["anova_ranks"]),
        "quality": [_quality(found, name, modelled) for name in metrics],
        "steady": {m: [row["name"] for row in rows if reliable(row, m)] for m in metrics},
        "charts": {
            "models": importance.shares_charts(found, rows) if modelled else [],
            "forests": drawable(
                importance.importance_chart(m, rows, forest) for m, forest in forests.items()
            ),
            "stability": drawable([stable, importance.sampling_chart(ranking["sampling"])]),
        },
    }


def _sorted(
    found: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], metric: str, modelled: bool
) -> list[Mapping[str, Any]]:
    def less(row: Mapping[str, Any]) -> float:
        if modelled:
            value = first_share(found, row, metric).get("total")
        else:
            value = row["importance"].get(metric, {}).get("permutation")
        return math.inf if value is None else -value

    return sorted(rows, key=less)


def _anova(
    parameters: Sequence[Mapping[str, Any]], metric: str | None, *, in_order: bool
) -> list[dict[str, Any]]:
    """The tests that could be made, the smallest p first where there are draws enough to rank."""
    rows = [
        {"parameter": row["name"], "metric": name, **test}
        for row in parameters
        for name, test in row["anova"].items()
        if metric in (None, name) and test.get("p") is not None
    ]
    return sorted(rows, key=lambda row: row["p"]) if in_order else rows


def _quality(found: Mapping[str, Any], metric: str, modelled: bool) -> dict[str, Any]:
    forest = found["forest"][metric]
    model = found.get("models", {}).get(metric, {}) if modelled else {}
    return {
        "metric": metric,
        "first": shown_first(found, metric),
        "forest_r2": forest.get("r2_cross_validated"),
        "forest_r2_std": forest.get("r2_cross_validated_std"),
        "forest_trials": forest.get("trials", 0),
        "kendall_tau": model.get("kendall_tau", forest.get("kendall_tau")),
        "model_r2": model.get("r2_cross_validated"),
        "model_trials": model.get("trials"),
        "model_noise": model.get("noise"),
    }


_MOST_BOXED = 5000  # trials that are read; box plots of more show nothing else
_MOST_TAUGHT = 2000  # of these the models take the best and others evenly, 300 at most
_PARAMETERS = 6
_PAIRS_DRAWN, _LEAST_DRAWN = 4, 0.005
_PAIRS_TOLD = 10


def importance_details(
    engine: Engine, job: JobRow, found: Mapping[str, Any], *, learned: bool
) -> dict[str, Any]:
    """What is learned from trials one by one, of ``result.json`` or of a ranking so far.

    Plots of the most and least important parameters (``boxes``, where forests and tests say
    something), of those that make most of the variance and of the strongest pairs, which are also
    ``told`` in rows. ``trials`` is how many the models have learned from, None if they know too
    little; ``unexplained`` by metric the share of the variance that is noise to them.
    """
    space = space_from_document(job.specification["space"]).by_name
    boxes = _boxes(engine, job, found, space) if learned else []
    known = dependence_of_job(engine, job)
    if known is None:
        return {"boxes": boxes, "trials": None}
    sizes = {name for name, each in space.items() if each.is_bytes}
    drawn = [pair for pair in known.pairs if pair.share >= _LEAST_DRAWN][:_PAIRS_DRAWN]
    pairs = [(pair, *pair.parameters) for pair in drawn]
    return {
        "boxes": boxes,
        "dependence": _curves(known, sizes),
        "pairs": [
            parameters.pair_effect_chart(
                pair,
                (known.settings[one], known.settings[other]),
                is_bytes=(one in sizes, other in sizes),
            )
            for pair, one, other in pairs
        ],
        "told": known.pairs[:_PAIRS_TOLD],
        "trials": known.trials,
        "unexplained": known.unexplained,
    }


def _curves(known: Dependences, sizes: set[str]) -> list[Chart]:
    total: dict[str, float] = {}
    for curve in known.curves:
        total[curve.parameter] = total.get(curve.parameter, 0.0) + curve.share
    first = sorted(total, key=lambda name: -total[name])[:_PARAMETERS]
    metrics = list(known.unexplained)  # a metric has the same colour in every plot
    curves = sorted(known.curves, key=lambda curve: metrics.index(curve.metric))
    mine = {name: [curve for curve in curves if curve.parameter == name] for name in first}
    return drawable(
        parameters.dependence_chart(name, each, known.settings[name], is_bytes=name in sizes)
        for name, each in mine.items()
    )


def _boxes(
    engine: Engine, job: JobRow, found: Mapping[str, Any], space: Mapping[str, Parameter]
) -> list[Chart]:
    trials, _ = sampled_trials(engine, job.id, most=_MOST_BOXED)
    rows = sorted(found["parameters"], key=lambda row: row["rank"])
    asked = parameters.questions(rows, space)
    return drawable(parameters.groups_chart(each, trials) for each in asked)


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
