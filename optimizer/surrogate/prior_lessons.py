"""What earlier jobs teach the models of the present one: further rows, each of its own task."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optimizer.surrogate.coordinates import Floats
from optimizer.trials.prior import Prior


@dataclass(frozen=True, eq=False)
class PriorRows:
    """Rows to go below those of the present job.

    Attributes:
        points: Shape ``(n, n_names)``, latent coordinates.
        targets: Metric to shape ``(n,)``: logarithms on the present job's level; NaN where
            unknown.
        tasks: Shape ``(n,)``: which earlier job, from 1.
    """

    points: Floats
    targets: Mapping[str, Floats]
    tasks: NDArray[np.int64]


def prior_rows(
    prior: Prior,
    names: Sequence[str],
    *,
    levels: Mapping[str, float],
    logarithmic: Collection[str],
    most: int,
) -> PriorRows:
    """The rows of all earlier jobs, as many of each as fit.

    Args:
        prior: What is taken along.
        names: The moving parameters.
        levels: The metrics that are wanted, and their level at the present baseline.
        logarithmic: Those of them that the present job knows as logarithms; earlier jobs say
            nothing of the others.
        most: Rows in all.
    """
    each = max(0, most) // max(1, len(prior.jobs))
    taken = [(task, t) for task, job in enumerate(prior.jobs, 1) for t in job.trials[:each]]
    points = np.array([[trial.point[name] for name in names] for _, trial in taken])
    targets = {
        metric: np.array([
            math.log(level) + trial.ratios.get(metric, math.nan)
            if metric in logarithmic
            else math.nan
            for _, trial in taken
        ])
        for metric, level in levels.items()
    }  # fmt: skip
    tasks = np.array([task for task, _ in taken], dtype=np.int64)
    return PriorRows(points.reshape(len(taken), len(names)), targets, tasks)
