"""Trials as the models take them: those of tests/data, of a stored job, and made-up ones."""

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from db.connection.engine import make_engine
from db.jobs.job_store import JobStore
from jobs.specification.resolved_job import resolve
from jobs.specification.specification import specification_from_document
from models.importance.design import FeatureMatrix
from optimizer.evaluation.evaluation import draws_of, draws_table
from optimizer.trials.history import History
from optimizer.trials.trial import Phase, Purpose

N_NUMERIC = 29  # and one category of six levels: 30 parameters in 35 columns
N_LEVELS = 6
RECORDED = Path(__file__).parents[1] / "tests/data/recorded_trials_load.jsonl.gz"


@dataclass(frozen=True, eq=False)
class Learned:
    """What a ranking is learned from.

    Attributes:
        name: Where the trials come from.
        features: The settings, a row a trial.
        targets: Metric to values of shape `(n_trials,)`; NaN where it was not measured.
    """

    name: str
    features: FeatureMatrix
    targets: Mapping[str, NDArray[np.float64]]


def recorded(path: Path = RECORDED) -> Learned:
    """The random trials of a load of 100,000 keys, with the four metrics of the paper's fitness.

    Times are logarithms, as the tool learns them; `rate` is the load's operations per second.
    """
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        trials = [trial for trial in map(json.loads, lines) if not trial["default"]]
    names = tuple(trials[0]["config"])
    columns: list[list[float]] = []
    owner: list[int] = []
    for parameter, name in enumerate(names):
        values = [trial["config"][name] for trial in trials]
        levels = sorted(set(values)) if isinstance(values[0], str) else []
        new = [[float(v == level) for v in values] for level in levels] or [values]
        columns += new
        owner += [parameter] * len(new)
    results = [trial["result"] for trial in trials]
    seconds = np.array([r["ops"]["fillrandom"]["seconds"] for r in results])
    return Learned(
        f"{len(trials)} recorded random trials of a load",
        FeatureMatrix(values=np.array(columns, dtype=float).T, names=names, owner=np.array(owner)),
        {
            "waf": np.array(
                [(r["bytes_flush"] + r["bytes_compact"]) / r["bytes_user"] for r in results]
            ),
            "sa": np.array([r["sst_bytes"] / r["bytes_user"] for r in results]),
            "time": np.log(seconds),
            "rate": np.log(100_000 / seconds),
        },
    )


def drawn_by(address: str, job_id: int) -> Learned:
    """The draws of a stored job, as its own ranking learns them.

    Raises:
        KeyError: There is no such job.
        ValueError: No run of its baseline has ended well.
    """
    engine = make_engine(address)
    try:
        store = JobStore(engine)
        specification = specification_from_document(store.job(job_id).specification)
        history = History(store.trials(job_id))
    finally:
        engine.dispose()
    problem = resolve(specification, None).problem
    drawn = draws_of(history, history.of(Purpose.CANDIDATE, Phase.SAMPLE))
    features, targets = draws_table(problem, history, drawn)
    space, workload = problem.space.name, problem.workload.name
    return Learned(
        f"{len(drawn.numbers)} draws of the space {space} under {workload}", features, targets
    )


def made_up_trials(
    n_trials: int, *, seed: int = 0
) -> tuple[FeatureMatrix, dict[str, NDArray[np.float64]]]:
    """Make deterministic trials whose four metrics depend on seven of thirty parameters.

    Args:
        n_trials: How many rows.
        seed: Decides the draws.

    Returns:
        Features and targets, as `rank_parameters` takes them.
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
    return features, targets
