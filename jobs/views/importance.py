"""What matters in a job: its ranking in rows and plots, and what its trials show of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine

from db.schema.job_row import JobRow
from db.trials.trial_rows import sampled_trials
from jobs.charts.chart import Chart
from jobs.charts.dependence import dependence_chart, pair_effect_chart
from jobs.charts.groups import groups_chart, questions
from jobs.charts.importance import (
    LEAST_R2,
    by_models,
    forests_r2,
    importance_chart,
    model_effects_chart,
    ranked_r2,
)
from jobs.charts.ranking_stability import sampling_chart, stability_chart
from jobs.views.models import dependence_of_job
from optimizer.ranking.dependence import Dependences, Together
from sampler.parameters.catalogue import catalogue
from sampler.space.space_file import space_from_document
from sampler.workload.metric_units import BYTES, metric_unit

_UNKNOWN = -math.inf


def importance_view(found: Mapping[str, Any], metric: str | None) -> dict[str, Any]:
    """All that the page tells but for its plots of single trials.

    Args:
        found: ``result.json``, or a ranking of a job that goes on.
        metric: By which the parameters are sorted; None: by all of them, as the job ranks.
    """
    parameters = sorted(found["parameters"], key=lambda row: row["rank"])
    metrics, modelled = list(found["forest"]), by_models(found)
    r2, forests = ranked_r2(found), forests_r2(found)
    learned = any(
        value is not None and (not modelled or value >= LEAST_R2) for value in forests.values()
    )
    draws = found.get("sampling") or {}
    return {
        "metrics": metrics,
        "modelled": modelled,
        "learned": learned,
        "rows": _sorted(parameters, metric, modelled),
        "help": {row["name"]: _help(row["name"]) for row in parameters},
        "anova": _anova(parameters, metric),
        "quality": [_quality(found, name, modelled) for name in metrics],
        "unsure": [name for name, value in r2.items() if value is not None and value < LEAST_R2],
        "least_r2": LEAST_R2,
        "steady": _steady(parameters, metrics),
        "charts": _charts(found, parameters, metrics, modelled, learned),
        "sampling": draws,
    }


def _charts(
    found: Mapping[str, Any],
    parameters: Sequence[Mapping[str, Any]],
    metrics: Sequence[str],
    modelled: bool,
    learned: bool,
) -> dict[str, list[Chart]]:
    drawn: dict[str, list[Chart | None]] = {
        "models": [
            model_effects_chart(name, parameters, model)
            for name, model in found.get("models", {}).items()
            if modelled
        ],
        "forests": [
            importance_chart(name, parameters, forest)
            for name, forest in found["forest"].items()
            if learned
        ],
        "stability": [
            stability_chart(parameters, metrics) if learned else None,
            sampling_chart(found.get("sampling") or {}),
        ],
    }
    return {name: [chart for chart in charts if chart] for name, charts in drawn.items()}


def _sorted(
    parameters: Sequence[Mapping[str, Any]], metric: str | None, modelled: bool
) -> list[Mapping[str, Any]]:
    if metric is None:
        return list(parameters)
    kind, figure = ("model", "total") if modelled else ("importance", "permutation")

    def weight(row: Mapping[str, Any]) -> float:
        value = (row.get(kind) or {}).get(metric, {}).get(figure)
        return _UNKNOWN if value is None else float(value)

    return sorted(parameters, key=lambda row: -weight(row))


def _anova(parameters: Sequence[Mapping[str, Any]], metric: str | None) -> list[dict[str, Any]]:
    """The tests that could be made, the smallest p first."""
    rows = [
        {"parameter": row["name"], "metric": name, **test}
        for row in parameters
        for name, test in row["anova"].items()
        if metric in (None, name) and test.get("p") is not None
    ]
    return sorted(rows, key=lambda row: row["p"])


def _quality(found: Mapping[str, Any], metric: str, modelled: bool) -> dict[str, Any]:
    """How well a metric was learned, and how stable its order is."""
    forest = found["forest"][metric]
    model = found.get("models", {}).get(metric, {}) if modelled else {}
    return {
        "metric": metric,
        "forest_r2": forest.get("r2_cross_validated"),
        "forest_r2_std": forest.get("r2_cross_validated_std"),
        "forest_trials": forest.get("trials", 0),
        "kendall_tau": forest.get("kendall_tau"),
        "model_r2": model.get("r2_cross_validated"),
        "model_trials": model.get("trials"),
        "model_noise": model.get("noise"),
    }


def _steady(
    parameters: Sequence[Mapping[str, Any]], metrics: Sequence[str]
) -> dict[str, list[str]]:
    """By metric, the parameters that are among its five most important in every resample."""
    return {
        metric: [
            row["name"]
            for row in parameters
            if row["importance"].get(metric, {}).get("rank_high", math.inf) <= 5
        ]
        for metric in metrics
    }


def _help(name: str) -> str:
    known = catalogue().get(name)
    return known.help if known else ""


_MOST_TRIALS = 5000  # box plots of more show nothing else
_PARAMETERS = 6
_PAIRS_DRAWN, _LEAST_DRAWN = 4, 0.005
_PAIRS_TOLD = 10


@dataclass(frozen=True)
class ImportanceDetails:
    """What is learned from trials one by one.

    Attributes:
        boxes: Of the two most and the two least important parameters.
        dependence: Of the parameters that make most of the variance.
        pairs: Of the strongest pairs.
        told: The pairs in rows, the strongest first.
        trials: How many the models have learned from; None: they know too little.
        unexplained: By metric, the share of the variance of the trials that is noise to them.
    """

    boxes: Sequence[Chart]
    dependence: Sequence[Chart]
    pairs: Sequence[Chart]
    told: Sequence[Together]
    trials: int | None
    unexplained: Mapping[str, float]


def importance_details(
    engine: Engine, job: JobRow, found: Mapping[str, Any], *, learned: bool
) -> ImportanceDetails:
    """The plots.

    Args:
        engine: The database.
        job: Whose trials are drawn.
        found: ``result.json``, or a ranking of a job that goes on.
        learned: Whether its forests and tests say anything.
    """
    boxes = _boxes(engine, job, found) if learned else []
    known = dependence_of_job(engine, job)
    if known is None:
        return ImportanceDetails(boxes, [], [], [], None, {})
    sizes = {
        each.name: each.scaled
        for each in space_from_document(job.specification["space"]).parameters
    }
    drawn = [pair for pair in known.pairs if pair.share >= _LEAST_DRAWN][:_PAIRS_DRAWN]
    return ImportanceDetails(
        boxes=boxes,
        dependence=_curves(known, sizes),
        pairs=[_pair(known, pair, sizes) for pair in drawn],
        told=known.pairs[:_PAIRS_TOLD],
        trials=known.trials,
        unexplained=known.unexplained,
    )


def _curves(known: Dependences, sizes: Mapping[str, bool]) -> list[Chart]:
    total: dict[str, float] = {}
    for curve in known.curves:
        total[curve.parameter] = total.get(curve.parameter, 0.0) + curve.share
    first = sorted(total, key=lambda name: -total[name])[:_PARAMETERS]
    metrics = list(known.unexplained)  # a metric has the same colour in every plot
    curves = sorted(known.curves, key=lambda curve: metrics.index(curve.metric))
    drawn = [
        dependence_chart(
            name,
            [curve for curve in curves if curve.parameter == name],
            known.settings[name],
            is_bytes=sizes.get(name, False),
        )
        for name in first
    ]
    return [chart for chart in drawn if chart is not None]


def _pair(known: Dependences, pair: Together, sizes: Mapping[str, bool]) -> Chart:
    one, other = pair.parameters
    values = (known.settings[one], known.settings[other])
    return pair_effect_chart(
        pair, values, is_bytes=(sizes.get(one, False), sizes.get(other, False))
    )


def _boxes(engine: Engine, job: JobRow, found: Mapping[str, Any]) -> list[Chart]:
    trials, _ = sampled_trials(engine, job.id, most=_MOST_TRIALS)
    parameters = sorted(found["parameters"], key=lambda row: row["rank"])
    space = space_from_document(job.specification["space"]).by_name
    drawn = [
        groups_chart(asked, trials, _unit(asked.metric)) for asked in questions(parameters, space)
    ]
    return [chart for chart in drawn if chart is not None]


def _unit(metric: str) -> str:
    unit = metric_unit(metric)
    return f", {'bytes' if unit == BYTES else unit}" if unit else ""
