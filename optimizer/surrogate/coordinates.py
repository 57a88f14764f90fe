"""Latent points as the additive process compares them: a level and a position a parameter."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.gaussian_process.effects import Grid
from models.gaussian_process.kernel import KernelInputs
from sampler.space.latent import SPECIAL_SHARE
from sampler.space.space import Space

Floats = NDArray[np.float64]
_STEPS = 16  # of a range: what the kernel makes of one is smooth


@dataclass(frozen=True)
class CubeLayout:
    """What the coordinates of a point stand for."""

    names: tuple[str, ...]  # the moving parameters, in the order of the columns
    # For each, how many categories it has (0: it has a range), and how many special values take
    # the lowest part of its coordinate.
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
