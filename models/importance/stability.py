"""How far a ranking of parameters can be trusted: what it would be on other trials like these."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models.importance.design import FeatureMatrix, joined, measured_rows
from models.random_forest import grow_forest

ROWS_PER_TREE = 300  # small trees: many refits matter more here than the fit of each


@dataclass(frozen=True, eq=False)
class Stability:
    """Ranks of parameters over bootstrap resamples of the trials; 1 is the most important."""

    rank_low: NDArray[np.float64]  # shape `(n_parameters,)`, 2.5th percentile of the ranks
    rank_high: NDArray[np.float64]  # shape `(n_parameters,)`, 97.5th percentile of the ranks
    rank_mean: NDArray[np.float64]  # shape `(n_parameters,)`
    top_k: int  # what counts as the top
    # Shape `(n_parameters,)`, share of resamples that put the parameter in the top k.
    top_k_frequency: NDArray[np.float64]
    # Mean rank correlation of a resample's importances with the reference's, from -1 to 1.
    kendall_tau: float
    top_k_overlap: float  # mean share of the reference's top k that is in a resample's top k


def rank_stability(
    features: FeatureMatrix,
    target: ArrayLike,
    reference: NDArray[np.float64],
    *,
    seed: int,
    resamples: int = 25,
    trees: int = 8,
    top_k: int = 5,
) -> Stability:
    """Refit small forests on bootstrap resamples of the trials and compare their rankings.

    The forests are smaller than the one behind `reference` and a resample holds only about 63% of
    the distinct trials, so the intervals are rather too wide than too narrow. Trials of one
    setting are drawn together: they are one place of the space, however often it was measured.

    Args:
        features: The settings.
        target: Of the metric; something must have been measured.
        reference: Importances of the ranking in question, such as `Importance.mdi`.
        seed: Decides the resamples and the forests.
        resamples: How many refits.
        trees: Size of each refitted forest.
        top_k: How many parameters count as the top; all of them if there are fewer.
    """
    if resamples < 1 or top_k < 1:
        raise ValueError(f"resamples and top_k must be at least 1, not {resamples} and {top_k}")
    if reference.shape != (features.n_parameters,):
        raise ValueError(
            f"reference must have {features.n_parameters} importances, not shape {reference.shape}"
        )
    measured = np.flatnonzero(measured_rows(features, target))
    if not measured.size:
        raise ValueError("no trial has a target")
    parts = features.by_setting(measured)
    x = features.values.astype(np.float32)
    y = np.asarray(target, dtype=np.float64)

    def refit(source: np.random.SeedSequence) -> NDArray[np.float64]:
        rng = np.random.default_rng(source)
        rows = joined(parts, rng.choice(len(parts), size=len(parts)))
        own = int(rng.integers(2**31))
        forest = grow_forest(x[rows], y[rows], seed=own, trees=trees, rows_per_tree=ROWS_PER_TREE)
        return features.sum_columns(forest.feature_importances_)

    importances = np.stack([refit(s) for s in np.random.SeedSequence(seed).spawn(resamples)])
    return compare_rankings(importances, reference, top_k=min(top_k, features.n_parameters))


def compare_rankings(
    importances: NDArray[np.float64], reference: NDArray[np.float64], *, top_k: int
) -> Stability:
    """Sum up the ranks in importances of shape `(resamples, n_parameters)`, against a reference.

    Ties share a rank. Importances without any order (all equal) count as a correlation of 0.
    `top_k` is at most `n_parameters`.
    """
    from scipy.stats import kendalltau, rankdata

    ranks = np.asarray(rankdata(-importances, axis=1))  # (resamples, n_parameters)
    low, high = np.percentile(ranks, [2.5, 97.5], axis=0)
    in_top = ranks <= top_k
    reference_top = rankdata(-reference) <= top_k
    several = len(reference) > 1  # one parameter has no order
    taus = [kendalltau(each, reference).statistic if several else 0.0 for each in importances]
    return Stability(
        rank_low=low,
        rank_high=high,
        rank_mean=ranks.mean(axis=0),
        top_k=top_k,
        top_k_frequency=in_top.mean(axis=0),
        kendall_tau=float(np.mean(np.nan_to_num(taus))),
        top_k_overlap=float((in_top & reference_top).sum(axis=1).mean() / top_k),
    )
