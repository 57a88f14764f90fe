"""Latent points as the additive process compares them: a level and a position a parameter."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models import Floats
from models.gaussian_process.effects import Grid
from models.gaussian_process.kernel import KernelInputs
from models.importance.design import FeatureMatrix
from models.importance.functional_anova import Marginal
from sampler.space.latent import SPECIAL_SHARE
from sampler.space.space import Space

_STEPS = 16  # of a range: what the kernel makes of one is smooth


@dataclass(frozen=True)
class CubeLayout:
    """What the coordinates of a point stand for."""

    names: tuple[str, ...]  # the moving parameters, in the order of the columns
    # For each, how many categories (0: a range), and special values in its lowest part, it has.
    kinds: tuple[tuple[int, int], ...]

    def settings(self, points: Floats) -> KernelInputs:
        """The settings at points of [0, 1), shape ``(n, n_names)``."""
        level = np.zeros(points.shape, dtype=np.int64)
        position = points.copy()
        for column, (categories, special) in enumerate(self.kinds):
            u = points[:, column]
            if categories:
                level[:, column] = np.minimum((u * categories).astype(np.int64), categories - 1)
                position[:, column] = 0.0
            elif special:
                is_special = u < SPECIAL_SHARE
                which = np.minimum((u / SPECIAL_SHARE * special).astype(np.int64), special - 1)
                level[:, column] = np.where(is_special, 1 + which, 0)
                inside = (u - SPECIAL_SHARE) / (1.0 - SPECIAL_SHARE)
                position[:, column] = np.where(is_special, 0.0, inside)
        return KernelInputs(level, position)

    def grids(self) -> tuple[Grid, ...]:
        """Settings of each parameter that stand for all, as often as draws take them."""
        return tuple(_grid(categories, special) for categories, special in self.kinds)

    def features(self, points: Floats) -> FeatureMatrix:
        """The same as trees split it, one or more columns a parameter.

        A range is one column, its special values below 0; each of more than two categories has a
        column of its own.
        """
        settings = self.settings(points)
        columns, owner = [], []
        for place, (categories, _) in enumerate(self.kinds):
            level, position = settings.level[:, place], settings.position[:, place]
            if categories > 2:
                own = (level[:, None] == np.arange(categories)).astype(np.float64).T
            else:
                within = np.where(level > 0, _below(level - 1), position)
                own = (level.astype(np.float64) if categories else within)[None, :]
            columns.append(own)
            owner += [place] * len(own)
        values = np.concatenate(columns).T
        return FeatureMatrix(values, self.names, np.array(owner, dtype=np.intp))

    def marginals(self) -> tuple[Marginal, ...]:
        """How draws take each parameter, in the columns of ``features``."""
        found, first = [], 0
        for categories, special in self.kinds:
            width = categories if categories > 2 else 1
            if categories:
                points = np.eye(categories) if width > 1 else np.arange(categories)[:, None]
                weight = np.full(categories, 1.0 / categories)
            else:
                points = _below(np.arange(special))[:, None]
                weight = np.full(special, SPECIAL_SHARE / max(special, 1))
            columns = np.arange(first, first + width)
            found.append(Marginal(columns, points.astype(np.float64), weight, not categories))
            first += width
        return tuple(found)


def _below(special: NDArray[np.int64]) -> Floats:
    """Where special values stand in the column of a range."""
    return np.asarray(-1.0 - 0.1 * special)


def _grid(categories: int, special: int) -> Grid:
    if categories:
        level, position = np.arange(categories), np.zeros(categories)
        weight = np.full(categories, 1.0 / categories)
    else:
        inside = SPECIAL_SHARE if special else 0.0
        level = np.concatenate([1 + np.arange(special), np.zeros(_STEPS, dtype=np.int64)])
        position = np.concatenate([np.zeros(special), (np.arange(_STEPS) + 0.5) / _STEPS])
        weight = np.concatenate(
            [np.full(special, inside / max(special, 1)), np.full(_STEPS, (1 - inside) / _STEPS)]
        )
    return Grid(KernelInputs(level.astype(np.int64)[:, None], position[:, None]), weight)


def cube_layout(space: Space, names: Sequence[str]) -> CubeLayout:
    """The layout of points over some of a space's parameters."""
    parameters = [space.by_name[name] for name in names]
    kinds = ((0, len(p.special)) if p.is_numeric else (len(p.values), 0) for p in parameters)
    return CubeLayout(tuple(names), tuple(kinds))
