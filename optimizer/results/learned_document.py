"""What a job has learned about its parameters, as a document: by its models where it has any."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.importance.ranking import MetricRanking, ParameterRanking
from optimizer.evaluation.evaluation import Evaluation
from optimizer.ranking.parameter_effects import (
    Direction,
    ParameterEffects,
    directions,
)
from optimizer.strategies.strategy import Strategy
from optimizer.trials.problem import Problem


def _parameters(problem: Problem, ranking: ParameterRanking) -> list[dict[str, Any]]:
    index = {name: i for i, name in enumerate(ranking.names)}
    rows = []
    for rank, name in enumerate(ranking.order, start=1):
        place = index[name]
        parameter = problem.space.by_name[name]
        rows.append(
            {
                "name": name,
                "rank": rank,
                "share": float(ranking.importance[place]),
                "workload_factor": parameter.section == "workload",
                "searched": name not in problem.space.unsearched,
                "importance": {
                    metric: _importance(found, place)
                    for metric, found in ranking.metrics.items()
                    if found.importance is not None
                },
                "anova": {
                    metric: _anova(found, name) for metric, found in ranking.metrics.items()
                },
            }
        )
    return rows


def _importance(metric: MetricRanking, place: int) -> dict[str, Any]:
    importance, stability = metric.importance, metric.stability
    assert importance is not None
    found = {
        "mdi": importance.mdi,
        "permutation": importance.permutation_mean,
        "permutation_std": importance.permutation_std,
    }
    if stability is not None:
        names = ("rank_low", "rank_high", "top_k_frequency")
        found |= {name: getattr(stability, name) for name in names}
    return {name: float(values[place]) for name, values in found.items()}


def _anova(metric: MetricRanking, name: str) -> dict[str, Any]:
    test = metric.anova[name]
    return {
        "f": test.f,
        "p": test.p,
        "p_holm": metric.p_holm[name],
        "eta_squared": test.eta_squared,
        "groups": [
            {"label": label, "mean": float(mean), "size": int(size)}
            for label, mean, size in zip(test.labels, test.means, test.sizes, strict=True)
        ],
    }


FORESTS, MODELS = "forests", "models"
# A parameter surely matters to a metric where the p-value of no effect, corrected, is below this,
# and it surely makes so much of the variance: a likelihood finds ever smaller effects.
SURE, LEAST_SHARE = 0.05, 0.01
_BY_PARAMETER = ("total", "low", "high", "alone", "p", "p_holm")  # fields of MetricEffects


def learned_document(evaluation: Evaluation, strategy: Strategy) -> dict[str, Any]:
    """A part of result.json.

    ``importance``, ``anova`` and ``forest`` are always of the draws alone. Of a strategy that is
    guided by models ``rank`` and ``share`` are theirs, learned from all trials, and each parameter
    has its ``model``.

    Args:
        evaluation: The trials so far; a run of the baseline has ended well.
        strategy: How.

    Returns:
        ``parameters``, the most important first; ``forest`` and ``models`` by metric;
        ``ranked_by``: ``forests`` or ``models``.
    """
    problem = evaluation.problem
    ranking = evaluation.ranking()
    document: dict[str, Any] = {"parameters": _parameters(problem, ranking), "forest": {}}
    for name, metric in ranking.metrics.items():
        forest, stability = metric.forest, metric.stability
        document["forest"][name] = {
            "r2": forest.r2_split if forest else None,
            "r2_cross_validated": forest.r2_cross_validated if forest else None,
            "r2_cross_validated_std": forest.r2_cross_validated_std if forest else None,
            "trials": forest.n_trials if forest else 0,
            "kendall_tau": stability.kendall_tau if stability else None,
        }
    effects = strategy.effects(evaluation)
    if effects is None:
        return document | {"models": {}, "ranked_by": FORESTS}
    toward = directions(evaluation, effects)
    rows = {row["name"]: row for row in document["parameters"]}
    return document | {
        "parameters": [
            rows[name] | {"rank": rank} | _row(effects, name, toward.get(name))
            for rank, name in enumerate(effects.order, start=1)
        ],
        "models": {
            name: {"r2_cross_validated": each.r2, "noise": each.noise, "trials": each.trials}
            for name, each in effects.metrics.items()
        },
        "ranked_by": MODELS,
    }


def surely_matters(effects: ParameterEffects) -> NDArray[np.bool_]:
    """Which parameters matter to some metric beyond doubt, in the order of ``effects.names``."""
    each = [(m.p_holm < SURE) & (m.low >= LEAST_SHARE) for m in effects.metrics.values()]
    return np.asarray(np.any(each, axis=0))


def _row(effects: ParameterEffects, name: str, toward: Direction | None) -> dict[str, Any]:
    place = effects.names.index(name)
    model = {
        metric: {name: float(getattr(found, name)[place]) for name in _BY_PARAMETER}
        for metric, found in effects.metrics.items()
        if math.isfinite(found.p[place])
    }
    return {
        "share": float(effects.share[place]),
        "model": model,
        "matters": bool(surely_matters(effects)[place]),
        "better": toward.better if toward else None,
        "gain": toward.gain if toward else None,
    }
