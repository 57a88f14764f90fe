"""One order of the parameters, by forests, and which of them matter, by tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from models.importance.anova import AnovaResult, anova, holm
from models.importance.design import FeatureMatrix, measured_rows
from models.importance.importance import mean_share
from models.random_forest import MIN_TRIALS, grow_forest


@dataclass(frozen=True, eq=False)
class Tested:
    """The analysis of variance of one metric."""

    anova: Mapping[str, AnovaResult]  # of each parameter
    # Its p-value of each parameter, corrected for all parameters and metrics.
    p_holm: Mapping[str, float | None]


def rank_parameters(
    features: FeatureMatrix, targets: Mapping[str, ArrayLike], *, seed: int, trees: int = 100
) -> tuple[str, ...]:
    """The parameters, the most important for the metrics first.

    By the mean over the metrics of each one's share of the mean decrease in impurity, as in Jin et
    al. (JIPS 2022). Every metric counts the same, however many trials have it (NaN: it has not);
    one that fewer than 10 settings have, or that is constant, does not count. Parameters that tie
    keep the order of `features.names`.

    Raises:
        ValueError: If the shapes disagree or a target is infinite.
    """
    found = []
    for target in targets.values():
        rows, y = np.flatnonzero(measured_rows(features, target)), np.asarray(target, np.float64)
        if len(features.by_setting(rows)) >= MIN_TRIALS and np.ptp(y[rows]) > 0:
            x = features.values[rows].astype(np.float32)
            forest = grow_forest(x, y[rows], seed=seed, trees=trees)
            found.append(features.sum_columns(forest.feature_importances_))
    order = np.argsort(-mean_share(found, features.n_parameters), kind="stable")
    return tuple(features.names[place] for place in order)


def tested_parameters(
    features: FeatureMatrix,
    targets: Mapping[str, ArrayLike],
    groups: Mapping[str, Sequence[str | None]],
) -> dict[str, Tested]:
    """The analysis of variance of every parameter and metric.

    `groups` has by parameter its label in each trial, from `group_labels`. Each metric asks as
    many questions more, for which the p-values of all are corrected.

    Raises:
        ValueError: If the shapes disagree, a target is infinite, or `groups` does not name exactly
            the parameters of the features.
    """
    if set(groups) != set(features.names):
        odd = sorted(set(groups) ^ set(features.names))
        raise ValueError(f"groups must name exactly the features' parameters; check {odd[0]!r}")

    tested = {
        metric: {name: anova(groups[name], target) for name in features.names}
        for metric, target in targets.items()
    }
    asked = [(metric, name) for metric, tests in tested.items() for name in tests]
    corrected = holm([tested[metric][name].p for metric, name in asked])
    all_p = dict(zip(asked, corrected, strict=True))
    return {
        metric: Tested(tests, {name: all_p[metric, name] for name in tests})
        for metric, tests in tested.items()
    }
