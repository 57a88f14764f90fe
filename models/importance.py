"""How much metrics depend on each parameter, by forests and by tests, and how stable that is.

Everywhere ``features`` are the settings, a row a trial. A ``target`` is a metric in any unit,
shape ``(n_trials,)``, NaN where it was not measured; ``targets`` are several by name. Importances
have shape ``(n_parameters,)`` in the order of ``features.names``; more is more important. The same
seed gives the same result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models import Floats
from models.anova import AnovaResult, anova, holm
from models.random_forest import (
    MIN_TRIALS,
    FeatureMatrix,
    Fold,
    grow_forest,
    held_out_folds,
    joined,
    measured_rows,
    pooled_r2,
)

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestRegressor

HELD_OUT_ROWS = 300  # asked of a fold at most: 5 x 300 rows settle a drop in R2 well enough


def permutation_importance(
    features: FeatureMatrix,
    target: ArrayLike,
    folds: Sequence[Fold],
    *,
    seed: int,
    n_repeats: int = 5,
) -> Floats:
    """The drop in out-of-fold R2 of each shuffle, shape `(n_parameters, n_repeats)`.

    Permutation importance (Breiman, 2001) is out of sample: the forest of each fold predicts the
    trials that it has not seen, first as they are and then, for each parameter, with that
    parameter's columns shuffled together among them. The squared errors of all folds are pooled,
    so that the score of one repeat is `(SSE_shuffled - SSE) / SST`. Of a fold with more than 300
    held-out trials only 300 are asked. Held-out trials are not all alike.
    """
    y = np.asarray(target, dtype=np.float64)
    rng = np.random.default_rng(seed)
    asked = [rng.permutation(fold.held_out)[:HELD_OUT_ROWS] for fold in folds]
    orders = [[rng.permutation(rows.size) for _ in range(n_repeats)] for rows in asked]

    increase = sum(
        _error_increase(fold.model, features.rows(rows), y[rows], shuffles)
        for fold, rows, shuffles in zip(folds, asked, orders, strict=True)
    )
    pooled = y[np.concatenate(asked)]
    return np.asarray(increase / np.square(pooled - pooled.mean()).sum())


def _error_increase(
    model: RandomForestRegressor,
    held_out: FeatureMatrix,
    y: Floats,
    orders: list[NDArray[np.intp]],
) -> Floats:
    """What shuffling each parameter adds to the squared error: `(n_parameters, n_repeats)`."""
    parameters = range(held_out.n_parameters)
    # One prediction for all parameters and repeats: a call costs more than its rows.
    shuffled = np.concatenate([held_out.permute(p, order) for p in parameters for order in orders])
    predicted = model.predict(shuffled).reshape(held_out.n_parameters, len(orders), -1)
    error = np.square(y - model.predict(held_out.values)).sum()
    return np.asarray(np.square(y - predicted).sum(axis=2) - error)


@dataclass(frozen=True, eq=False)
class ForestImportance:
    """What a forest of one metric says of each parameter; arrays of shape `(n_parameters,)`."""

    mdi: Floats  # mean decrease in impurity, the paper's measure; sums to 1
    # R2 of unseen trials lost when its settings are shuffled, and the deviation over the shuffles.
    permutation: Floats
    permutation_std: Floats
    r2: float  # of unseen trials, all folds together
    r2_std: float  # standard deviation over the folds
    trials: int  # how many have the metric


def forest_importance(
    features: FeatureMatrix, target: ArrayLike, *, seed: int, trees: int = 50
) -> ForestImportance | None:
    """Grows a forest of a metric and asks it; None of fewer than 10 settings, or of a constant."""
    rows, y = np.flatnonzero(measured_rows(target)), np.asarray(target, np.float64)
    if len(features.by_setting(rows)) < MIN_TRIALS or np.ptp(y[rows]) == 0:
        return None
    folds = held_out_folds(features, y, seed=seed)
    r2 = pooled_r2(folds, features, y)
    assert r2 is not None  # what is held out is everything, and no constant
    each = [pooled_r2([fold], features, y) for fold in folds]
    lost = permutation_importance(features, y, folds, seed=seed)
    x = features.values[rows].astype(np.float32)
    forest = grow_forest(x, y[rows], seed=seed, trees=trees)
    return ForestImportance(
        mdi=features.sum_columns(forest.feature_importances_),
        permutation=lost.mean(axis=1),
        permutation_std=lost.std(axis=1),
        r2=r2,
        r2_std=float(np.std([one for one in each if one is not None])),
        trials=len(rows),
    )


def mean_share(importances: Sequence[Floats], n_parameters: int) -> Floats:
    """Average the importances of metrics, each scaled to sum to 1.

    One that is all 0 knows no order and is left out; where none knows one, the mean is all 0.
    """
    shares = [mdi / mdi.sum() for mdi in importances if mdi.sum() > 0]
    return np.mean(shares, axis=0) if shares else np.zeros(n_parameters)


_ROWS_OF_A_QUICK_TREE = 300


def quick_forests(
    features: FeatureMatrix,
    targets: Mapping[str, Floats],
    rows: NDArray[np.intp],
    *,
    seed: int,
    trees: int,
) -> dict[str, RandomForestRegressor]:
    """One small forest a metric on the `rows`; none of fewer than 10, or of a constant."""
    forests = {}
    for metric, target in targets.items():
        known = rows[~np.isnan(target[rows])]
        if known.size >= MIN_TRIALS and np.ptp(target[known]) > 0:
            forests[metric] = grow_forest(
                features.values[known].astype(np.float32),
                target[known],
                seed=seed,
                trees=trees,
                rows_per_tree=_ROWS_OF_A_QUICK_TREE,
            )
    return forests


def combined_importance(
    features: FeatureMatrix, forests: Mapping[str, RandomForestRegressor]
) -> Floats:
    """The mean over the metrics of each parameter's share; all 0 where none could be learned."""
    found = [features.sum_columns(f.feature_importances_) for f in forests.values()]
    return mean_share(found, features.n_parameters)


