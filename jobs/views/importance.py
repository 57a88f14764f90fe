"""What matters in a job: its ranking in rows and plots, and what its trials show of it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Engine

from db.schema.job_row import JobRow
from db.trials.trial_rows import sampled_trials
from jobs.charts.chart import Chart, drawable
from jobs.charts.importance import (
    importance_chart,
    ranking_content,
    sampling_chart,
    shares_charts,
    stability_chart,
)
from jobs.charts.parameters import dependence_chart, groups_chart, pair_effect_chart, questions
from jobs.results.ranking_words import first_share, shown_first
from jobs.views.models import dependence_of_job
from optimizer.ranking.dependence import Dependences, Together
from sampler.parameters.catalogue import catalogue
from sampler.space.space_file import space_from_document
from sampler.workload.metric_units import BYTES, metric_unit


def importance_view(found: Mapping[str, Any], metric: str | None) -> dict[str, Any]:
    """All that the page tells but for its plots of single trials.

    ``found`` is ``result.json``, or a ranking of a job that goes on. Parameters are sorted by the
    metric; None: by all of them, as the job ranks.
    """
    parameters = sorted(found["parameters"], key=lambda row: row["rank"])
    metrics, ranking, known = list(found["forest"]), ranking_content(found), catalogue()
    return {
        "metrics": metrics,
        **ranking,
        "rows": _sorted(found, parameters, metric, ranking["modelled"]),
        "help": {
            name: known[name].help if name in known else ""
            for name in (row["name"] for row in parameters)
        },
        "anova": _anova(parameters, metric, in_order=ranking["anova_ranks"]),
        "quality": [_quality(found, name, ranking["modelled"]) for name in metrics],
        # The parameters that are among the five most important in every resample.
        "steady": {
            name: [
                row["name"]
                for row in parameters
                if row["importance"].get(name, {}).get("rank_high", math.inf) <= 5
            ]
            for name in metrics
        },
        "charts": _charts(found, parameters, metrics, ranking),
    }


def _charts(
    found: Mapping[str, Any],
    parameters: Sequence[Mapping[str, Any]],
    metrics: Sequence[str],
    ranking: Mapping[str, Any],
) -> dict[str, list[Chart]]:
    forests = found["forest"] if ranking["learned"] else {}
    stable = stability_chart(parameters, metrics) if ranking["learned"] else None
    return {
        "models": shares_charts(found, parameters) if ranking["modelled"] else [],
        "forests": drawable(importance_chart(m, parameters, f) for m, f in forests.items()),
        "stability": drawable([stable, sampling_chart(ranking["sampling"])]),
    }


def _sorted(
    found: Mapping[str, Any],
    parameters: Sequence[Mapping[str, Any]],
    metric: str | None,
    modelled: bool,
) -> list[Mapping[str, Any]]:
    if metric is None:
        return list(parameters)

    def less(row: Mapping[str, Any]) -> float:
        if modelled:
            value = first_share(found, row, metric).get("total")
        else:
            value = row["importance"].get(metric, {}).get("permutation")
        return math.inf if value is None else -value

    return sorted(parameters, key=less)


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
    """How well a metric was learned, and how stable its order is."""
    forest = found["forest"][metric]
    model = found.get("models", {}).get(metric, {}) if modelled else {}
    return {
        "metric": metric,
        "first": shown_first(found, metric),
        "forest_r2": forest.get("r2_cross_validated"),
        "forest_r2_std": forest.get("r2_cross_validated_std"),
        "forest_trials": forest.get("trials", 0),
        "kendall_tau": forest.get("kendall_tau"),
        "model_r2": model.get("r2_cross_validated"),
        "model_trials": model.get("trials"),
        "model_noise": model.get("noise"),
    }


_MOST_TRIALS = 5000  # box plots of more show nothing else
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
    boxes = _boxes(engine, job, found) if learned else []
    known = dependence_of_job(engine, job)
    if known is None:
        return {"boxes": boxes, "trials": None}
    sizes = {
        each.name: each.is_bytes
        for each in space_from_document(job.specification["space"]).parameters
    }
    drawn = [pair for pair in known.pairs if pair.share >= _LEAST_DRAWN][:_PAIRS_DRAWN]
    return {
        "boxes": boxes,
        "dependence": _curves(known, sizes),
        "pairs": [_pair(known, pair, sizes) for pair in drawn],
        "told": known.pairs[:_PAIRS_TOLD],
        "trials": known.trials,
        "unexplained": known.unexplained,
    }


def _curves(known: Dependences, sizes: Mapping[str, bool]) -> list[Chart]:
    total: dict[str, float] = {}
    for curve in known.curves:
        total[curve.parameter] = total.get(curve.parameter, 0.0) + curve.share
    first = sorted(total, key=lambda name: -total[name])[:_PARAMETERS]
    metrics = list(known.unexplained)  # a metric has the same colour in every plot
    curves = sorted(known.curves, key=lambda curve: metrics.index(curve.metric))
    return drawable(
        dependence_chart(
            name,
            [curve for curve in curves if curve.parameter == name],
            known.settings[name],
            is_bytes=sizes.get(name, False),
        )
        for name in first
    )


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
    return drawable(
        groups_chart(asked, trials, _unit(asked.metric)) for asked in questions(parameters, space)
    )


def _unit(metric: str) -> str:
    unit = metric_unit(metric)
    return f", {'bytes' if unit == BYTES else unit}" if unit else ""
