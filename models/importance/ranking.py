"""Everything that the trials tell about the parameters, and one order of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models.importance.anova import AnovaResult, anova, holm
from models.importance.design import FeatureMatrix, measured_rows
from models.importance.importance import Importance, mean_share, measure_importance
from models.importance.stability import Stability, rank_stability
from models.random_forest import FittedForest, fit_forest


@dataclass(frozen=True, eq=False)
class Tested:
    """The analysis of variance of one metric."""

    anova: Mapping[str, AnovaResult]  # of each parameter
    # Its p-value of each parameter, corrected for all parameters and metrics.
    p_holm: Mapping[str, float | None]


@dataclass(frozen=True, eq=False)
class MetricRanking:
    """What the trials tell about one metric."""

    forest: FittedForest | None  # the forest and its scores; None if no trial has this metric
    # None if the forest could not be judged: fewer than 10 trials have this metric, or it is
    # constant.
    importance: Importance | None
    stability: Stability | None  # none in the same cases
    anova: Mapping[str, AnovaResult]  # the analysis of variance of each parameter
    # Its p-value of each parameter, corrected for all parameters and metrics.
    p_holm: Mapping[str, float | None]


@dataclass(frozen=True, eq=False)
class ParameterRanking:
    """All parameters in one order, and the evidence metric by metric."""

    names: tuple[str, ...]  # the parameters in the order of the features; arrays follow it
    order: tuple[str, ...]  # the parameters, most important first
    # Shape `(n_parameters,)`, mean over the metrics of each parameter's share of the mean decrease
    # in impurity: what `order` goes by. Sums to 1, or is all 0 if no metric's forest could be
    # judged.
    importance: NDArray[np.float64]
    metrics: Mapping[str, MetricRanking]  # the evidence for each metric


def rank_parameters(
    features: FeatureMatrix,
    targets: Mapping[str, ArrayLike],
    groups: Mapping[str, Sequence[str | None]],
    *,
    seed: int,
    top_k: int = 5,
    trees: int = 100,
    resamples: int = 25,
    n_repeats: int = 5,
) -> ParameterRanking:
    """Rank the parameters by their importance for the metrics.

    Every metric counts the same, however many trials have it. A trial without a metric (NaN) is
    left out for that metric alone. Metrics share the seed and the correction of the p-values, for
    each asks as many questions more. Adding one changes nothing else that is found for the others.
    Parameters that tie keep the order of `features.names`.

    Args:
        features: The settings.
        targets: By metric.
        groups: By parameter its label in each trial, from `group_labels`.
        seed: Decides everything random.
        top_k: How many parameters count as the top in the stability.
        trees: Size of each metric's forest.
        resamples: Bootstrap refits of the stability.
        n_repeats: Shuffles of the permutation importance.

    Raises:
        ValueError: If the shapes disagree, a target is infinite, or `groups` does not name exactly
            the parameters of the features.
    """
    all_tests = tested_parameters(features, targets, groups)

    def rank_metric(metric: str, target: ArrayLike) -> MetricRanking:
        tests, p_holm = all_tests[metric].anova, all_tests[metric].p_holm
        if not measured_rows(features, target).any():
            return MetricRanking(None, None, None, tests, p_holm)
        forest = fit_forest(features, target, seed=seed, trees=trees)
        if not forest.folds:
            return MetricRanking(forest, None, None, tests, p_holm)
        importance = measure_importance(features, target, forest, seed=seed, n_repeats=n_repeats)
        stability = rank_stability(
            features, target, importance.mdi, seed=seed, resamples=resamples, top_k=top_k
        )
        return MetricRanking(forest, importance, stability, tests, p_holm)

    metrics = {metric: rank_metric(metric, target) for metric, target in targets.items()}
    fitted = [m.importance.mdi for m in metrics.values() if m.importance is not None]
    combined = mean_share(fitted, features.n_parameters)
    order = np.argsort(-combined, kind="stable")
    return ParameterRanking(
        names=features.names,
        order=tuple(features.names[i] for i in order),
        importance=combined,
        metrics=metrics,
    )


def tested_parameters(
    features: FeatureMatrix,
    targets: Mapping[str, ArrayLike],
    groups: Mapping[str, Sequence[str | None]],
) -> dict[str, Tested]:
    """The analysis of variance of every parameter and metric; see `rank_parameters`."""
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
