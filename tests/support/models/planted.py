"""Made-up trials whose truth is known."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from models.anova import group_labels
from models.gaussian_process.process import KernelInputs
from models.random_forest import FeatureMatrix


def ranges(points: NDArray[np.float64]) -> KernelInputs:
    """Settings of parameters that are all ranges, at points of the cube, one a row."""
    return KernelInputs(np.zeros(points.shape, dtype=np.int64), points)


LEVELS = ("red", "green", "blue", "grey")


@dataclass(frozen=True)
class Planted:
    """`strong` explains most, then `codec` (one level of four), then `weak`; noise_* nothing."""

    features: FeatureMatrix
    target: NDArray[np.float64]
    groups: dict[str, tuple[str | None, ...]]


def plant(n_trials: int, seed: int = 0) -> Planted:
    rng = np.random.default_rng(seed)
    numbers = rng.random((n_trials, 6))  # strong, weak, noise_0 .. noise_3
    level = rng.integers(4, size=n_trials)
    names = ("strong", "codec", "weak", "noise_0", "noise_1", "noise_2", "noise_3")
    columns = [numbers[:, :1], np.eye(4)[level], numbers[:, 1:]]
    groups = {
        name: group_labels(numbers[:, i].tolist())
        for i, name in enumerate(name for name in names if name != "codec")
    }
    groups["codec"] = group_labels([LEVELS[i] for i in level])
    return Planted(
        features=FeatureMatrix(
            values=np.hstack(columns),
            names=names,
            owner=np.array([0, 1, 1, 1, 1, 2, 3, 4, 5, 6]),
        ),
        target=(
            6 * numbers[:, 0]
            + 2.5 * (level == 2)
            + 1.5 * numbers[:, 1]
            + rng.normal(scale=0.3, size=n_trials)
        ),
        groups=groups,
    )


@pytest.fixture(scope="session")
def planted() -> Planted:
    return plant(400)
