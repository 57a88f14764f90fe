"""How far rankings agree on what matters: of two halves of the trials, or of resampled trials."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from models import Floats
from models.importance.design import FeatureMatrix, joined, measured_rows
from models.importance.importance import combined_importance, quick_forests


def top_overlap(first: Floats, second: Floats, *, top_k: int) -> float:
    """The share of the top k that two sets of importances have in common.

    Parameters that tie across the edge of the top are in neither: importances that are all equal
    agree with nothing, not even with themselves.

    Two random orders of p parameters share k/p on average.

    Raises:
        ValueError: If the shapes differ or `top_k` is not within 1 and `n_parameters`.
    """
    from scipy.stats import rankdata

    if first.shape != second.shape:
        raise ValueError(f"importances must have one shape, not {first.shape} and {second.shape}")
    if not 1 <= top_k <= first.size:
        raise ValueError(f"top_k must be within 1 and {first.size}, not {top_k}")
    tops = [rankdata(-each, method="max") <= top_k for each in (first, second)]
    return float((tops[0] & tops[1]).sum() / top_k)


def rank_correlation(first: Floats, second: Floats) -> float:
    """Kendall's tau-b of two sets of importances, -1 to 1; 0 where one of them has no order."""
    from scipy.stats import kendalltau

    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(kendalltau(first, second).statistic)


def beyond_chance(overlap: float, *, top_k: int, n_parameters: int) -> float | None:
    """An overlap of tops less what two random orders share: 0 by chance, 1 when the same.

    The share of the possible improvement over chance, as Cohen's kappa (1960): of six parameters
    two random tops of five share 83%, and an overlap of 0.8 then says nothing.

    At most 1; None where the top is everything, so that there is nothing to agree on.
    """
    if top_k >= n_parameters:
        return None
    chance = top_k / n_parameters
    return (overlap - chance) / (1 - chance)


@dataclass(frozen=True, eq=False)
class SplitHalf:
    """Agreement of the two halves over many random splits of the same trials.

    The splits are not independent of each other: their percentiles tell how much the split
    matters, not a confidence interval for new trials.
    """

    overlap: Floats  # shape `(splits,)`, share of the top k in common
    kendall_tau: Floats  # shape `(splits,)`, rank correlation of all parameters


def split_half(
    features: FeatureMatrix,
    targets: Mapping[str, Floats],
    *,
    seed: int,
    top_k: int,
    splits: int = 10,
    trees: int = 8,
) -> SplitHalf:
    """Rank the parameters on two disjoint halves of the trials, again and again.

    A half has half of the trials, so the ranking of all of them is steadier than what is found
    here. Trials of one setting are in the same half. Of an odd number of settings one is left out
    of each split. Where there are fewer than `top_k` parameters, all are the top. Halves that
    teach nothing agree on nothing: 0.
    """
    if splits < 1:
        raise ValueError(f"splits must be at least 1, not {splits}")
    for target in targets.values():
        measured_rows(features, target)
    parts = features.by_setting(np.arange(features.n_trials))
    half, top = len(parts) // 2, min(top_k, features.n_parameters)

    def agree(source: np.random.SeedSequence) -> tuple[float, float]:
        rng = np.random.default_rng(source)
        order = rng.permutation(len(parts))
        found = []
        for some in (order[:half], order[half : 2 * half]):
            rows, luck = joined(parts, some), int(rng.integers(2**31))
            forests = quick_forests(features, targets, rows, seed=luck, trees=trees)
            found.append(combined_importance(features, forests))
        first, second = found
        return top_overlap(first, second, top_k=top), rank_correlation(first, second)

    # One after the other: scikit-learn's forests side by side in threads may lose the process's
    # warning filters, and a bench beside this keeps a core.
    found = np.array([agree(each) for each in np.random.SeedSequence(seed).spawn(splits)])
    return SplitHalf(overlap=found[:, 0], kendall_tau=found[:, 1])


@dataclass(frozen=True, eq=False)
class Stability:
    """Ranks of parameters over bootstrap resamples of the trials; 1 is the most important."""

    rank_low: Floats  # shape `(n_parameters,)`, 2.5th percentile of the ranks
    rank_high: Floats  # shape `(n_parameters,)`, 97.5th percentile of the ranks
    top_k_frequency: Floats  # shape `(n_parameters,)`, share of resamples with it in the top k
    kendall_tau: float  # mean rank correlation of resamples with the reference, from -1 to 1


def compare_rankings(importances: Floats, reference: Floats, *, top_k: int) -> Stability:
    """Sum up the ranks in importances of shape `(resamples, n_parameters)`, against a reference.

    Ties share a rank. Importances without any order (all equal) count as a correlation of 0.
    `top_k` is at most `n_parameters`.
    """
    from scipy.stats import rankdata

    ranks = np.asarray(rankdata(-importances, axis=1))  # (resamples, n_parameters)
    low, high = np.percentile(ranks, [2.5, 97.5], axis=0)
    return Stability(
        rank_low=low,
        rank_high=high,
        top_k_frequency=(ranks <= top_k).mean(axis=0),
        kendall_tau=float(np.mean([rank_correlation(each, reference) for each in importances])),
    )
