"""Random forests of a metric: features, growth, and how well they predict unseen trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models import Floats

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestRegressor


@dataclass(frozen=True, eq=False)
class FeatureMatrix:
    """Settings of the trials, one row a trial, one or more columns a parameter.

    A categorical parameter may own several one-hot columns. People ask about parameters, not about
    columns, so importances are summed and columns are shuffled by owner.
    """

    # Shape `(n_trials, n_columns)`. NaN stands for "not active in this trial"; the forests treat
    # it as a value of its own. No value is infinite.
    values: Floats
    names: tuple[str, ...]  # the parameters' names, length `n_parameters`, each once
    # Shape `(n_columns,)`, the index in `names` of a column's parameter; each owns at least one.
    owner: NDArray[np.intp]

    @property
    def n_trials(self) -> int:
        """How many rows there are."""
        return int(self.values.shape[0])

    @property
    def n_parameters(self) -> int:
        """How many parameters there are (not columns)."""
        return len(self.names)

    def by_setting(self, rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Some of the row numbers, those of each setting together, in the order of their first.

        Trials of one setting measured one configuration several times. Whoever holds out one of
        them holds out all, or it would be predicted from itself.
        """
        found: dict[bytes, list[int]] = {}
        # NaN has many patterns of bits, and 0 has two.
        plain = np.nan_to_num(self.values[rows], nan=np.inf) + 0.0
        for row, setting in zip(rows.tolist(), plain, strict=True):
            found.setdefault(setting.tobytes(), []).append(row)
        return [np.array(each, dtype=np.intp) for each in found.values()]

    def rows(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> Self:
        """Return the table of the chosen rows alone, by mask or by index."""
        return type(self)(values=self.values[chosen], names=self.names, owner=self.owner)

    def sum_columns(self, importances: Floats) -> Floats:
        """Sum what columns contribute, `(n_columns,)`, into what parameters contribute."""
        summed = np.bincount(self.owner, importances, minlength=self.n_parameters)
        return np.asarray(summed, dtype=np.float64)

    def permute(self, parameter: int, order: NDArray[np.intp]) -> Floats:
        """Copy the values with all columns of one parameter reordered together.

        Shuffling one-hot columns apart from each other would make rows with two levels or none,
        which no trial can have, and ask the forest about them. `order` permutes the row numbers.
        """
        permuted = self.values.copy()
        columns = self.owner == parameter
        permuted[:, columns] = self.values[np.ix_(order, columns)]
        return permuted


def measured_rows(target: ArrayLike) -> NDArray[np.bool_]:
    """Mark the rows that have a target, shape `(n_trials,)`: the others are NaN."""
    return ~np.isnan(np.asarray(target, dtype=np.float64))


def joined(rows: list[NDArray[np.intp]], chosen: NDArray[np.intp] | list[int]) -> NDArray[np.intp]:
    """The rows of the chosen settings (`FeatureMatrix.by_setting`), in that order."""
    picked = [rows[place] for place in chosen]
    return np.concatenate(picked) if picked else np.empty(0, dtype=np.intp)


MIN_TRIALS = 10  # fewer teach a forest nothing
ROWS_PER_TREE = 800  # keeps the cost of a tree bounded; more trials still make trees more diverse


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


FOLDS = 5
_TREES_OF_A_FOLD = 10


@dataclass(frozen=True, eq=False)
class Fold:
    """A forest of the cross-validation, and the trials it has not seen."""

    model: RandomForestRegressor  # fitted on all measured trials but the held-out ones
    held_out: NDArray[np.intp]  # row numbers in the feature matrix that was fitted


def held_out_folds(features: FeatureMatrix, target: Floats, *, seed: int) -> tuple[Fold, ...]:
    """A forest for each of five folds of the measured trials, those of one setting in one fold."""
    parts = features.by_setting(np.flatnonzero(measured_rows(target)))
    fold = np.random.default_rng(seed).permutation(len(parts)) % FOLDS
    x, found = features.values.astype(np.float32), []
    for number in range(FOLDS):
        out = fold == number
        seen, unseen = (joined(parts, np.flatnonzero(each)) for each in (~out, out))
        grown = grow_forest(x[seen], target[seen], seed=seed, trees=_TREES_OF_A_FOLD)
        found.append(Fold(grown, unseen))
    return tuple(found)


def pooled_r2(folds: Sequence[Fold], features: FeatureMatrix, target: Floats) -> float | None:
    """R2 of the held-out trials of some folds together; None where they are all alike."""
    x, y = features.values, target[np.concatenate([fold.held_out for fold in folds])]
    if np.ptp(y) == 0:
        return None
    asked = np.concatenate([fold.model.predict(x[fold.held_out]) for fold in folds])
    return float(1.0 - np.square(y - asked).sum() / np.square(y - y.mean()).sum())
