"""What a job has learned about its parameters, as a document: by its models where it has any."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optimizer.evaluation.knowledge import ranking_of
from optimizer.ranking.parameter_direction import Direction, directions
from optimizer.ranking.parameter_effects import MetricEffects, ParameterEffects
from optimizer.results.ranking_document import ranking_document
from optimizer.strategies.strategy import LearnsEffects, Strategy
from optimizer.trials.history import History
from optimizer.trials.problem import Problem

FORESTS, MODELS = "forests", "models"
# A parameter surely matters to a metric where the p-value of no effect, corrected, is below this,
# and it surely makes so much of the variance: a likelihood finds ever smaller effects.
SURE, LEAST_SHARE = 0.05, 0.01


def learned_document(problem: Problem, strategy: Strategy, history: History) -> dict[str, Any]:
    """A part of result.json.

    ``importance``, ``anova`` and ``forest`` are always of the draws alone. Of a strategy that is
    guided by models ``rank`` and ``share`` are theirs, learned from all trials, and each parameter
    has its ``model``.

    Args:
        problem: What is tuned.
        strategy: How.
        history: The trials so far; a run of the baseline has ended well.

    Returns:
        ``parameters``, the most important first; ``forest`` and ``models`` by metric;
        ``ranked_by``: ``forests`` or ``models``.
    """
    document = ranking_document(problem, ranking_of(problem, history))
    effects = strategy.effects(problem, history) if isinstance(strategy, LearnsEffects) else None
    if effects is None:
        return document | {"models": {}, "ranked_by": FORESTS}
    toward = directions(problem, history, effects)
    rows = {row["name"]: row for row in document["parameters"]}
    return document | {
        "parameters": [
            rows[name] | {"rank": rank} | _row(effects, name, toward.get(name))
            for rank, name in enumerate(effects.order, start=1)
        ],
        "models": {name: _metric(found) for name, found in effects.metrics.items()},
        "ranked_by": MODELS,
    }


def surely_matters(effects: ParameterEffects) -> NDArray[np.bool_]:
    """Which parameters matter to some metric beyond doubt, in the order of ``effects.names``."""
    each = [(m.p_holm < SURE) & (m.low >= LEAST_SHARE) for m in effects.metrics.values()]
    return np.asarray(np.any(each, axis=0))


def _row(effects: ParameterEffects, name: str, toward: Direction | None) -> dict[str, Any]:
    place = effects.names.index(name)
    model = {
        metric: _effect(found, place)
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


def _effect(found: MetricEffects, place: int) -> Mapping[str, float]:
    return {
        "total": float(found.total[place]),
        "low": float(found.low[place]),
        "high": float(found.high[place]),
        "alone": float(found.alone[place]),
        "p": float(found.p[place]),
        "p_holm": float(found.p_holm[place]),
    }


def _metric(found: MetricEffects) -> Mapping[str, float | int | None]:
    return {"r2_cross_validated": found.r2, "noise": found.noise, "trials": found.trials}
