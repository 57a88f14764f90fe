"""What the trials of a whole job teach about the parameters: how much each matters, and which way.

A process and a forest learn each metric from all trials, the searched ones too: where a trial is
does not matter to either. Of each metric that one ranks that predicts unseen trials better.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models import Floats
from models.gaussian_process.effects import (
    drawn_effects,
    effects_of,
    matter_p,
    setting_folds,
    unseen_r2,
)
from models.gaussian_process.process import (
    KernelInputs,
    kernel_matrices,
    of_sums,
    one_thread,
    standardised,
)
from models.importance.anova import holm
from models.importance.functional_anova import FunctionalAnova, functional_anova
from models.importance.importance import (
    Stability,
    compare_rankings,
    mean_share,
    permutation_importance,
)
from models.random_forest import bagged_forest, held_out, pooled_r2
from optimizer.evaluation.evaluation import Evaluation
from optimizer.surrogate.job_model import JobModel, job_surrogate
from optimizer.surrogate.training_data import CubeLayout, TrainingData, teaching, training_data_of
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from sampler.rocksdb.parameters import Parameter, Value

_MOST_PAIRS = 10


@dataclass(frozen=True, eq=False)
class ForestEffects:
    """What the forest of one metric says; arrays follow the parameters that move."""

    # Share of the forest's variance over the whole space that the parameter makes by itself, and
    # with all its pairs (functional analysis of variance).
    alone: Floats
    total: Floats
    low: Floats  # low, high: of ``total``, 2.5th and 97.5th percentile over resampled trials
    high: Floats
    mdi: Floats  # mean decrease in impurity, the paper's measure; sums to 1
    # R2 of unseen trials lost when its settings are shuffled, and the deviation over the shuffles.
    permutation: Floats
    permutation_std: Floats
    stability: Stability  # the order by ``total``, over resampled trials
    pairs: tuple[tuple[str, str, float], ...]  # the largest shares that two make only together
    r2: float  # of unseen trials, all folds together
    r2_std: float  # standard deviation over the folds
    trials: int  # how many have the metric


def _forest_effects(
    problem: Problem, layout: CubeLayout, points: Floats, target: Floats, fold: NDArray[np.intp]
) -> ForestEffects | None:
    """Grows a metric's forest and takes it apart; None where all trials measured the same.

    ``points``, of shape ``(n, n_names)``, are latent coordinates of trials, wherever a search
    went; ``target`` is NaN where unknown, ``fold`` -1 where a trial is never held out.
    """
    seed = problem.seed
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
        stability=compare_rankings(bags, total, top_k=min(problem.search.top, len(total))),
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


_DRAWS = 100
Model = Literal["process", "forest"]
# Of R2: a smaller lead of the forest is the luck of the folds; see docs/results/search_effects.md.
CLEARLY = 0.1


@dataclass(frozen=True, eq=False)
class MetricEffects:
    """What the process says of one metric; arrays follow ``ParameterEffects.names``."""

    # Share of the variance that the parameter makes, pairs included, over the whole space (Sobol'
    # total index of what the process expects); 0 of one that does not move.
    total: Floats
    alone: Floats  # without its pairs
    low: Floats  # low, high: 95% interval of ``total`` over what the process holds possible
    high: Floats
    p: Floats  # p-value of no effect; NaN of a parameter that does not move
    p_holm: Floats  # corrected for all parameters and metrics of the job
    r2: float | None  # of unseen trials, five folds; None: too few
    noise: float  # share of the variance that no setting explains, by the process
    trials: int  # how many have the metric


@dataclass(frozen=True, eq=False)
class ParameterEffects:
    """All parameters in one order, and the evidence metric by metric."""

    names: tuple[str, ...]  # the parameters of the space
    order: tuple[str, ...]  # the most important first
    # Shape ``(n_names,)``, mean over the metrics of each one's part of all total shares, by the
    # model that is shown first for the metric.
    share: Floats
    metrics: Mapping[str, MetricEffects]  # what the process says of each metric of the objective
    # And the forest, of the parameters that move; no metric that could not be judged.
    forests: Mapping[str, ForestEffects]
    first: Mapping[str, Model]  # which of the two predicts unseen trials better
    model: JobModel  # the processes

    @property
    def moving(self) -> tuple[str, ...]:
        """The parameters that ``forests`` tell of, in their order."""
        return self.model.layout.names


@one_thread()
def parameter_effects(evaluation: Evaluation) -> ParameterEffects | None:
    """What all trials so far teach of the parameters that move; None while too few have ended.

    Those are what may be searched, and what draws and given trials move although no search does.
    """
    names = _moving(evaluation)
    model = job_surrogate(evaluation, names)
    if model is None:
        return None
    return evaluation.once("effects", model, lambda: _effects(evaluation, model))


def _moving(evaluation: Evaluation) -> list[str]:
    problem, history = evaluation.problem, evaluation.history
    trials = [history[number] for number in teaching(history)]
    moving = {name for trial in trials for name in trial.point or ()}.union(problem.searched)
    given = [trial.configuration for trial in trials if trial.point is None]
    varied = (n for n in problem.space.names if len({each.get(n) for each in given}) > 1)
    moving.update(varied)
    return [name for name in problem.space.names if name in moving]


def _effects(evaluation: Evaluation, model: JobModel) -> ParameterEffects:
    problem, every = evaluation.problem, evaluation.problem.space.names
    whole = _all_trials(evaluation, model)
    measured, of_all = _measured(evaluation.history, model.data.numbers, whole.numbers)
    kernels, grids = kernel_matrices(model.settings, model.settings), model.layout.grids()
    places = np.array([every.index(name) for name in model.layout.names])

    def spread(part: Floats, rest: float = 0.0) -> Floats:
        whole = np.full(len(every), rest)
        whole[places] = part
        return whole

    found: dict[str, MetricEffects] = {}
    forests: dict[str, ForestEffects] = {}
    for metric in dict.fromkeys(term.metric for term in problem.objective.terms):
        process, known = model.metrics[metric].process, model.metrics[metric].known
        rows = np.flatnonzero(known.rows)
        among, own = kernels[:, rows[:, None], rows], model.data.targets[metric][rows]
        scaled, _, _ = standardised(own)
        here = model.known_settings(metric)
        effects = effects_of(process, here, grids)
        drawn = drawn_effects(process, here, grids, own, draws=_DRAWS, seed=problem.seed)
        low, high = np.percentile(drawn.total, [2.5, 97.5], axis=0)
        settings = measured[known.rows]
        found[metric] = MetricEffects(
            total=spread(effects.total),
            alone=spread(effects.alone),
            low=spread(low),
            high=spread(high),
            p=spread(matter_p(among, scaled, process.components), np.nan),
            p_holm=spread(np.ones(len(places)), np.nan),
            r2=unseen_r2(among, own, seed=problem.seed, settings=settings),
            noise=min(1.0, process.components.noise),
            trials=int(known.rows[1:].sum()),
        )
        fold = _fold_of_all(settings, of_all, problem.seed)
        if fold is not None:
            target = whole.targets[metric]
            forest = _forest_effects(problem, model.layout, whole.points, target, fold)
            if forest is not None:
                forests[metric] = forest
    found = _corrected(found)
    first = {metric: _better(each.r2, forests.get(metric)) for metric, each in found.items()}
    totals = [
        spread(forests[metric].total) if by == "forest" else found[metric].total
        for metric, by in first.items()
    ]
    share = mean_share(totals, len(every))
    order = tuple(every[place] for place in np.argsort(-share, kind="stable"))
    return ParameterEffects(every, order, share, found, forests, first, model)


def _all_trials(evaluation: Evaluation, model: JobModel) -> TrainingData:
    """The rows of all trials: a process has those of some alone where they are many."""
    problem, history = evaluation.problem, evaluation.history
    numbers = teaching(history)
    if tuple(numbers) == model.data.numbers:
        return model.data
    baseline = evaluation.baseline_at(numbers[-1])
    return training_data_of(problem, history, baseline, model.layout.names, numbers)


def _measured(history: History, *numbers: Sequence[int]) -> list[NDArray[np.intp]]:
    """Which configuration each row of some data measured; the first row is the baseline."""
    seen: dict[str, int] = {}
    return [
        np.array([0, *(seen.setdefault(history[n].digest, len(seen) + 1) for n in some)])
        for some in numbers
    ]


def _fold_of_all(
    settings: NDArray[np.intp], of_all: NDArray[np.intp], seed: int
) -> NDArray[np.intp] | None:
    """The folds that the process is judged by, for all trials; -1 of what is in none of them."""
    fold = setting_folds(settings, seed=seed)
    if fold is None:
        return None
    known = dict(zip(settings.tolist(), fold.tolist(), strict=True))
    return np.array([known.get(each, -1) for each in of_all.tolist()])


def _better(process: float | None, forest: ForestEffects | None) -> Model:
    """Which predicts unseen trials better; the process, unless the forest clearly does."""
    better = forest and (process is None or forest.r2 > process + CLEARLY)
    return "forest" if better else "process"


def _corrected(found: Mapping[str, MetricEffects]) -> dict[str, MetricEffects]:
    """With p-values corrected over all questions that the job asks."""
    asked = np.concatenate([each.p for each in found.values()]).tolist()
    fixed = holm([None if math.isnan(p) else p for p in asked])
    parts = np.split(np.array(fixed, dtype=np.float64), len(found))
    return {
        name: replace(each, p_holm=part)
        for (name, each), part in zip(found.items(), parts, strict=True)
    }


_OTHERS = 32  # settings of all other parameters that a setting's fitness is the mean over


@dataclass(frozen=True)
class Direction:
    """Where a parameter is best, whatever the others are set to."""

    better: Value  # ``high``, ``low`` or ``middle`` of its range, or the category or special value
    gain: float  # of fitness, in the mean over the others, against the baseline's setting


@one_thread()
def directions(evaluation: Evaluation, effects: ParameterEffects) -> dict[str, Direction]:
    """The direction of each parameter that has a share in some metric, by the processes.

    A run of the baseline has ended well.
    """
    from scipy.stats import qmc

    problem = evaluation.problem
    model, baseline = effects.model, evaluation.baseline.metrics
    moved = model.layout.names
    others = qmc.Sobol(len(moved), rng=np.random.default_rng(problem.seed)).random(_OTHERS)
    start = model.layout.settings(model.data.points[:1])
    around = model.layout.settings(others)
    found = {}
    surfaces = {name: _Surface(model, name, around) for name in model.metrics}
    for column, (name, grid) in enumerate(zip(moved, model.layout.grids(), strict=True)):
        at = effects.names.index(name)
        if not any(each.total[at] > 0 for each in effects.metrics.values()):
            continue
        # The settings of the grid and, last, the baseline's, each with all of the others.
        own = start.of(np.array([column]))
        rows = KernelInputs(
            np.vstack([grid.settings.level, own.level]),
            np.vstack([grid.settings.position, own.position]),
        )
        expected = {metric: each.with_own(column, rows) for metric, each in surfaces.items()}
        for metric in model.data.logarithmic:
            expected[metric] = np.exp(expected[metric])
        fitness = problem.objective.fitness_of_many(expected, baseline)
        mean: Floats = fitness.reshape(len(rows), _OTHERS).mean(axis=1)
        best = int(mean[:-1].argmax())
        place = int(rows.level[best, 0]), float(rows.position[best, 0])
        better = _words(problem.space.by_name[name], *place)
        found[name] = Direction(better, float(mean[best] - mean[-1]))
    return found


class _Surface:
    """What the process of one metric expects at some settings, all but one parameter's held."""

    def __init__(self, model: JobModel, metric: str, around: KernelInputs) -> None:
        self.process, self.known = model.metrics[metric].process, model.known_settings(metric)
        self.kernels = kernel_matrices(around, self.known)
        weights = self.process.components.parameters
        flat = self.kernels.reshape(len(weights), -1)
        self.ones, self.squares = (
            (weights**power @ flat**power).reshape(self.kernels.shape[1:]) for power in (1, 2)
        )

    def with_own(self, column: int, settings: KernelInputs) -> Floats:
        """With each of the parameter's settings in turn, shape ``(n_settings * n_around,)``."""
        components, here = self.process.components, self.known.of(np.array([column]))
        weight = components.parameters[column]
        old, new = weight * self.kernels[column], weight * kernel_matrices(settings, here)[0]
        ones = (self.ones - old) + new[:, None]
        squares = (self.squares - old**2) + new[:, None] ** 2
        return self.process.expected(of_sums(ones, squares, components)).ravel()


def _words(parameter: Parameter, level: int, position: float) -> Value:
    if not parameter.is_numeric:
        return parameter.values[level]
    if level:
        return parameter.special[level - 1]
    return "low" if position < 1 / 3 else "high" if position > 2 / 3 else "middle"
