"""How long it takes to rank parameters: `python -m benchmarks.ranking`."""

import os
import platform
import time
from importlib.metadata import version

from models.importance.ranking import rank_parameters
from studies.recorded_trials import made_up_trials


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
