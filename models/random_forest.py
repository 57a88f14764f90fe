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
    from sklearn.tree import DecisionTreeRegressor


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
