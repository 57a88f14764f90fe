"""Limits that no figure can keep together."""

from __future__ import annotations

import math
from collections.abc import Sequence

from optimizer.objective.objective import Limit
from sampler.common.errors import InputError
from sampler.workload.metric_units import format_metric


def require_possible(limits: Sequence[Limit], *, field: str) -> None:
    """Refuses limits of one metric that contradict each other.

    Figures are compared with figures and multiples of the baseline with multiples; a figure and a
    multiple can only be compared once the baseline is known (``Objective.bounds``).

    Args:
        limits: Those of an objective.
        field: What to call them when they are wrong.

    Raises:
        InputError: They contradict each other.
    """
    for metric in dict.fromkeys(limit.metric for limit in limits):
        mine = [limit for limit in limits if limit.metric == metric]
        least = max(limit.at_least for limit in mine)
        most = min(limit.at_most for limit in mine)
        if least > most:
            bounds = f">= {format_metric(metric, least)} and <= {format_metric(metric, most)}"
            raise InputError(field, f"nothing is {metric} {bounds}; take one of them back")
        least = max(limit.at_least_baseline or -math.inf for limit in mine)
        most = min(limit.at_most_baseline or math.inf for limit in mine)
        if least > most:
            bounds = f">= {least:.12g} and <= {most:.12g} baseline"
            raise InputError(field, f"nothing is {metric} {bounds}; take one of them back")
