"""What the trials of a whole job teach about the parameters: how much each matters, and how.

The model of the job ranks them, learned from all trials, the searched ones too: where a trial is
does not matter to it. A random forest of each metric stands beside it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models import Floats
from models.anova import holm
from models.gaussian_process.effects import (
    drawn_effects,
    effects_of,
    matter_p,
    unseen_r2,
)
from models.gaussian_process.process import (
    KernelInputs,
    kernel_matrices,
    of_sums,
    one_thread,
    standardised,
)
from models.importance import (
    ForestImportance,
    Stability,
    compare_rankings,
    forest_importance,
    mean_share,
)
from optimizer.evaluation.evaluation import Evaluation, draws_of, draws_table
from optimizer.surrogate.job_model import JobModel, job_surrogate
from optimizer.surrogate.training_data import teaching
from optimizer.trials.trial import History
from sampler.rocksdb.parameters import Parameter, Value

_DRAWS = 100


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
    stability: Stability  # the order by ``total``, over equally likely processes
    r2: float | None  # of unseen trials, five folds; None: too few
    noise: float  # share of the variance that no setting explains, by the process
    trials: int  # how many have the metric


@dataclass(frozen=True, eq=False)
class ParameterEffects:
    """All parameters in one order, and the evidence metric by metric."""

    names: tuple[str, ...]  # the parameters of the space
    order: tuple[str, ...]  # the most important first
    # Shape ``(n_names,)``, mean over the metrics of each one's part of all total shares.
    share: Floats
    metrics: Mapping[str, MetricEffects]  # what the process says of each metric of the objective
    # And a random forest; no metric that it could not learn.
    forests: Mapping[str, ForestImportance]
    model: JobModel  # the processes

    @property
    def moving(self) -> tuple[str, ...]:
        """The parameters of which there is more than one value, in the order of the model."""
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
    measured = _measured(evaluation.history, model.data.numbers)
    kernels, grids = kernel_matrices(model.settings, model.settings), model.layout.grids()
    places = np.array([every.index(name) for name in model.layout.names])

    def spread(part: Floats, rest: float = 0.0) -> Floats:
        whole = np.full(len(every), rest)
        whole[places] = part
        return whole

    top = min(problem.search.top, len(every))

    found: dict[str, MetricEffects] = {}
    for metric in dict.fromkeys(term.metric for term in problem.objective.terms):
        process, known = model.metrics[metric].process, model.metrics[metric].known
        rows = np.flatnonzero(known.rows)
        among, own = kernels[:, rows[:, None], rows], model.data.targets[metric][rows]
        scaled, _, _ = standardised(own)
        here = model.known_settings(metric)
        effects = effects_of(process, here, grids)
        drawn = drawn_effects(process, here, grids, own, draws=_DRAWS, seed=problem.seed)
        low, high = np.percentile(drawn.total, [2.5, 97.5], axis=0)
        found[metric] = MetricEffects(
            total=spread(effects.total),
            alone=spread(effects.alone),
            low=spread(low),
            high=spread(high),
            p=spread(matter_p(among, scaled, process.components), np.nan),
            p_holm=spread(np.ones(len(places)), np.nan),
            stability=compare_rankings(
                np.array([spread(each) for each in drawn.total]), spread(effects.total), top_k=top
            ),
            r2=unseen_r2(among, own, measured[known.rows], seed=problem.seed),
            noise=min(1.0, process.components.noise),
            trials=int(known.rows[1:].sum()),
        )
    found = _corrected(found)
    share = mean_share([each.total for each in found.values()], len(every))
    order = tuple(every[place] for place in np.argsort(-share, kind="stable"))
    return ParameterEffects(every, order, share, found, _forests(evaluation), model)


def _forests(evaluation: Evaluation) -> dict[str, ForestImportance]:
    """What a forest of each metric says, learned from all new configurations."""
    problem, history = evaluation.problem, evaluation.history
    tried = draws_of(history, [history[number] for number in teaching(history)])
    features, targets = draws_table(problem, history, tried)
    found = {n: forest_importance(features, y, seed=problem.seed) for n, y in targets.items()}
    return {name: each for name, each in found.items() if each is not None}


def _measured(history: History, numbers: Sequence[int]) -> NDArray[np.intp]:
    """Which configuration each row of the data measured; the first row is the baseline."""
    seen: dict[str, int] = {}
    return np.array([0, *(seen.setdefault(history[n].digest, len(seen) + 1) for n in numbers)])


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
