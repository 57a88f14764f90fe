"""How far a ranking of parameters can be trusted: what it would be on other trials like these."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Stability:
    """Ranks of parameters over bootstrap resamples of the trials; 1 is the most important."""

    rank_low: NDArray[np.float64]  # shape `(n_parameters,)`, 2.5th percentile of the ranks
    rank_high: NDArray[np.float64]  # shape `(n_parameters,)`, 97.5th percentile of the ranks
    # Shape `(n_parameters,)`, share of resamples that put the parameter in the top k.
    top_k_frequency: NDArray[np.float64]
    # Mean rank correlation of a resample's importances with the reference's, from -1 to 1.
    kendall_tau: float


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
    several = len(reference) > 1  # one parameter has no order
    taus = [kendalltau(each, reference).statistic if several else 0.0 for each in importances]
    return Stability(
        rank_low=low,
        rank_high=high,
        top_k_frequency=(ranks <= top_k).mean(axis=0),
        kendall_tau=float(np.mean(np.nan_to_num(taus))),
    )
