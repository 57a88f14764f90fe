"""What was learned about the parameters, as a document: a part of result.json."""

from __future__ import annotations

from typing import Any

from models.importance.ranking import MetricRanking, Ranking
from optimizer.trials.problem import Problem


def ranking_document(problem: Problem, ranking: Ranking) -> dict[str, Any]:
    """``parameters``, the most important first, and ``forest`` by metric; unknown is null."""
    return {
        "parameters": _parameters(problem, ranking),
        "forest": {name: _forest(metric) for name, metric in ranking.metrics.items()},
    }


def _parameters(problem: Problem, ranking: Ranking) -> list[dict[str, Any]]:
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
    found: dict[str, Any] = {
        "mdi": float(importance.mdi[place]),
        "permutation": float(importance.permutation_mean[place]),
        "permutation_std": float(importance.permutation_std[place]),
    }
    if stability is not None:
        found |= {
            "rank_low": float(stability.rank_low[place]),
            "rank_high": float(stability.rank_high[place]),
            "top_k_frequency": float(stability.top_k_frequency[place]),
        }
    return found


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


def _forest(metric: MetricRanking) -> dict[str, Any]:
    forest, stability = metric.forest, metric.stability
    return {
        "r2": forest.r2_split if forest else None,
        "r2_cross_validated": forest.r2_cross_validated if forest else None,
        "r2_cross_validated_std": forest.r2_cross_validated_std if forest else None,
        "trials": forest.n_trials if forest else 0,
        "kendall_tau": stability.kendall_tau if stability else None,
    }
