"""How far two sets of importances agree on what matters."""

import numpy as np
from numpy.typing import NDArray


def top_overlap(first: NDArray[np.float64], second: NDArray[np.float64], *, top_k: int) -> float:
    """The share of the top k that two sets of importances have in common.

    Parameters that tie across the edge of the top are in neither: importances that are all equal
    agree with nothing, not even with themselves.

    Args:
        first: Shape `(n_parameters,)`, more is more important.
        second: The same shape.
        top_k: At least 1, at most `n_parameters`.

    Returns:
        From 0 to 1. Two random orders of p parameters share k/p on average.

    Raises:
        ValueError: If the shapes differ or `top_k` is not within 1 and `n_parameters`.

    Example:
        >>> import numpy as np
        >>> from models.importance.agreement import top_overlap
        >>> top_overlap(np.array([4.0, 3, 2, 1]), np.array([4.0, 1, 3, 2]), top_k=2)
        0.5
    """
    from scipy.stats import rankdata

    if first.shape != second.shape:
        raise ValueError(f"importances must have one shape, not {first.shape} and {second.shape}")
    if not 1 <= top_k <= first.size:
        raise ValueError(f"top_k must be within 1 and {first.size}, not {top_k}")
    tops = [rankdata(-each, method="max") <= top_k for each in (first, second)]
    return float((tops[0] & tops[1]).sum() / top_k)


def rank_correlation(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Kendall's tau-b of two sets of importances, from -1 to 1.

    0 where one of them has no order: all equal, or a single parameter.
    """
    from scipy.stats import kendalltau

    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(kendalltau(first, second).statistic)


def beyond_chance(overlap: float, *, top_k: int, n_parameters: int) -> float | None:
    """An overlap of tops less what two random orders share: 0 by chance, 1 when the same.

    The share of the possible improvement over chance, as Cohen's kappa (1960): of six parameters
    two random tops of five share 83%, and an overlap of 0.8 then says nothing.

    Args:
        overlap: From `top_overlap`.
        top_k: Of which top.
        n_parameters: Of how many.

    Returns:
        At most 1; None where the top is everything, so that there is nothing to agree on.
    """
    if top_k >= n_parameters:
        return None
    chance = top_k / n_parameters
    return (overlap - chance) / (1 - chance)
