"""The noiseless answer of a test function: metrics of any configuration, learned from runs.

Learned are logarithms of the metrics over the encoded values in effect, one model a metric. The
family is `boosting`, which no strategy here uses, or `forest`, which judges a second time and is
akin to what the strategy `guided` learns; `none` is the truth of the null problem: no option
matters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

from sampler.rocksdb.parameters import Value
from sampler.space.latent import encode_columns
from sampler.space.space import Configuration, Space, digest
from studies.search.recorded import Recorded

Floats = NDArray[np.float64]
Settings = Mapping[str, Any]
_FOLDS = 5

FAMILIES: Mapping[str, Callable[[Settings], Any]] = {
    "boosting": lambda given: HistGradientBoostingRegressor(
        learning_rate=0.05, max_iter=400, min_samples_leaf=5, random_state=0, **given
    ),
    "forest": lambda given: RandomForestRegressor(n_estimators=100, random_state=0, **given),
}
SETTINGS: Mapping[str, Sequence[Settings]] = {
    "boosting": [{"max_leaf_nodes": leaves} for leaves in (4, 8, 16)],
    "forest": [{"max_features": share} for share in (0.33, 1.0)],
    "none": [],
}


@dataclass(frozen=True)
class Tuned:
    """The settings of one metric's model, and how well it does.

    Attributes:
        r2: Of logarithms of unseen runs, by cross-validation: no run of a configuration is
            predicted by a model that saw another of it, and runs of the default are not counted.
    """

    settings: Settings
    r2: float


@dataclass(frozen=True, eq=False)
class Truth:
    """Metrics as a function of the configuration.

    Attributes:
        space: All parameters that moved when the runs were made.
        held: Values of those that a problem does not tune.
        level: The logarithm of each metric at the median of the default's runs.
        models: A fitted one for each metric; empty where no option matters.
    """

    space: Space
    held: Configuration
    level: Mapping[str, float]
    models: Mapping[str, Any] = field(default_factory=dict)

    def logarithms(self, configurations: Sequence[Configuration]) -> dict[str, Floats]:
        """The logarithm of each metric, shape `(n_configurations,)`."""
        if not self.models:
            return {m: np.full(len(configurations), level) for m, level in self.level.items()}
        columns, _ = encode_columns(self.space, [{**self.held, **c} for c in configurations])
        return {metric: model.predict(columns) for metric, model in self.models.items()}

    def metrics(self, configuration: Configuration) -> dict[str, float]:
        """The metrics of one configuration."""
        found = self.logarithms([configuration])
        return {metric: float(np.exp(values[0])) for metric, values in found.items()}


@dataclass(frozen=True, eq=False)
class Table:
    """Recorded runs as numbers.

    Attributes:
        columns: Encoded values in effect, shape `(n_runs, n_columns)`.
        targets: By metric logarithms of shape `(n_runs,)`; NaN where a run lacks it.
        groups: Runs of the same configuration share a number, shape `(n_runs,)`.
        taught: The default: always learned from, never judged. Shape `(n_runs,)`.
    """

    columns: Floats
    targets: Mapping[str, Floats]
    groups: NDArray[np.intp]
    taught: NDArray[np.bool_]


def table_of(recorded: Recorded) -> Table:
    """All runs, those of the default included: it weighs as often as it was measured."""
    columns, _ = encode_columns(recorded.space, [run.configuration for run in recorded.runs])
    metrics = [term.metric for term in recorded.problem.objective.terms]
    targets = {
        name: np.log([run.metrics.get(name, np.nan) for run in recorded.runs]) for name in metrics
    }
    digests = [digest(run.configuration) for run in recorded.runs]
    place = {name: at for at, name in enumerate(dict.fromkeys(digests))}
    groups = np.array([place[name] for name in digests], dtype=np.intp)
    default = digest(recorded.default)
    return Table(columns, targets, groups, np.array([name == default for name in digests]))


def tune(recorded: Recorded, family: str) -> dict[str, Tuned]:
    """The settings of each metric's model that do best on unseen runs; none for `none`."""
    if not SETTINGS[family]:
        return {}
    table = table_of(recorded)
    return {
        metric: max(
            (Tuned(s, unseen_r2(table, metric, family, s)) for s in SETTINGS[family]),
            key=lambda tuned: tuned.r2,
        )
        for metric in table.targets
    }


def unseen_r2(table: Table, metric: str, family: str, settings: Settings) -> float:
    """R2 of one metric's logarithm by cross-validation over configurations."""
    target = table.targets[metric]
    order = np.random.default_rng(0).permutation(table.groups.max() + 1)
    folds = (order % _FOLDS)[table.groups]
    known = np.isfinite(target)
    predicted = np.full(len(target), np.nan)
    for fold in range(_FOLDS):
        seen = known & ((folds != fold) | table.taught)
        model = FAMILIES[family](settings).fit(table.columns[seen], target[seen])
        unseen = known & (folds == fold) & ~table.taught
        predicted[unseen] = model.predict(table.columns[unseen])
    judged = np.isfinite(predicted)
    error, spread = target[judged] - predicted[judged], target[judged] - target[judged].mean()
    return float(1 - (error @ error) / (spread @ spread))


def learn(recorded: Recorded, family: str, tuned: Mapping[str, Tuned]) -> Truth:
    """The truth that a family learns from all runs with these settings."""
    names = [term.metric for term in recorded.problem.objective.terms]
    level = {
        name: float(np.log(np.median([run.metrics[name] for run in recorded.default_runs])))
        for name in names
    }
    tunes = recorded.problem.space.by_name
    held: dict[str, Value] = {n: v for n, v in recorded.default.items() if n not in tunes}
    models: dict[str, Any] = {}
    if family in FAMILIES:
        table = table_of(recorded)
        for name, found in tuned.items():
            known = np.isfinite(table.targets[name])
            model = FAMILIES[family](found.settings)
            models[name] = model.fit(table.columns[known], table.targets[name][known])
    return Truth(recorded.space, held, level, models)
