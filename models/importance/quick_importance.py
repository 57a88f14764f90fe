"""Importances by small forests: for questions that need many refits more than a good fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from models.importance.design import FeatureMatrix
from models.importance.forest import MIN_TRIALS, grow_forest
from models.importance.ranking import mean_share

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestRegressor

ROWS_PER_TREE = 300


def quick_forests(
    features: FeatureMatrix,
    targets: Mapping[str, NDArray[np.float64]],
    rows: NDArray[np.intp],
    *,
    seed: int,
    trees: int,
) -> dict[str, RandomForestRegressor]:
    """Fit one small forest a metric on some of the trials.

    Args:
        features: The settings, `n_trials` rows.
        targets: Metric to values of shape `(n_trials,)`; NaN where it was not measured.
        rows: Shape `(n_rows,)`, which trials to learn from.
        seed: Decides bootstraps and the columns tried.
        trees: Size of each forest.

    Returns:
        Metric to forest, without the metrics that fewer than 10 of these trials have or that are
        constant among them.
    """
    forests = {}
    for metric, target in targets.items():
        known = rows[~np.isnan(target[rows])]
        if known.size >= MIN_TRIALS and np.ptp(target[known]) > 0:
            forests[metric] = grow_forest(
                features.values[known].astype(np.float32),
                target[known],
                seed=seed,
                trees=trees,
                rows_per_tree=ROWS_PER_TREE,
            )
    return forests


def combined_importance(
    features: FeatureMatrix, forests: Mapping[str, RandomForestRegressor]
) -> NDArray[np.float64]:
    """The mean over the metrics of each parameter's share, as `ranking` orders them.

    Returns:
        Shape `(n_parameters,)`; all 0 where no metric could be learned.
    """
    found = [features.sum_columns(f.feature_importances_) for f in forests.values()]
    return mean_share(found, features.n_parameters)