def rank_parameters(
    features: FeatureMatrix, targets: Mapping[str, ArrayLike], *, seed: int, trees: int = 100
) -> tuple[str, ...]:
    """The parameters, the most important for the metrics first.

    By the mean over the metrics of each one's share of the mean decrease in impurity, as in Jin et
    al. (JIPS 2022). Every metric counts the same, however many trials have it (NaN: it has not);
    one that fewer than 10 settings have, or that is constant, does not count. Parameters that tie
    keep the order of `features.names`.
    """
    found = []
    for target in targets.values():
        rows, y = np.flatnonzero(measured_rows(target)), np.asarray(target, np.float64)
        if len(features.by_setting(rows)) >= MIN_TRIALS and np.ptp(y[rows]) > 0:
            x = features.values[rows].astype(np.float32)
            forest = grow_forest(x, y[rows], seed=seed, trees=trees)
            found.append(features.sum_columns(forest.feature_importances_))
    order = np.argsort(-mean_share(found, features.n_parameters), kind="stable")
    return tuple(features.names[place] for place in order)


def tested_parameters(
    features: FeatureMatrix,
    targets: Mapping[str, ArrayLike],
    groups: Mapping[str, Sequence[str | None]],
) -> dict[str, dict[str, AnovaResult]]:
    """The analysis of variance of every metric, by parameter.

    `groups` has by parameter its label in each trial, from `group_labels`. Each metric asks as
    many questions more, for which the p-values of all are corrected (`p_holm`).
    """
    tested = {
        metric: {name: anova(groups[name], target) for name in features.names}
        for metric, target in targets.items()
    }
    corrected = iter(holm([test.p for tests in tested.values() for test in tests.values()]))
    return {
        metric: {name: replace(test, p_holm=next(corrected)) for name, test in tests.items()}
        for metric, tests in tested.items()
    }


def top_overlap(first: Floats, second: Floats, *, top_k: int) -> float:
    """The share of the top k that two sets of importances have in common.

    Parameters that tie across the edge of the top are in neither: importances that are all equal
    agree with nothing, not even with themselves.

    Two random orders of p parameters share k/p on average. `top_k` is within 1 and p.
    """
    from scipy.stats import rankdata

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
