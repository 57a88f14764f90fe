"""How long it takes to rank parameters: `python -m benchmarks.ranking`.

Whole rankings of a job (forests, processes, directions, and tests of the draws) over 30 parameters
and four metrics, then the forests of the draws that the paper's strategy ranks by.
"""

import os
import platform
import time
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.importance import rank_parameters
from models.random_forest import FeatureMatrix
from optimizer.evaluation.evaluation import Evaluation
from optimizer.results.search import parameter_ranking
from optimizer.strategies.registry import find_strategy
from optimizer.trials.trial import History
from studies.search.best import Effort
from studies.search.functions import Functions
from studies.search.run import run

N_NUMERIC = 29  # and one category of six levels: 30 parameters in 35 columns
N_LEVELS = 6
_FUNCTIONS = Path("docs/results/search_functions.json")


def main() -> None:
    """Rank trials of growing number and print the seconds."""
    libraries = ("numpy", "scipy", "scikit-learn", "statsmodels")
    print(f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}")
    print(", ".join(f"{name} {version(name)}" for name in libraries))
    rank_parameters(*made_up_trials(50), seed=0)  # first call: imports and thread pools
    of_jobs()
    of_draws()


def of_jobs() -> None:
    """Draws of the recorded problem ``load``, ranked as at the end of a job."""
    function, _ = Functions(_FUNCTIONS, Effort()).make("load", "boosting")
    print(f"\n{'trials':>7} {'parameters':>10} {'metrics':>7} {'seconds':>8} {'processor':>9}")
    for n_trials in (90, 200, 2_000):
        history = History()
        run(function, find_strategy("random"), seed=0, evaluations=n_trials, checkpoints=(),
            history=history)  # fmt: skip
        problem = replace(function.problem, seed=0)
        evaluation = Evaluation(problem, history)
        start, used = time.perf_counter(), time.process_time()
        found = parameter_ranking(evaluation).document()
        seconds, used = time.perf_counter() - start, time.process_time() - used
        print(
            f"{n_trials:>7} {len(problem.space.names):>10} {len(found['models']):>7} "
            f"{seconds:>8.2f} {used:>9.2f}"
        )


def of_draws() -> None:
    """Made-up draws, ranked as before the paper's search."""
    titles = f"{'parameters':>10} {'columns':>7} {'metrics':>7} {'seconds':>8}"
    print(f"\n{'trials':>7} {titles}")
    for n_trials in (200, 500, 2_000, 10_000):
        features, targets = made_up_trials(n_trials)
        start = time.perf_counter()
        rank_parameters(features, targets, seed=0)
        seconds = time.perf_counter() - start
        print(
            f"{n_trials:>7} {features.n_parameters:>10} {features.values.shape[1]:>7} "
            f"{len(targets):>7} {seconds:>8.2f}"
        )


def made_up_trials(n_trials: int) -> tuple[FeatureMatrix, dict[str, NDArray[np.float64]]]:
    """Deterministic trials whose four metrics depend on seven of thirty parameters."""
    rng = np.random.default_rng(0)
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
    return features, targets


if __name__ == "__main__":
    main()
