"""How well a finished job has learned what matters, whichever way it ranks.

Results of earlier versions have no models: their forests rank.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.charts.importance import held_out
from optimizer.results.learned_document import FORESTS, MODELS


def by_models(found: Mapping[str, Any]) -> bool:
    """Whether models of all trials rank the parameters, and not forests of the draws.

    Args:
        found: ``result.json``, or a ranking.
    """
    return bool(found.get("ranked_by", FORESTS) == MODELS)


def ranked_r2(found: Mapping[str, Any]) -> dict[str, float | None]:
    """R2 on unseen trials of what ranks the parameters, by metric."""
    return {
        metric: held_out(each)
        for metric, each in found["models" if by_models(found) else "forest"].items()
    }


def forests_r2(found: Mapping[str, Any]) -> dict[str, float | None]:
    """R2 on unseen draws of the forests, by metric."""
    return {metric: held_out(each) for metric, each in found["forest"].items()}
