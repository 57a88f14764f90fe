"""Functional analysis of variance of a forest: what each parameter and each pair makes of it.

Hutter, Hoos and Leyton-Brown, "An efficient approach for assessing hyperparameter importance",
ICML 2014, algorithms 1 and 2. A tree is constant in boxes, so its mean over any parameters, and
with that its variance over the whole space, is a sum over boxes: exact, and wherever the trials
are. Ours: fanova and DeepCAVE need pyrfr (C++, seldom released), and Optuna's is private, of
studies alone, without pairs, and takes over a minute for 1,000 trials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from models import Floats

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeRegressor

_NOTHING = 1e-12  # of the largest squared value: a smaller variance is rounding


@dataclass(frozen=True, eq=False)
class Marginal:
    """How one parameter is drawn, in the columns that it owns."""

    columns: NDArray[np.intp]  # shape ``(n_columns,)``
    points: Floats  # shape ``(n_points, n_columns)``: its categories or special values
    weight: Floats  # shape ``(n_points,)``: how often each is drawn
    has_range: bool  # whether what is left of 1 is drawn evenly from [0, 1), in its only column


@dataclass(frozen=True, eq=False)
class FunctionalAnova:
    """Shares of the variance of each tree over the whole space, a row a tree that varies."""

    alone: Floats  # shape ``(n_trees, n_parameters)``: what a parameter makes by itself
    pairs: Floats  # shape ``(n_trees, n_parameters, n_parameters)``: two together, beyond that

    def total(self) -> Floats:
        """What goes with a parameter, its pairs included: shape ``(n_trees, n_parameters)``."""
        return np.asarray(self.alone + self.pairs.sum(axis=2))


def functional_anova(
    trees: Sequence[DecisionTreeRegressor], marginals: Sequence[Marginal]
) -> FunctionalAnova:
    """The shares of parameters and pairs in each tree; what lacks to 1 only three or more make."""
    space = _Space(marginals)
    found = [space.shares(_boxes(tree, len(space.owner))) for tree in trees]
    known = [each for each in found if each is not None]
    count = len(marginals)
    return FunctionalAnova(
        np.array([alone for alone, _ in known]).reshape(-1, count),
        np.array([pairs for _, pairs in known]).reshape(-1, count, count),
    )


@dataclass(frozen=True, eq=False)
class _Boxes:
    """The leaves of a tree."""

    low: Floats  # shape ``(n_leaves, n_columns)``: values in a leaf are above it
    high: Floats  # the same shape: and at most this
    value: Floats  # shape ``(n_leaves,)``
    column: NDArray[np.intp]  # column, threshold: of all splits, shape ``(n_splits,)``
    threshold: Floats

    def hold(self, column: NDArray[np.intp], value: Floats) -> NDArray[np.bool_]:
        """Whether a leaf has such a value in such a column, shape ``(n_leaves, n_values)``."""
        return np.asarray((value > self.low[:, column]) & (value <= self.high[:, column]))


def _boxes(tree: DecisionTreeRegressor, n_columns: int) -> _Boxes:
    nodes = tree.tree_
    left, right, column = nodes.children_left, nodes.children_right, nodes.feature
    low = np.full((nodes.node_count, n_columns), -np.inf)
    high = np.full((nodes.node_count, n_columns), np.inf)
    front = np.array([0])
    while (front := front[left[front] >= 0]).size:  # one level of the tree after the other
        one, other = left[front], right[front]
        for child in (one, other):
            low[child], high[child] = low[front], high[front]
        high[one, column[front]] = low[other, column[front]] = nodes.threshold[front]
        front = np.concatenate([one, other])
    leaf = left < 0
    splits = nodes.feature[~leaf].astype(np.intp), nodes.threshold[~leaf]
    return _Boxes(low[leaf], high[leaf], nodes.value[leaf, 0, 0], *splits)


class _Space:
    """All parameters: how they are drawn, in arrays."""

    def __init__(self, marginals: Sequence[Marginal]) -> None:
        self.count = len(marginals)
        self.owner = np.empty(sum(len(each.columns) for each in marginals), dtype=np.intp)
        for place, each in enumerate(marginals):
            self.owner[each.columns] = place
        self.ranged = np.array([each.has_range for each in marginals])
        self.range_weight = np.array([1.0 - each.weight.sum() for each in marginals])
        sizes = [len(each.weight) for each in marginals]
        self.of = np.repeat(np.arange(self.count), sizes)  # the parameter of each point
        self.weight = np.concatenate([each.weight for each in marginals])
        self.columns = [each.columns for each in marginals for _ in each.weight]
        self.points = [point for each in marginals for point in each.points]

    def cells(self, boxes: _Boxes) -> tuple[NDArray[np.bool_], Floats, NDArray[np.intp]]:
        """What the splits tell apart, parameter after parameter.

        Returns:
            Which leaf holds which cell, shape ``(n_leaves, n_cells)``; how often each cell is
            drawn; and whose it is, of the parameters that any split asks for.
        """
        asked = np.zeros(self.count, dtype=np.bool_)
        asked[self.owner[boxes.column]] = True
        points = np.flatnonzero(asked[self.of])
        inside = np.empty((len(boxes.value), 0), dtype=np.bool_)
        if points.size:
            own = [self.columns[point] for point in points]
            starts = np.cumsum([0, *(len(each) for each in own[:-1])])
            value = np.concatenate([self.points[point] for point in points])
            held = boxes.hold(np.concatenate(own), value)
            inside = np.logical_and.reduceat(held, starts, axis=1)
        ranged = self.ranged[self.owner[boxes.column]]
        ranged &= (boxes.threshold > 0.0) & (boxes.threshold < 1.0)
        ends = np.flatnonzero((self.ranged & asked)[self.owner])
        column = np.concatenate([boxes.column[ranged], ends, ends])
        edge = np.concatenate([boxes.threshold[ranged], np.zeros(len(ends)), np.ones(len(ends))])
        order = np.lexsort((edge, column))
        column, edge = column[order], edge[order]
        real = np.flatnonzero((np.diff(edge) > 0) & (np.diff(column) == 0))
        column, low, high = column[real], edge[real], edge[real + 1]
        of = np.concatenate([self.of[points], self.owner[column]])
        member = np.concatenate([inside, boxes.hold(column, (low + high) / 2)], axis=1)
        weight = (high - low) * self.range_weight[self.owner[column]]
        weight = np.concatenate([self.weight[points], weight])
        order = np.argsort(of, kind="stable")
        return member[:, order], weight[order], of[order]

    def shares(self, boxes: _Boxes) -> tuple[Floats, Floats] | None:
        """What each parameter and each pair makes; None of a tree that does not vary."""
        if not boxes.column.size:
            return None
        inside, weight, of = self.cells(boxes)
        split, start, sizes = np.unique(of, return_index=True, return_counts=True)
        member = inside.astype(np.float64)
        part = np.add.reduceat(member * weight, start, axis=1)  # of a parameter's draws in a leaf
        real = part.all(axis=1)  # no draw comes to the others
        member, part, value = member[real], part[real], boxes.value[real]
        mass = part.prod(axis=1)
        value = value - mass @ value
        variance = float(mass @ value**2)
        if variance <= _NOTHING * float(np.max(value**2, initial=0.0)):
            return None
        member /= np.repeat(part, sizes, axis=1)
        weighed = (mass * value)[:, None] * member
        main = weighed.sum(axis=0)  # the mean of the tree where a parameter is in a cell
        beyond = (weighed.T @ member - main[:, None] - main) ** 2  # where two are, less theirs
        beyond *= weight * weight[:, None]
        joint = np.add.reduceat(np.add.reduceat(beyond, start, axis=0), start, axis=1)
        np.fill_diagonal(joint, 0.0)
        alone, pairs = np.zeros(self.count), np.zeros((self.count, self.count))
        alone[split] = np.add.reduceat(main**2 * weight, start) / variance
        pairs[np.ix_(split, split)] = joint / variance
        return alone, pairs
