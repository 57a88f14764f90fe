"""What a job has learned about its parameters, as a document: by forests, processes and tests."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.anova import AnovaResult, smallest_share
from models.importance import ForestImportance
from optimizer.evaluation.evaluation import Evaluation
from optimizer.surrogate.parameter_effects import (
    Direction,
    ParameterEffects,
    directions,
    parameter_effects,
)


def _anova(test: AnovaResult) -> dict[str, Any]:
    told = ("f", "p", "p_holm", "eta_squared", "omega_squared")
    return {name: getattr(test, name) for name in told} | {
        "groups": [
            {"label": label, "mean": float(mean), "size": int(size)}
            for label, mean, size in zip(test.labels, test.means, test.sizes, strict=True)
        ]
    }


FORESTS, MODELS = "forests", "models"
# A parameter surely matters to a metric where the p-value of no effect, corrected, is below this,
# and it surely makes so much of the variance: a likelihood finds ever smaller effects.
SURE, LEAST_SHARE = 0.05, 0.01
_BY_PARAMETER = ("total", "low", "high", "alone", "p", "p_holm")  # fields of MetricEffects
_BY_FOREST = ("mdi", "permutation", "permutation_std")
_BY_ORDER = ("rank_low", "rank_high", "top_k_frequency")  # of its stability
# An analysis of variance of fewer draws ranks nothing; it says the smallest share of the variance
# that it could have seen between so many groups.
LEAST_DRAWS, _GROUPS = 30, 4


def learned_document(evaluation: Evaluation) -> dict[str, Any]:
    """A part of result.json; a run of the baseline has ended well.

    A process and a forest learn each metric from all trials: ``model`` and ``importance`` of each
    parameter. ``rank`` and ``share`` are by the process. ``anova`` is of the genuine draws alone.

    Returns:
        ``parameters``, the most important first; ``forest``, ``models`` and ``shown_first``
        (``process``; earlier versions chose between the two) by metric; ``anova_power``;
        ``ranked_by``: ``models``, or ``forests`` where too few trials have ended for any, so that
        nothing is ranked.
    """
    problem, (draws, tested) = evaluation.problem, evaluation.draw_tests()
    effects = parameter_effects(evaluation)
    toward = directions(evaluation, effects) if effects else {}
    metrics = effects.metrics if effects else {}
    forests = effects.forests if effects else {}
    rows = []
    for rank, name in enumerate(effects.order if effects else problem.space.names, start=1):
        row: dict[str, Any] = {
            "name": name,
            "rank": rank,
            "share": 0.0,
            "workload_factor": problem.space.by_name[name].section == "workload",
            "searched": name not in problem.space.unsearched,
            "importance": {},
            "anova": {metric: _anova(found[name]) for metric, found in tested.items()},
        }
        rows.append(row | (_row(effects, name, toward.get(name)) if effects else {}))
    return {
        "parameters": rows,
        "anova_power": {
            "draws": draws,
            "least": LEAST_DRAWS,
            "groups": _GROUPS,
            "smallest_share": smallest_share(draws, groups=_GROUPS),
        },
        "forest": {name: _forest(forests.get(name)) for name in metrics or tested},
        "models": {
            name: {
                "r2_cross_validated": each.r2,
                "noise": each.noise,
                "trials": each.trials,
                "kendall_tau": each.stability.kendall_tau,
            }
            for name, each in metrics.items()
        },
        "shown_first": dict.fromkeys(metrics, "process"),
        "ranked_by": MODELS if effects else FORESTS,
    }


def _forest(found: ForestImportance | None) -> dict[str, Any]:
    return {
        "r2": found.r2 if found else None,
        "r2_cross_validated": found.r2 if found else None,
        "r2_cross_validated_std": found.r2_std if found else None,
        "trials": found.trials if found else 0,
    }


def surely_matters(effects: ParameterEffects) -> NDArray[np.bool_]:
    """Which parameters matter to some metric beyond doubt, in the order of ``effects.names``."""
    each = [(m.p_holm < SURE) & (m.low >= LEAST_SHARE) for m in effects.metrics.values()]
    return np.asarray(np.any(each, axis=0))


def _row(effects: ParameterEffects, name: str, toward: Direction | None) -> dict[str, Any]:
    place = effects.names.index(name)
    model = {
        metric: {name: float(getattr(found, name)[place]) for name in _BY_PARAMETER}
        | {name: float(getattr(found.stability, name)[place]) for name in _BY_ORDER}
        for metric, found in effects.metrics.items()
        if math.isfinite(found.p[place])
    }
    moves = name in effects.moving
    importance = {
        metric: {figure: float(getattr(found, figure)[place]) for figure in _BY_FOREST}
        for metric, found in effects.forests.items()
        if moves
    }
    return {
        "share": float(effects.share[place]),
        "model": model,
        "importance": importance,
        "matters": bool(surely_matters(effects)[place]),
        "better": toward.better if toward else None,
        "gain": toward.gain if toward else None,
    }
