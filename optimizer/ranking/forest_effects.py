"""What forests of all trials of a job say of its parameters, over the whole space."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.importance.functional_anova import FunctionalAnova, functional_anova
from models.importance.importance import permutation_importance
from models.importance.stability import Stability, compare_rankings
from models.random_forest import bagged_forest, held_out, pooled_r2
from optimizer.surrogate.coordinates import CubeLayout, Floats

_MOST_PAIRS = 10


@dataclass(frozen=True, eq=False)
class ForestEffects:
    """What the forest of one metric says; arrays follow the parameters that move."""

    # Share of the forest's variance over the whole space that the parameter makes by itself, and
    # with all its pairs (functional analysis of variance).
    alone: Floats
    total: Floats
    # low, high: of ``total`` from the 2.5th to the 97.5th percentile over resampled trials.
    low: Floats
    high: Floats
    mdi: Floats  # mean decrease in impurity, the paper's measure; sums to 1
    # R2 of unseen trials that is lost when the parameter's settings are shuffled, and its standard
    # deviation over the shuffles.
    permutation: Floats
    permutation_std: Floats
    stability: Stability  # the order by ``total``, over resampled trials
    pairs: tuple[tuple[str, str, float], ...]  # the largest shares that two make only together
    r2: float  # of unseen trials, all folds together
    r2_std: float  # standard deviation over the folds
    trials: int  # how many have the metric


def forest_effects(
    layout: CubeLayout,
    points: Floats,
    target: Floats,
    fold: NDArray[np.intp],
    *,
    seed: int,
    top_k: int,
) -> ForestEffects | None:
    """Grow a metric's forest and take it apart; None where all trials measured the same.

    Args:
        layout: Of the points.
        points: Shape ``(n, n_names)``, latent coordinates of trials, wherever a search went.
        target: Shape ``(n,)``; NaN where unknown.
        fold: Shape ``(n,)``: in which fold a trial is held out, -1 for none.
        seed: Decides everything random.
        top_k: How many count as the top in ``stability``.
    """
    features, known = layout.features(points), np.flatnonzero(np.isfinite(target))
    folds = held_out(features, target, fold, seed=seed)
    r2 = pooled_r2(folds, features, target)
    forest = bagged_forest(features, target, known, seed=seed)
    found = [functional_anova(bag, layout.marginals()) for bag in forest.bags]
    totals = [each.total() for each in found if len(each.alone)]
    if r2 is None or not totals:
        return None
    total, bags = np.concatenate(totals).mean(axis=0), np.array([t.mean(axis=0) for t in totals])
    low, high = np.percentile(bags, [2.5, 97.5], axis=0)
    lost = permutation_importance(features, target, folds, seed=seed)
    each_r2 = [pooled_r2([one], features, target) for one in folds if one.held_out.size]
    return ForestEffects(
        alone=np.concatenate([each.alone for each in found]).mean(axis=0),
        total=total,
        low=low,
        high=high,
        mdi=features.sum_columns(
            np.mean([tree.feature_importances_ for tree in forest.trees], axis=0)
        ),
        permutation=lost.mean(axis=1),
        permutation_std=lost.std(axis=1),
        stability=compare_rankings(bags, total, top_k=min(top_k, len(total))),
        pairs=_strongest(layout, found),
        r2=r2,
        r2_std=float(np.std([each for each in each_r2 if each is not None])),
        trials=len(known),
    )


def _strongest(
    layout: CubeLayout, found: list[FunctionalAnova]
) -> tuple[tuple[str, str, float], ...]:
    mean = np.triu(np.concatenate([each.pairs for each in found]).mean(axis=0))
    order = np.argsort(-mean, axis=None, kind="stable")[:_MOST_PAIRS]
    places = zip(*np.unravel_index(order, mean.shape), strict=True)
    named = [(layout.names[i], layout.names[j], float(mean[i, j])) for i, j in places]
    return tuple(each for each in named if each[2] > 0)
