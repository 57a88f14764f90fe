"""How the ranking settles as trials are added: many subsamples of each size, ranked apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from models.importance.agreement import rank_correlation, top_overlap
from models.importance.design import FeatureMatrix, measured_rows
from models.importance.importance import combined_importance, quick_forests
from models.random_forest import MIN_TRIALS

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestRegressor

COMBINED = "combined"
_JUDGED_ROWS = 300  # unseen trials that a forest is scored on, at most


@dataclass(frozen=True, eq=False)
class AtSize:
    """Agreement at one number of trials, of one metric or of all combined.

    Attributes:
        overlap: Shape `(repeats,)`, share of the top k that a subsample has in common with all
            trials. The subsample is part of them, so near their number this is optimistic.
        kendall_tau: Shape `(repeats,)`, the same for the rank correlation of all parameters.
        apart_overlap: Shape `(repeats,)`, overlap of two subsamples of this size that share no
            trial; None above half of the trials, where there are no two.
        apart_tau: Shape `(repeats,)`, their rank correlation; None likewise.
        r2: Shape `(repeats,)`, R2 on trials outside of the subsample, NaN where it has no
            meaning; None for the combined ranking.
    """

    overlap: NDArray[np.float64]
    kendall_tau: NDArray[np.float64]
    apart_overlap: NDArray[np.float64] | None
    apart_tau: NDArray[np.float64] | None
    r2: NDArray[np.float64] | None


def importances_of(
    features: FeatureMatrix,
    targets: Mapping[str, NDArray[np.float64]],
    rows: NDArray[np.intp],
    *,
    seed: int,
    trees: int,
) -> dict[str, NDArray[np.float64]]:
    """Importances learned from some trials: of each metric, and ``"combined"``.

    Args:
        features: The settings, `n_trials` rows.
        targets: Metric to values of shape `(n_trials,)`; NaN where it was not measured.
        rows: Which trials to learn from.
        seed: Decides the forests.
        trees: Size of each forest.

    Returns:
        Arrays of shape `(n_parameters,)`; all 0 where nothing could be learned.
    """
    forests = quick_forests(features, targets, rows, seed=seed, trees=trees)
    return _importances(features, targets, forests)


def rank_at_size(
    features: FeatureMatrix,
    targets: Mapping[str, NDArray[np.float64]],
    size: int,
    reference: Mapping[str, NDArray[np.float64]],
    *,
    seed: int,
    top_k: int,
    repeats: int = 40,
    trees: int = 16,
) -> dict[str, AtSize]:
    """Compare rankings of random subsamples with that of all trials and with each other.

    Subsamples are drawn without replacement. Up to half of the trials each repeat draws two that
    share none; beyond, only one, and what it shares with all trials is in the comparison.

    Args:
        features: The settings, `n_trials` rows.
        targets: Metric to values of shape `(n_trials,)`; NaN where it was not measured.
        size: Trials in a subsample.
        reference: From `importances_of` on all trials.
        seed: Decides the subsamples and the forests; the same seed gives the same result.
        top_k: How many parameters count as the top.
        repeats: How many subsamples, or pairs of them.
        trees: Size of each forest.

    Returns:
        By metric, and for ``"combined"``.

    Raises:
        ValueError: If the size is not within 1 and `n_trials`, or shapes disagree.
    """
    if not 1 <= size <= features.n_trials:
        raise ValueError(f"size must be within 1 and {features.n_trials}, not {size}")
    for target in targets.values():
        measured_rows(features, target)
    top, apart = min(top_k, features.n_parameters), 2 * size <= features.n_trials

    def repeat(source: np.random.SeedSequence) -> dict[str, list[float]]:
        rng = np.random.default_rng(source)
        order = rng.permutation(features.n_trials)
        seeds = [int(rng.integers(2**31)) for _ in range(2)]
        forests = quick_forests(features, targets, order[:size], seed=seeds[0], trees=trees)
        found = _importances(features, targets, forests)
        scores = _scores(features, targets, order[size:], forests)
        other = (
            importances_of(features, targets, order[size : 2 * size], seed=seeds[1], trees=trees)
            if apart
            else found
        )
        return {
            name: [
                top_overlap(found[name], reference[name], top_k=top),
                rank_correlation(found[name], reference[name]),
                top_overlap(found[name], other[name], top_k=top),
                rank_correlation(found[name], other[name]),
                scores.get(name, float("nan")),
            ]
            for name in found
        }

    rows = [repeat(each) for each in np.random.SeedSequence(seed).spawn(repeats)]
    table = {name: np.array([row[name] for row in rows]).T for name in rows[0]}
    return {
        name: AtSize(
            overlap=columns[0],
            kendall_tau=columns[1],
            apart_overlap=columns[2] if apart else None,
            apart_tau=columns[3] if apart else None,
            r2=None if name == COMBINED else columns[4],
        )
        for name, columns in table.items()
    }


def _importances(
    features: FeatureMatrix,
    targets: Mapping[str, NDArray[np.float64]],
    forests: Mapping[str, RandomForestRegressor],
) -> dict[str, NDArray[np.float64]]:
    nothing = np.zeros(features.n_parameters)
    each = {
        metric: features.sum_columns(forests[metric].feature_importances_)
        if metric in forests
        else nothing
        for metric in targets
    }
    return each | {COMBINED: combined_importance(features, forests)}


def _scores(
    features: FeatureMatrix,
    targets: Mapping[str, NDArray[np.float64]],
    unseen: NDArray[np.intp],
    forests: Mapping[str, RandomForestRegressor],
) -> dict[str, float]:
    """R2 of each metric's forest on trials that it has not seen, where it has a meaning."""
    from sklearn.metrics import r2_score

    scores = {}
    for metric, forest in forests.items():
        judged = unseen[~np.isnan(targets[metric][unseen])][:_JUDGED_ROWS]
        if judged.size >= MIN_TRIALS and np.ptp(targets[metric][judged]) > 0:
            predicted = forest.predict(features.values[judged].astype(np.float32))
            scores[metric] = float(r2_score(targets[metric][judged], predicted))
    return scores
