"""How well models predict recorded runs that they have not seen: what the search is guided by.

``python -m studies.search.prediction`` writes docs/results/search_models.md.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from models.gaussian_process.kernel import KernelInputs, covariance, kernel_matrices
from models.gaussian_process.process import fit_process, standardised
from models.gaussian_process.variance_components import learn_components
from optimizer.surrogate.coordinates import cube_layout
from sampler.machine.machine import fingerprint
from sampler.space.encoding import encode_columns
from sampler.space.latent import encode
from sampler.space.space import digest
from studies.search.recorded import Recorded, read_recorded

Floats = NDArray[np.float64]
Predict = Callable[[NDArray[np.intp], NDArray[np.intp], Floats], Floats]
PROBLEMS = ("load", "paper", "default")
SIZES = (50, 100, 250)
SPLITS = 5
OUT = Path("docs/results/search_models.md")


def models_of(recorded: Recorded) -> tuple[dict[str, Predict], dict[str, Floats]]:
    """The models over a problem's random runs, and the logarithms of their metrics."""
    default = digest(recorded.default)
    runs = [run for run in recorded.runs if digest(run.configuration) != default]
    configurations = [run.configuration for run in runs]
    space, memory = recorded.space, recorded.problem.memory
    columns, _ = encode_columns(space, configurations)
    points = [encode(space, each, memory=memory) for each in configurations]
    settings = cube_layout(space, space.names).settings(
        np.array([[point[name] for name in space.names] for point in points])
    )

    def of_trees(kind: type) -> Predict:
        def predict(seen: NDArray[np.intp], unseen: NDArray[np.intp], values: Floats) -> Floats:
            trees = kind(n_estimators=200, max_features=0.5, random_state=0)
            return np.asarray(trees.fit(columns[seen], values).predict(columns[unseen]))

        return predict

    def additive(seen: NDArray[np.intp], unseen: NDArray[np.intp], values: Floats) -> Floats:
        known = KernelInputs(settings.level[seen], settings.position[seen])
        asked = KernelInputs(settings.level[unseen], settings.position[unseen])
        among = kernel_matrices(known, known)
        components = learn_components(among, standardised(values)[0])
        process = fit_process(covariance(among, components), values, components)
        return process.predict(covariance(kernel_matrices(asked, known), components))[0]

    metrics = [term.metric for term in recorded.problem.objective.terms]
    targets = {m: np.log([run.metrics.get(m, np.nan) for run in runs]) for m in metrics}
    named = {
        "random forest": of_trees(RandomForestRegressor),
        "extra-trees": of_trees(ExtraTreesRegressor),
        "additive process": additive,
    }
    return named, targets


def r2(predict: Predict, values: Floats, size: int, seed: int) -> float:
    """R2 on the runs that were not among ``size`` random ones."""
    order = np.random.default_rng(seed).permutation(np.flatnonzero(np.isfinite(values)))
    seen, unseen = order[:size], order[size:]
    missed = values[unseen] - predict(seen, unseen, values[seen])
    return float(1 - (missed**2).mean() / values[unseen].var())


def table(problem: str) -> list[str]:
    """A problem's rows: mean and standard deviation of R2 over the splits."""
    models, targets = models_of(read_recorded(problem))
    rows = []
    for size in SIZES:
        for name, predict in models.items():
            cells = []
            for values in targets.values():
                found = [r2(predict, values, size, seed) for seed in range(SPLITS)]
                cells.append(f"{np.mean(found):.2f} ± {np.std(found, ddof=1):.2f}")
            rows.append(f"| {problem} | {size} | {name} | {' | '.join(cells)} |")
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Writes the page."""
    machine = fingerprint(Path())
    with threadpool_limits(1):
        rows = [row for problem in PROBLEMS for row in table(problem)]
    head = (
        f"`python -m studies.search.prediction`, {datetime.now(UTC).date()}, "
        f"{machine['cpu']}, {machine['cores']} cores, Python {platform.python_version()}."
    )
    OUT.write_text(
        "# Models on recorded runs that they have not seen\n\n"
        f"{head} R2 of the metrics' logarithms; mean and standard deviation over {SPLITS} random "
        "choices of the runs that are learned from. Forests have 200 trees and see the encoded "
        "values in effect, as the ranking does; the additive process sees latent coordinates.\n\n"
        "| problem | learned from | model | WAF | SA | TIME | RATE |\n"
        "|---|--:|---|--:|--:|--:|--:|\n" + "\n".join(rows) + "\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
