"""What matters in a job, from its ranking: rows and plots that need none of its trials."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from jobs.charts.chart import Chart
from jobs.charts.importance import LEAST_R2, importance
from jobs.charts.learned import by_models, forests_r2, ranked_r2
from jobs.charts.model_effects import model_effects
from jobs.charts.sampling import sampling
from jobs.charts.stability import stability
from sampler.parameters.catalogue import catalogue

_UNKNOWN = -math.inf


def matters(found: Mapping[str, Any], metric: str | None) -> dict[str, Any]:
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
            model_effects(name, parameters, model)
            for name, model in found.get("models", {}).items()
            if modelled
        ],
        "forests": [
            importance(name, parameters, forest)
            for name, forest in found["forest"].items()
            if learned
        ],
        "stability": [
            stability(parameters, metrics) if learned else None,
            sampling(found.get("sampling") or {}),
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
