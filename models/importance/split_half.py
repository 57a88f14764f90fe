"""Whether two halves of the trials, ranked apart, agree on what matters: it needs no truth."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.importance.agreement import rank_correlation, top_overlap
from models.importance.design import FeatureMatrix, measured_rows
from models.importance.quick_importance import combined_importance, quick_forests


@dataclass(frozen=True, eq=False)
class SplitHalf:
    """Agreement of the two halves over many random splits of the same trials.

    The splits are not independent of each other: their percentiles tell how much the split
    matters, not a confidence interval for new trials.

    Attributes:
        overlap: Shape `(splits,)`, share of the top k in common.
        kendall_tau: Shape `(splits,)`, rank correlation of all parameters.
    """

    overlap: NDArray[np.float64]
    kendall_tau: NDArray[np.float64]


def split_half(
    features: FeatureMatrix,
    targets: Mapping[str, NDArray[np.float64]],
    *,
    seed: int,
    top_k: int,
    splits: int = 10,
    trees: int = 8,
) -> SplitHalf:
    """Rank the parameters on two disjoint halves of the trials, again and again.

    A half has half of the trials, so the ranking of all of them is steadier than what is found
    here. Of an odd number of trials one is left out of each split.

    Args:
        features: The settings, `n_trials` rows.
        targets: Metric to values of shape `(n_trials,)`; NaN where it was not measured.
        seed: Decides the splits and the forests; the same seed gives the same result.
        top_k: How many parameters count as the top; all of them if there are fewer.
        splits: How many.
        trees: Size of each forest.

    Returns:
        The agreements. Halves that teach nothing agree on nothing: 0.

    Raises:
        ValueError: If the shapes disagree, a target is infinite, or `splits` is below 1.
    """
    if splits < 1:
        raise ValueError(f"splits must be at least 1, not {splits}")
    for target in targets.values():
        measured_rows(features, target)
    half, top = features.n_trials // 2, min(top_k, features.n_parameters)

    def agree(source: np.random.SeedSequence) -> tuple[float, float]:
        rng = np.random.default_rng(source)
        order = rng.permutation(features.n_trials)
        first, second = (
            combined_importance(
                features,
                quick_forests(features, targets, rows, seed=int(rng.integers(2**31)), trees=trees),
            )
            for rows in (order[:half], order[half : 2 * half])
        )
        return top_overlap(first, second, top_k=top), rank_correlation(first, second)

    # One after the other: scikit-learn's forests side by side in threads may lose the process's
    # warning filters, and a bench beside this keeps a core.
    found = np.array([agree(each) for each in np.random.SeedSequence(seed).spawn(splits)])
    return SplitHalf(overlap=found[:, 0], kendall_tau=found[:, 1])
