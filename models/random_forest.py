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

    Raises:
        ValueError: If the shapes disagree, a name comes twice, an owner is out of range, a
            parameter has no column, or a value is infinite.
    """

    # Shape `(n_trials, n_columns)`. NaN stands for "not active in this trial"; the forests treat
    # it as a value of its own. Infinities are refused.
    values: Floats
    names: tuple[str, ...]  # the parameters' names, length `n_parameters`, each once
    # Shape `(n_columns,)`, the index in `names` of a column's parameter; each owns at least one.
    owner: NDArray[np.intp]

    def __post_init__(self) -> None:
        """Refuse a table whose parts do not fit together."""
        values, owner = self.values, self.owner
        if values.ndim != 2:
            raise ValueError(f"values must have 2 dimensions (trials, columns), not {values.ndim}")
        if owner.shape != (values.shape[1],):
            raise ValueError(
                f"owner must have one entry a column: {values.shape[1]} columns, "
                f"owner of shape {owner.shape}"
            )
        if not np.issubdtype(owner.dtype, np.integer):
            raise ValueError(f"owner must hold integers, not {owner.dtype}")
        if len(set(self.names)) != len(self.names):
            raise ValueError("names must differ from one another")
        if owner.size and (owner.min() < 0 or owner.max() >= len(self.names)):
            raise ValueError(f"owner must lie within 0..{len(self.names) - 1}")
        bare = set(range(len(self.names))) - set(owner.tolist())
        if bare:
            raise ValueError(f"parameter {self.names[min(bare)]!r} owns no column")
        if np.isinf(values).any():
            raise ValueError("values must not be infinite")

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
        """Sum what columns contribute, `(n_columns,)`, into what parameters contribute.

        Raises:
            ValueError: If there is not one importance a column.
        """
        if importances.shape != self.owner.shape:
            raise ValueError(
                f"expected {self.owner.size} column importances, got shape {importances.shape}"
            )
        total = np.zeros(self.n_parameters)
        np.add.at(total, self.owner, importances)
        return total

    def permute(self, parameter: int, order: NDArray[np.intp]) -> Floats:
        """Copy the values with all columns of one parameter reordered together.

        Shuffling one-hot columns apart from each other would make rows with two levels or none,
        which no trial can have, and ask the forest about them. `order` permutes the row numbers.
        """
        permuted = self.values.copy()
        columns = self.owner == parameter
        permuted[:, columns] = self.values[np.ix_(order, columns)]
        return permuted


def measured_rows(features: FeatureMatrix, target: ArrayLike) -> NDArray[np.bool_]:
    """Mark the rows that have a target, shape `(n_trials,)`.

    Raises:
        ValueError: If the target's shape does not match, or it holds an infinity.
    """
    measured = np.asarray(target, dtype=np.float64)
    if measured.shape != (features.n_trials,):
        raise ValueError(
            f"target must have one value a trial: {features.n_trials} trials, "
            f"target of shape {measured.shape}"
        )
    if np.isinf(measured).any():
        raise ValueError("target must not be infinite (use NaN for what was not measured)")
    return ~np.isnan(measured)


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
_TREES_OF_A_FOLD = 25


@dataclass(frozen=True, eq=False)
class Fold:
    """A forest of the cross-validation, and the trials it has not seen."""

    model: RandomForestRegressor  # fitted on all measured trials but the held-out ones
    held_out: NDArray[np.intp]  # row numbers in the feature matrix that was fitted


def held_out_folds(features: FeatureMatrix, target: Floats, *, seed: int) -> tuple[Fold, ...]:
    """A forest for each of five folds of the measured trials, those of one setting in one fold."""
    parts = features.by_setting(np.flatnonzero(measured_rows(features, target)))
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
