"""Random forests of a metric: how they are grown, and how well they predict unseen trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from models import Floats
from models.importance.design import FeatureMatrix, joined, measured_rows

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.tree import DecisionTreeRegressor

MIN_TRIALS = 10  # fewer teach a forest nothing
BAGS = 16
_LEAVES = 200  # of a tree in a bag, about, at most
ROWS_PER_TREE = 800  # keeps the cost of a tree bounded; more trials still make trees more diverse


@dataclass(frozen=True, eq=False)
class Fold:
    """A forest of the cross-validation, and the trials it has not seen."""

    model: BaggedForest  # fitted on all measured trials but the held-out ones
    held_out: NDArray[np.intp]  # row numbers in the feature matrix that was fitted


def grow_forest(
    x: NDArray[np.float32], y: Floats, *, seed: int, trees: int, rows_per_tree: int = ROWS_PER_TREE
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


@dataclass(frozen=True, eq=False)
class BaggedForest:
    """A forest in little bags: all trees of a bag learn from one resample of the settings.

    So what differs from bag to bag is what the choice of trials does (Athey, Tibshirani and Wager,
    "Generalized random forests", Ann. Stat. 47, 2019, section 4.1); together they are a forest.
    """

    bags: tuple[tuple[DecisionTreeRegressor, ...], ...]

    @property
    def trees(self) -> list[DecisionTreeRegressor]:
        """All of them, bag after bag."""
        return [tree for bag in self.bags for tree in bag]

    def predict(self, x: Floats) -> Floats:
        """The mean of the trees, shape `(n_rows,)`."""
        asked = np.ascontiguousarray(x, dtype=np.float32)
        return np.asarray(
            np.mean([tree.tree_.predict(asked)[:, 0] for tree in self.trees], axis=0)
        )


def bagged_forest(
    features: FeatureMatrix,
    target: Floats,
    rows: NDArray[np.intp],
    *,
    seed: int,
    bags: int = BAGS,
    trees: int = 4,
) -> BaggedForest:
    """Grow one of some of the trials, the `rows`, all of which have the target.

    Its trees try one random threshold of each column and split at the best of them (Geurts, Ernst
    and Wehenkel, "Extremely randomized trees", Mach. Learn. 63, 2006): of a few dozen trials their
    shares are steadier than those of `grow_forest`, and they predict as well; see
    docs/results/searching.md.
    A bag has at most `ROWS_PER_TREE` settings.
    """
    from sklearn import config_context
    from sklearn.tree import ExtraTreeRegressor

    x, parts = features.values.astype(np.float32), features.by_setting(rows)

    def bag(source: np.random.SeedSequence) -> tuple[DecisionTreeRegressor, ...]:
        rng = np.random.default_rng(source)
        own = joined(parts, rng.choice(len(parts), size=min(len(parts), ROWS_PER_TREE)))
        known = np.ascontiguousarray(x[own]), target[own]
        least = max(2, len(own) // _LEAVES)
        return tuple(
            ExtraTreeRegressor(min_samples_leaf=least, max_features=1.0, random_state=each).fit(
                *known, check_input=False
            )
            for each in rng.integers(2**31, size=trees).tolist()
        )

    with config_context(skip_parameter_validation=True):  # a third of a small tree's time
        return BaggedForest(tuple(map(bag, np.random.SeedSequence(seed).spawn(bags))))


def held_out(
    features: FeatureMatrix, target: Floats, fold: NDArray[np.intp], *, seed: int
) -> tuple[Fold, ...]:
    """A forest for each fold, of all measured trials but those that the fold holds out.

    `fold` has shape `(n_trials,)`; a trial of fold -1 is learned from by all of them.
    """
    known, found = measured_rows(features, target), []
    for number in range(int(fold.max(initial=-1)) + 1):
        seen = np.flatnonzero(known & (fold != number))
        grown = bagged_forest(features, target, seen, seed=seed, trees=2)
        found.append(Fold(grown, np.flatnonzero(known & (fold == number))))
    return tuple(found)


def pooled_r2(folds: Sequence[Fold], features: FeatureMatrix, target: Floats) -> float | None:
    """R2 of the held-out trials of some folds together; None where they are all alike."""
    x, y = features.values, target[np.concatenate([fold.held_out for fold in folds])]
    if np.ptp(y) == 0:
        return None
    asked = np.concatenate([fold.model.predict(x[fold.held_out]) for fold in folds])
    return float(1.0 - np.square(y - asked).sum() / np.square(y - y.mean()).sum())
