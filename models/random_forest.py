"""One random forest a metric, and how well it predicts trials that it has not seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models.importance.design import FeatureMatrix, joined, measured_rows

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestRegressor

MIN_TRIALS = 10  # below this a held-out R2 says nothing
FOLDS, FOLD_TREES = 5, 25
ROWS_PER_TREE = 800  # keeps the cost of a tree bounded; more trials still make trees more diverse


@dataclass(frozen=True, eq=False)
class Fold:
    """A forest of the cross-validation, and the trials it has not seen."""

    model: RandomForestRegressor  # fitted on all measured trials but the held-out ones
    held_out: NDArray[np.intp]  # row numbers in the feature matrix that was fitted


@dataclass(frozen=True, eq=False)
class FittedForest:
    """A forest fitted on every measured trial of one metric, with its scores.

    R2 is `1 - SSE / SST`: 1 is perfect, 0 is no better than the mean, below 0 is worse. A score is
    None, never NaN, where it has no meaning: fewer than 10 measured settings or a constant target.
    """

    model: RandomForestRegressor  # fitted on all measured trials
    # R2 on a random 20% by a forest trained on the other 80%, as in Jin et al. (2022).
    r2_split: float | None
    r2_cross_validated: float | None  # mean R2 over the folds; steadier than one split
    # Standard deviation of R2 over the folds (population form).
    r2_cross_validated_std: float | None
    n_trials: int  # how many trials were measured, so were fitted
    # The cross-validation's forests, kept so that permutation importance can ask them about trials
    # that they have not seen without fitting again. Empty where the scores are None.
    folds: tuple[Fold, ...] = field(default=(), repr=False)


def fit_forest(
    features: FeatureMatrix,
    target: ArrayLike,
    *,
    seed: int,
    trees: int = 100,
) -> FittedForest:
    """Fit one metric's forest and judge it on trials that were held out.

    As in Jin et al. (2022), "Improvement of RocksDB Performance via Large-Scale Parameter Analysis
    and Optimization", JIPS 18(3): scikit-learn's random forest, R2 on an 8:2 split. The
    cross-validation is added because one split of a few hundred trials can be lucky: 5 folds, and
    fewer with under 25 measured trials so that each holds out at least 5. Forests that are only
    scored have 25 trees. Trials of one setting, measured several times, are held out together.

    Raises:
        ValueError: If the target does not fit the features, or nothing was measured.
    """
    from sklearn.model_selection import KFold, train_test_split

    measured = np.flatnonzero(measured_rows(features, target))
    if not measured.size:
        raise ValueError("no trial has a target")
    x = features.values.astype(np.float32)  # what the trees compare; cast once, not once a forest
    y = np.asarray(target, dtype=np.float64)

    def grow(rows: NDArray[np.intp], size: int) -> RandomForestRegressor:
        return grow_forest(x[rows], y[rows], seed=seed, trees=size)

    parts = features.by_setting(measured)
    if len(parts) < MIN_TRIALS or np.ptp(y[measured]) == 0:
        return FittedForest(grow(measured, trees), None, None, None, measured.size)

    places = np.arange(len(parts))
    learn, judge = (
        joined(parts, some) for some in train_test_split(places, test_size=0.2, random_state=seed)
    )
    plan = KFold(min(FOLDS, len(parts) // 5), shuffle=True, random_state=seed)
    folds = tuple(
        Fold(grow(joined(parts, kept), FOLD_TREES), joined(parts, held))
        for kept, held in plan.split(places)
    )
    scores = [_r2(fold.model, x[fold.held_out], y[fold.held_out]) for fold in folds]
    known = [score for score in scores if score is not None]
    return FittedForest(
        model=grow(measured, trees),
        r2_split=_r2(grow(learn, FOLD_TREES), x[judge], y[judge]),
        r2_cross_validated=float(np.mean(known)) if known else None,
        r2_cross_validated_std=float(np.std(known)) if known else None,
        n_trials=measured.size,
        folds=folds,
    )


def grow_forest(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    *,
    seed: int,
    trees: int,
    rows_per_tree: int = ROWS_PER_TREE,
) -> RandomForestRegressor:
    """Fit a bare forest, with the settings that all forests here share.

    Leaves of three trials and half of the columns at each split cost little R2 on recorded trials
    and take under half the time of scikit-learn's defaults. `y` has no NaN. A tree's bootstrap has
    at most `rows_per_tree` rows. The forest predicts on one thread: threads add up the trees in
    the order in which they finish, which would change the last digits from run to run.
    """
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(
        trees,
        min_samples_leaf=3,
        max_features=0.5,
        max_samples=min(len(y), rows_per_tree),
        random_state=seed,
        n_jobs=1,
    ).fit(x, y)


def _r2(
    model: RandomForestRegressor, x: NDArray[np.float32], y: NDArray[np.float64]
) -> float | None:
    """Score held-out rows; None where they are all alike, since SST is then 0."""
    from sklearn.metrics import r2_score

    return float(r2_score(y, model.predict(x))) if np.ptp(y) > 0 else None
