"""The variance of a tree over a whole space, in parts: against a sum over all of its cells."""

from itertools import pairwise, product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeRegressor

from models.importance.functional_anova import Marginal, functional_anova
from models.random_forest import grow_forest

# A range with special values, three categories in a column each, a range, and a truth value.
MARGINALS = (
    Marginal(np.array([0]), np.array([[-1.0], [-1.1]]), np.array([0.1, 0.1]), True),
    Marginal(np.array([1, 2, 3]), np.eye(3), np.full(3, 1 / 3), False),
    Marginal(np.array([4]), np.empty((0, 1)), np.empty(0), True),
    Marginal(np.array([5]), np.array([[0.0], [1.0]]), np.array([0.5, 0.5]), False),
)


def drawn(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    first = np.where(rng.random(n) < 0.2, -1.0 - 0.1 * rng.integers(2, size=n), rng.random(n))
    level = np.eye(3)[rng.integers(3, size=n)]
    return np.column_stack([first, level, rng.random(n), rng.integers(2, size=n)])


def summed(tree: DecisionTreeRegressor) -> tuple[np.ndarray, np.ndarray]:
    """The same shares, from what the tree says of every cell of the space."""
    cells = []
    for each in MARGINALS:
        own = [(point, w) for point, w in zip(each.points, each.weight, strict=True)]
        if each.has_range:
            cuts = tree.tree_.threshold[tree.tree_.feature == each.columns[0]]
            edges = np.unique(np.clip(np.concatenate([[0, 1], cuts]), 0, 1))
            left = 1 - each.weight.sum()
            own += [(np.array([(a + b) / 2]), left * (b - a)) for a, b in pairwise(edges)]
        cells.append(own)
    shape = tuple(len(each) for each in cells)
    rows = np.array([np.concatenate([point for point, _ in some]) for some in product(*cells)])
    weights = [np.array([w for _, w in own]) for own in cells]
    value = tree.predict(rows.astype(np.float32)).reshape(shape)
    mean = np.einsum("abcd,a,b,c,d->", value, *weights)
    variance = np.einsum("abcd,a,b,c,d->", (value - mean) ** 2, *weights)
    alone, pairs = np.zeros(4), np.zeros((4, 4))

    def kept(*places: int) -> np.ndarray:
        """The mean over all other parameters, in the shape of all."""
        found = value - mean
        for axis in set(range(4)) - set(places):
            part = np.tensordot(found, weights[axis], axes=([axis], [0]))
            found = np.repeat(np.expand_dims(part, axis), shape[axis], axis)
        return found

    def size(surface: np.ndarray) -> float:
        return float(np.einsum("abcd,a,b,c,d->", surface**2, *weights) / variance)

    for i in range(4):
        alone[i] = size(kept(i))
        for j in set(range(4)) - {i}:
            pairs[i, j] = size(kept(i, j) - kept(i) - kept(j))
    return alone, pairs


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000), n=st.integers(12, 80))
def test_shares_are_those_of_all_cells(seed: int, n: int):
    x = drawn(n, seed)
    y = x[:, 0] + x[:, 2] * x[:, 4] + np.random.default_rng(seed).normal(scale=0.2, size=n)
    forest = grow_forest(x.astype(np.float32), y, seed=seed, trees=3)
    varied = [tree for tree in forest.estimators_ if tree.tree_.node_count > 1]
    found = functional_anova(forest.estimators_, MARGINALS)
    assert len(found.alone) == len(varied)
    for tree, alone, pairs in zip(varied, found.alone, found.pairs, strict=True):
        wanted = summed(tree)
        np.testing.assert_allclose(alone, wanted[0], atol=1e-9)
        np.testing.assert_allclose(pairs, wanted[1], atol=1e-9)
        assert alone.sum() + pairs.sum() / 2 <= 1 + 1e-9


def test_trials_that_crowd_where_a_parameter_does_nothing_hide_it_no_longer():
    """Nine tenths of the trials are where the second hardly moved; impurity counts trials."""
    rng = np.random.default_rng(1)
    x = rng.random((600, 2))
    x[:540, 1] *= 0.1
    y = x[:, 0] + 2 * x[:, 1]
    flat = [Marginal(np.array([c]), np.empty((0, 1)), np.empty(0), True) for c in (0, 1)]
    forest = grow_forest(x.astype(np.float32), y, seed=0, trees=50)
    first, second = functional_anova(forest.estimators_, flat).alone.mean(axis=0)
    by_impurity = forest.feature_importances_
    assert second / first > 1.5 * by_impurity[1] / by_impurity[0]
    assert second > 2 * first  # in truth four times as much


def test_what_two_do_only_together_is_told_of_the_pair():
    x = np.random.default_rng(2).random((500, 3))
    y = (x[:, 0] > 0.5) ^ (x[:, 1] > 0.5)
    flat = [Marginal(np.array([c]), np.empty((0, 1)), np.empty(0), True) for c in range(3)]
    found = functional_anova(
        grow_forest(x.astype(np.float32), y.astype(float), seed=0, trees=50).estimators_, flat
    )
    pairs, total = found.pairs.mean(axis=0), found.total().mean(axis=0)
    assert pairs[0, 1] > 0.6 > found.alone.mean(axis=0).max()
    assert total[2] < 0.3 < total[0]


def test_trees_that_do_not_vary_say_nothing():
    x = drawn(40, 0)
    forest = grow_forest(x.astype(np.float32), np.full(40, 3.0), seed=0, trees=4)
    found = functional_anova(forest.estimators_, MARGINALS)
    assert (found.alone.shape, found.pairs.shape) == ((0, 4), (0, 4, 4))
    assert found.total().shape == (0, 4)
