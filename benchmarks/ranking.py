"""How long it takes to rank parameters: `python -m benchmarks.ranking`."""

import os
import platform
import time
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from models.importance.anova import group_labels
from models.importance.design import FeatureMatrix
from models.importance.ranking import rank_parameters

N_NUMERIC = 29  # and one category of six levels: 30 parameters in 35 columns
N_LEVELS = 6


def made_up_trials(
    n_trials: int, *, seed: int = 0
) -> tuple[FeatureMatrix, dict[str, NDArray[np.float64]], dict[str, tuple[str | None, ...]]]:
    """Make deterministic trials whose four metrics depend on seven of thirty parameters.

    Args:
        n_trials: How many rows.
        seed: Decides the draws.

    Returns:
        Features, targets and groups, as `rank_parameters` takes them.
    """
    rng = np.random.default_rng(seed)
    numbers = rng.random((n_trials, N_NUMERIC))
    level = rng.integers(N_LEVELS, size=n_trials)
    names = (*(f"number_{i}" for i in range(N_NUMERIC)), "category")
    features = FeatureMatrix(
        values=np.hstack([numbers, np.eye(N_LEVELS)[level]]),
        names=names,
        owner=np.array([*range(N_NUMERIC), *[N_NUMERIC] * N_LEVELS]),
    )
    a, b, c, d, e, f = numbers[:, :6].T
    clean = {
        "waf": 3 * a + np.sin(6 * b) + 2 * c * d,
        "sa": level / 2 + a,
        "time": 2 * e * a + f + (level == 2),
        "rate": 1 / (0.5 + a) + b,
    }
    targets = {name: y + rng.normal(scale=0.3, size=n_trials) for name, y in clean.items()}
    groups = {
        name: group_labels(column.tolist())
        for name, column in zip(names[:-1], numbers.T, strict=True)
    }
    groups["category"] = group_labels([f"level {i}" for i in level])
    return features, targets, groups


def main() -> None:
    """Rank made-up trials of growing number and print the seconds."""
    libraries = ("numpy", "scipy", "scikit-learn", "statsmodels")
    print(f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}")
    print(", ".join(f"{name} {version(name)}" for name in libraries))
    print(
        f"{'trials':>7} {'parameters':>10} {'columns':>7} {'metrics':>7} {'seconds':>8} {'R2':>5}"
    )
    rank_parameters(*made_up_trials(50), seed=0)  # first call: imports and thread pools
    for n_trials in (200, 500, 2_000, 10_000):
        features, targets, groups = made_up_trials(n_trials)
        start = time.perf_counter()
        ranking = rank_parameters(features, targets, groups, seed=0)
        seconds = time.perf_counter() - start
        forest = ranking.metrics["waf"].forest
        r2 = forest.r2_split if forest and forest.r2_split is not None else float("nan")
        print(
            f"{n_trials:>7} {features.n_parameters:>10} {features.values.shape[1]:>7} "
            f"{len(targets):>7} {seconds:>8.2f} {r2:>5.2f}"
        )


if __name__ == "__main__":
    main()
