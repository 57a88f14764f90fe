"""How long it takes to rank parameters: `python -m benchmarks.ranking`.

Whole rankings of a job (forests, processes, directions, and tests of the draws) over 30 parameters
and four metrics, then the forests of the draws that the paper's strategy ranks by.
"""

import os
import platform
import time
from importlib.metadata import version
from pathlib import Path

from models.importance.importance import rank_parameters
from optimizer.evaluation.evaluation import Evaluation
from optimizer.results.learned_document import learned_document
from optimizer.strategies.registry import find_strategy
from studies.recorded_trials import made_up_trials
from studies.search.best import Effort
from studies.search.effects import history_of
from studies.search.functions import Functions

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
        problem, history = history_of(function, find_strategy("random"), 0, n_trials)
        evaluation = Evaluation(problem, history)
        start, used = time.perf_counter(), time.process_time()
        found = learned_document(evaluation)
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


if __name__ == "__main__":
    main()
