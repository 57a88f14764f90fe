"""Which way each parameter moves the fitness, by the processes of a job."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.gaussian_process.additive_effects import Grid
from models.gaussian_process.additive_kernel import Settings, covariance, likeness
from models.gaussian_process.one_thread import one_thread
from optimizer.evaluation.knowledge import baseline_of
from optimizer.ranking.parameter_effects import JobModel, ParameterEffects
from optimizer.surrogate.coordinates import Floats
from optimizer.surrogate.expected_gain import fitness_of, likely_metrics
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from sampler.parameters.parameter import Parameter, Value

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
    start = model.layout.settings(model.lessons.points[:1])
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
            metrics = likely_metrics(_predicted(model, asked), model.lessons.logarithmic)
            fitness = fitness_of(problem.objective, metrics, baseline)[0]
            mean: Floats = fitness.reshape(len(rows), _OTHERS).mean(axis=1)
            best = int(mean[:-1].argmax())
            place = int(rows.level[best, 0]), float(rows.position[best, 0])
            better = _words(problem.space.by_name[name], *place)
            found[name] = Direction(better, float(mean[best] - mean[-1]))
    return found


def _with_start(grid: Grid, start: Settings, column: int) -> Settings:
    """The settings of the grid, and the baseline's as the last."""
    own = start.of(np.array([column]))
    return Settings(
        np.vstack([grid.settings.level, own.level]),
        np.vstack([grid.settings.position, own.position]),
    )


def _asked(around: Settings, rows: Settings, column: int) -> Settings:
    """Each setting of one parameter with all those of the others."""
    level = np.tile(around.level, (len(rows), 1))
    position = np.tile(around.position, (len(rows), 1))
    level[:, column] = np.repeat(rows.level[:, 0], len(around))
    position[:, column] = np.repeat(rows.position[:, 0], len(around))
    return Settings(level, position)


def _predicted(model: JobModel, asked: Settings) -> dict[str, tuple[Floats, Floats]]:
    known = model.layout.settings(model.lessons.points)
    found = {}
    for metric, (process, rows) in model.processes.items():
        shares = process.shares
        columns = np.flatnonzero(shares.parameters > 1e-4 * shares.parameters.sum())
        here = Settings(known.level[rows], known.position[rows]).of(columns)
        cross = covariance(likeness(asked.of(columns), here), shares.of(columns))
        expected = process.mean + process.spread * (cross @ process.solved)
        found[metric] = (expected, np.zeros(len(expected)))
    return found


def _words(parameter: Parameter, level: int, position: float) -> Value:
    if not parameter.is_numeric:
        return parameter.values[level]
    if level:
        return parameter.special[level - 1]
    return "low" if position < 1 / 3 else "high" if position > 2 / 3 else "middle"
