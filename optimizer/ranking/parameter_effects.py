"""What the trials of a whole job teach about the parameters: how much each matters, and which way.

Unlike forests and the analysis of variance, which want draws of the whole space, processes learn
from the trials of a search as well, so that a strategy with few draws has a ranking of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models.gaussian_process.effects import drawn_effects, effects_of
from models.gaussian_process.evidence import matter_p, unseen_r2
from models.gaussian_process.kernel import KernelInputs, covariance, kernel_matrices
from models.gaussian_process.process import one_thread, standardised
from models.importance.anova import holm
from models.importance.importance import mean_share
from optimizer.evaluation.evaluation import Evaluation
from optimizer.surrogate.coordinates import Floats
from optimizer.surrogate.expected_gain import likely_metrics
from optimizer.surrogate.surrogate import Surrogate, job_surrogate
from optimizer.trials.history import History
from sampler.parameters.parameter import Parameter, Value

_DRAWS = 200


@dataclass(frozen=True, eq=False)
class MetricEffects:
    """What is known of one metric; arrays follow ``ParameterEffects.names``."""

    # Share of the variance that the parameter makes, pairs included, over the whole space (Sobol'
    # total index of what the process expects); 0 of one that does not move.
    total: Floats
    alone: Floats  # without its pairs
    # low, high: 95% interval of ``total`` over what the process holds possible.
    low: Floats
    high: Floats
    p: Floats  # p-value of no effect; NaN of a parameter that does not move
    p_holm: Floats  # corrected for all parameters and metrics of the job
    # Share of the variance of unseen trials that is explained, five folds; None: too few.
    r2: float | None
    noise: float  # share of the variance that no setting explains, by the process
    trials: int  # how many have the metric


@dataclass(frozen=True, eq=False)
class ParameterEffects:
    """All parameters in one order, and the evidence metric by metric."""

    names: tuple[str, ...]  # the parameters of the space
    order: tuple[str, ...]  # the most important first
    # Shape ``(n_names,)``, mean over the metrics of each one's part of all total indices.
    share: Floats
    metrics: Mapping[str, MetricEffects]  # the evidence for each metric of the objective
    model: Surrogate  # what it was learned with


def parameter_effects(evaluation: Evaluation, names: Sequence[str]) -> ParameterEffects | None:
    """What all trials so far teach of the moving parameters; None while too few have ended."""
    with one_thread():
        model = job_surrogate(evaluation, names)
        if model is None:
            return None
        return evaluation.once("effects", model, lambda: _effects(evaluation, model))


def _effects(evaluation: Evaluation, model: Surrogate) -> ParameterEffects:
    problem, measured = evaluation.problem, _measured(evaluation.history, model)
    kernels, grids = kernel_matrices(model.settings, model.settings), model.layout.grids()
    every = problem.space.names
    places = np.array([every.index(name) for name in model.layout.names])
    found: dict[str, MetricEffects] = {}
    for metric in dict.fromkeys(term.metric for term in problem.objective.terms):
        process, known = model.processes[metric]
        among, own = kernels[:, known.rows][:, :, known.rows], model.data.targets[metric]
        own = own[known.rows]
        scaled, _, _ = standardised(own)
        here = model.known_settings(metric)
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
            p=spread(matter_p(among, scaled, process.components), np.nan),
            p_holm=spread(np.ones(len(places)), np.nan),
            r2=unseen_r2(among, own, seed=problem.seed, settings=measured[known.rows]),
            noise=min(1.0, process.components.noise),
            trials=int(known.rows[1:].sum()),
        )
    found = _corrected(found)
    share = mean_share([each.total for each in found.values()], len(every))
    order = tuple(every[place] for place in np.argsort(-share, kind="stable"))
    return ParameterEffects(every, order, share, found, model)


def _measured(history: History, model: Surrogate) -> NDArray[np.intp]:
    """Which configuration each row of the data measured; the first row is the baseline."""
    seen: dict[str, int] = {}
    digests = (history[number].digest for number in model.data.numbers)
    return np.array([0, *(seen.setdefault(each, len(seen) + 1) for each in digests)])


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
    """Where a parameter is best, whatever the others are set to."""

    better: Value  # ``high``, ``low`` or ``middle`` of its range, or the category or special value
    # How much fitness that is worth in the mean over the other parameters, against the baseline's
    # setting.
    gain: float


def directions(evaluation: Evaluation, effects: ParameterEffects) -> dict[str, Direction]:
    """The direction of each parameter that has a share in some metric.

    A run of the baseline has ended well.
    """
    from scipy.stats import qmc

    problem = evaluation.problem
    model, baseline = effects.model, evaluation.baseline.metrics
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
            # The settings of the grid and, last, the baseline's, each with all of the others.
            own = start.of(np.array([column]))
            rows = KernelInputs(
                np.vstack([grid.settings.level, own.level]),
                np.vstack([grid.settings.position, own.position]),
            )
            asked = KernelInputs(
                np.tile(around.level, (len(rows), 1)), np.tile(around.position, (len(rows), 1))
            )
            asked.level[:, column] = np.repeat(rows.level[:, 0], _OTHERS)
            asked.position[:, column] = np.repeat(rows.position[:, 0], _OTHERS)
            metrics = likely_metrics(_predicted(model, asked), model.data.logarithmic)
            fitness = problem.objective.fitness_of_many(metrics, baseline)[0]
            mean: Floats = fitness.reshape(len(rows), _OTHERS).mean(axis=1)
            best = int(mean[:-1].argmax())
            place = int(rows.level[best, 0]), float(rows.position[best, 0])
            better = _words(problem.space.by_name[name], *place)
            found[name] = Direction(better, float(mean[best] - mean[-1]))
    return found


def _predicted(model: Surrogate, asked: KernelInputs) -> dict[str, tuple[Floats, Floats]]:
    found = {}
    for metric, (process, _) in model.processes.items():
        components = process.components
        columns = np.flatnonzero(components.parameters > 1e-4 * components.parameters.sum())
        here = model.known_settings(metric).of(columns)
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
