"""What the trials of a whole job teach about the parameters: how much each matters, and which way.

Unlike forests and the analysis of variance, which want draws of the whole space, processes learn
from the trials of a search as well, so that a strategy with few draws has a ranking of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from models.gaussian_process.effects import Grid, drawn_effects, effects_of
from models.gaussian_process.evidence import matter_p, unseen_r2
from models.gaussian_process.kernel import KernelInputs, covariance, kernel_matrices
from models.gaussian_process.process import AdditiveProcess, fit_process, one_thread, standardised
from models.gaussian_process.variance_components import settled_components
from models.importance.anova import holm
from models.importance.importance import mean_share
from optimizer.baseline.baseline import summarise
from optimizer.evaluation.evaluation import baseline_of
from optimizer.surrogate.coordinates import CubeLayout, Floats, cube_layout
from optimizer.surrogate.expected_gain import fitness_of, likely_metrics
from optimizer.surrogate.training_data import TrainingData, teaching, training_data_of
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Purpose
from sampler.parameters.parameter import Parameter, Value

_LEAST = 8
_MOST = 200  # trials, evenly over the job: it must not take longer than a few seconds
_DRAWS = 200


@dataclass(frozen=True, eq=False)
class MetricEffects:
    """What is known of one metric; arrays follow ``ParameterEffects.names``.

    Attributes:
        total: Share of the variance that the parameter makes, pairs included, over the whole
            space (Sobol' total index of what the process expects); 0 of one that does not move.
        alone: Without its pairs.
        low, high: 95% interval of ``total`` over what the process holds possible.
        p: P-value of no effect; NaN of a parameter that does not move.
        p_holm: Corrected for all parameters and metrics of the job.
        r2: Share of the variance of unseen trials that is explained, five folds; None: too few.
        noise: Share of the variance that no setting explains, by the process.
        trials: How many have the metric.
    """

    total: Floats
    alone: Floats
    low: Floats
    high: Floats
    p: Floats
    p_holm: Floats
    r2: float | None
    noise: float
    trials: int


@dataclass(frozen=True, eq=False)
class ParameterEffects:
    """All parameters in one order, and the evidence metric by metric.

    Attributes:
        names: The parameters of the space.
        order: The most important first.
        share: Shape ``(n_names,)``, mean over the metrics of each one's part of all total indices.
        metrics: The evidence for each metric of the objective.
        model: What it was learned with.
    """

    names: tuple[str, ...]
    order: tuple[str, ...]
    share: Floats
    metrics: Mapping[str, MetricEffects]
    model: JobModel


@dataclass(frozen=True, eq=False)
class JobModel:
    """The processes of a job's metrics, over all moving parameters.

    Attributes:
        layout: What the coordinates stand for.
        data: What was learned from; the first row is the baseline.
        processes: A process for each metric, and which rows it knows.
    """

    layout: CubeLayout
    data: TrainingData
    processes: Mapping[str, tuple[AdditiveProcess, NDArray[np.bool_]]]


_known: WeakKeyDictionary[History, tuple[object, ParameterEffects]] = WeakKeyDictionary()


def parameter_effects(
    problem: Problem, history: History, names: Sequence[str]
) -> ParameterEffects | None:
    """What all trials so far teach; None while too few have ended.

    It is learned from the beginning, so it depends on nothing but the trials. The baseline is the
    one that was known when the newest of them was proposed: the runs of the confirmation change
    nothing.

    Args:
        problem: What is tuned.
        history: The trials so far.
        names: The moving parameters.
    """
    numbers = teaching(history)
    if len(numbers) < _LEAST or not names:
        return None
    stamp = (id(problem), tuple(names), tuple((n, history[n].attempt) for n in numbers))
    found = _known.get(history)
    if found is None or found[0] != stamp:
        with one_thread():
            found = (stamp, _effects(problem, history, names, numbers))
        _known[history] = found
    return found[1]


def _effects(
    problem: Problem, history: History, names: Sequence[str], numbers: Sequence[int]
) -> ParameterEffects:
    runs = [trial for trial in history.of(Purpose.BASELINE) if trial.done]
    baseline = summarise([trial for trial in runs if trial.number <= numbers[-1]] or runs)
    chosen = np.linspace(0, len(numbers) - 1, min(len(numbers), _MOST)).astype(int)
    few = [numbers[place] for place in chosen]
    data = training_data_of(problem, history, baseline, names, few)
    layout = cube_layout(problem.space, names)
    settings, grids = layout.settings(data.points), layout.grids()
    kernels = kernel_matrices(settings, settings)
    every = problem.space.names
    places = np.array([every.index(name) for name in names])
    found: dict[str, MetricEffects] = {}
    processes = {}
    for metric in dict.fromkeys(term.metric for term in problem.objective.terms):
        values = data.targets[metric]
        rows = np.isfinite(values)
        among, own = kernels[:, rows][:, :, rows], values[rows]
        scaled, _, _ = standardised(own)
        components = settled_components(among, scaled)
        process = fit_process(covariance(among, components), own, components)
        processes[metric] = (process, rows)
        here = KernelInputs(settings.level[rows], settings.position[rows])
        effects = effects_of(process, here, grids)
        drawn = drawn_effects(process, here, grids, own, draws=_DRAWS, seed=problem.seed)
        low, high = np.percentile(drawn.total, [2.5, 97.5], axis=0)

        def spread(part: Floats, rest: float = 0.0) -> Floats:
            whole = np.full(len(every), rest)
            whole[places] = part
            return whole

        found[metric] = MetricEffects(
            total=spread(effects.total),
            alone=spread(effects.alone),
            low=spread(low),
            high=spread(high),
            p=spread(matter_p(among, scaled, components), np.nan),
            p_holm=spread(np.ones(len(names)), np.nan),
            r2=unseen_r2(among, own, seed=problem.seed),
            noise=min(1.0, components.noise),
            trials=int(rows[1:].sum()),
        )
    found = _corrected(found)
    share = mean_share([each.total for each in found.values()], len(every))
    order = tuple(every[place] for place in np.argsort(-share, kind="stable"))
    return ParameterEffects(every, order, share, found, JobModel(layout, data, processes))


def _corrected(found: Mapping[str, MetricEffects]) -> dict[str, MetricEffects]:
    """With p-values corrected over all questions that the job asks."""
    asked = np.concatenate([each.p for each in found.values()])
    fixed = np.full(len(asked), np.nan)
    known = np.isfinite(asked)
    fixed[known] = [p for p in holm(asked[known].tolist()) if p is not None]
    parts = np.split(fixed, len(found))
    return {
        name: replace(each, p_holm=part)
        for (name, each), part in zip(found.items(), parts, strict=True)
    }


_OTHERS = 32  # settings of all other parameters that a setting's fitness is the mean over


@dataclass(frozen=True)
class Direction:
    """Where a parameter is best, whatever the others are set to.

    Attributes:
        better: ``high``, ``low`` or ``middle`` of its range, or the category or special value.
        gain: How much fitness that is worth in the mean over the other parameters, against the
            baseline's setting.
    """

    better: Value
    gain: float


def directions(
    problem: Problem, history: History, effects: ParameterEffects
) -> dict[str, Direction]:
    """The direction of each parameter that has a share in some metric.

    Args:
        problem: What is tuned.
        history: The trials; a run of the baseline has ended well.
        effects: What they teach.
    """
    from scipy.stats import qmc

    model, baseline = effects.model, baseline_of(history, problem).metrics
    moved = len(model.layout.names)
    others = qmc.Sobol(moved, rng=np.random.default_rng(problem.seed)).random(_OTHERS)
    start = model.layout.settings(model.data.points[:1])
    around = model.layout.settings(others)
    found = {}
    with one_thread():
        for column, (name, grid) in enumerate(
            zip(model.layout.names, model.layout.grids(), strict=True)
        ):
            if not effects.share[effects.names.index(name)] > 0:
                continue
            rows = _with_start(grid, start, column)
            asked = _asked(around, rows, column)
            metrics = likely_metrics(_predicted(model, asked), model.data.logarithmic)
            fitness = fitness_of(problem.objective, metrics, baseline)[0]
            mean: Floats = fitness.reshape(len(rows), _OTHERS).mean(axis=1)
            best = int(mean[:-1].argmax())
            place = int(rows.level[best, 0]), float(rows.position[best, 0])
            better = _words(problem.space.by_name[name], *place)
            found[name] = Direction(better, float(mean[best] - mean[-1]))
    return found


def _with_start(grid: Grid, start: KernelInputs, column: int) -> KernelInputs:
    """The settings of the grid, and the baseline's as the last."""
    own = start.of(np.array([column]))
    return KernelInputs(
        np.vstack([grid.settings.level, own.level]),
        np.vstack([grid.settings.position, own.position]),
    )


def _asked(around: KernelInputs, rows: KernelInputs, column: int) -> KernelInputs:
    """Each setting of one parameter with all those of the others."""
    level = np.tile(around.level, (len(rows), 1))
    position = np.tile(around.position, (len(rows), 1))
    level[:, column] = np.repeat(rows.level[:, 0], len(around))
    position[:, column] = np.repeat(rows.position[:, 0], len(around))
    return KernelInputs(level, position)


def _predicted(model: JobModel, asked: KernelInputs) -> dict[str, tuple[Floats, Floats]]:
    known = model.layout.settings(model.data.points)
    found = {}
    for metric, (process, rows) in model.processes.items():
        components = process.components
        columns = np.flatnonzero(components.parameters > 1e-4 * components.parameters.sum())
        here = KernelInputs(known.level[rows], known.position[rows]).of(columns)
        cross = covariance(kernel_matrices(asked.of(columns), here), components.of(columns))
        expected = process.mean + process.spread * (cross @ process.solved)
        found[metric] = (expected, np.zeros(len(expected)))
    return found


def _words(parameter: Parameter, level: int, position: float) -> Value:
    if not parameter.is_numeric:
        return parameter.values[level]
    if level:
        return parameter.special[level - 1]
    return "low" if position < 1 / 3 else "high" if position > 2 / 3 else "middle"
