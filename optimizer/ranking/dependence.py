"""How each metric depends on the parameters that matter, and which pairs of them go together.

Learned from all trials of a job, whatever strategy proposed them: by the model that ranks its
parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models.gaussian_process.effects import Grid, MainEffect, MarginalEffects, PairEffect
from models.gaussian_process.process import one_thread
from optimizer.evaluation.evaluation import Evaluation
from optimizer.surrogate.coordinates import Floats
from optimizer.surrogate.surrogate import Surrogate, job_surrogate
from optimizer.trials.problem import Problem
from sampler.parameters.parameter import Value
from sampler.space.latent import SPECIAL_SHARE, decode

_SIGMAS = 1.96


@dataclass(frozen=True, eq=False)
class EffectCurve:
    """What the settings of a parameter do to a metric, in the mean over all others.

    Attributes:
        share: Of the variance over the whole space: what the parameter makes alone.
        effect, low, high: Against the mean of all settings, in percent, with 95% intervals.
    """

    parameter: str
    metric: str
    share: float
    effect: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Together:
    """What two parameters do to a metric beyond what each does alone.

    Attributes:
        share: Of the variance over the whole space.
        beyond: Shape ``(settings of the one, settings of the other)``, in percent.
    """

    parameters: tuple[str, str]
    metric: str
    share: float
    beyond: Floats


@dataclass(frozen=True, eq=False)
class Dependences:
    """What the models of a job's metrics say.

    Attributes:
        trials: How many they have learned from.
        unexplained: By metric, as the objective names them, the share of the variance of the
            trials that no setting explains.
        settings: By parameter, the values that stand for its range, where the others are at the
            baseline; the special ones and the lowest first.
        curves: Of every metric and parameter that has a share, the largest share first.
        pairs: Likewise, of all metrics.
    """

    trials: int
    unexplained: Mapping[str, float]
    settings: Mapping[str, Sequence[Value]]
    curves: tuple[EffectCurve, ...]
    pairs: tuple[Together, ...]


def dependences(evaluation: Evaluation, *, most_pairs: int = 20) -> Dependences | None:
    """Learns the models, and asks them about every parameter and pair.

    Args:
        evaluation: The trials; a run of the baseline has ended well.
        most_pairs: So many of the pairs at most.

    Returns:
        None while too little is known.
    """
    problem = evaluation.problem
    names = tuple(n for n in problem.space.names if n not in problem.space.unsearched)
    metrics = list(dict.fromkeys(term.metric for term in problem.objective.terms))
    with one_thread():
        surrogate = job_surrogate(evaluation, names)
        if surrogate is None:
            return None
        grids = surrogate.layout.grids()
        curves: list[EffectCurve] = []
        pairs: list[Together] = []
        for metric in metrics:
            of_metric = _of_metric(surrogate, metric, grids)
            curves += of_metric[0]
            pairs += of_metric[1]
    components = {name: each[0].components for name, each in surrogate.processes.items()}
    return Dependences(
        trials=len(surrogate.data.numbers),
        unexplained={name: min(1.0, components[name].noise) for name in metrics},
        settings={n: _values(problem, n, g) for n, g in zip(names, grids, strict=True)},
        curves=tuple(sorted(curves, key=lambda each: -each.share)),
        pairs=tuple(sorted(pairs, key=lambda each: -each.share)[:most_pairs]),
    )


def _of_metric(
    surrogate: Surrogate, metric: str, grids: Sequence[Grid]
) -> tuple[list[EffectCurve], list[Together]]:
    process, _ = surrogate.processes[metric]
    found = MarginalEffects(process, surrogate.known_settings(metric), grids)
    names = surrogate.layout.names
    mains = [found.main(column) for column in range(len(names))]
    pairs = [each for each in found.pairs() if each.variance > 0]
    whole = sum(each.variance for each in mains) + sum(each.variance for each in pairs)
    if not whole > 0:
        return [], []
    logarithmic = metric in surrogate.data.logarithmic
    level = 1.0 if logarithmic else abs(process.mean) or 1.0
    curves = [
        _curve(name, metric, main, whole, level, logarithmic)
        for name, main in zip(names, mains, strict=True)
        if main.variance > 0
    ]
    return curves, [_together(names, metric, pair, whole, level, logarithmic) for pair in pairs]


def _curve(
    name: str, metric: str, main: MainEffect, whole: float, level: float, logarithmic: bool
) -> EffectCurve:
    reach = _SIGMAS * main.deviation
    effect, low, high = (
        _percent(main.expected + moved, level, logarithmic) for moved in (0.0, -reach, reach)
    )
    return EffectCurve(name, metric, main.variance / whole, effect, low, high)


def _together(
    names: Sequence[str],
    metric: str,
    pair: PairEffect,
    whole: float,
    level: float,
    logarithmic: bool,
) -> Together:
    one, other = pair.columns
    beyond = _percent(pair.beyond, level, logarithmic)
    return Together((names[one], names[other]), metric, pair.variance / whole, beyond)


def _percent(moved: Floats, level: float, logarithmic: bool) -> Floats:
    return np.asarray(
        100.0 * (np.expm1(np.minimum(moved, 50.0)) if logarithmic else moved / level)
    )


def _values(problem: Problem, name: str, grid: Grid) -> list[Value]:
    """The values that a parameter's settings are while all others are at the baseline."""
    parameter = problem.space.by_name[name]
    level, position = grid.settings.level[:, 0], grid.settings.position[:, 0]
    if not parameter.is_numeric:
        return [parameter.values[place] for place in level]
    found: list[Value] = []
    for place, inside in zip(level, position, strict=True):
        if place:
            found.append(parameter.special[place - 1])
            continue
        low = SPECIAL_SHARE if parameter.special else 0.0
        at = decode(problem.space, {name: low + (1 - low) * float(inside)}, memory=problem.memory)
        # Where the baseline switches it off, only its place in the range can be told.
        found.append(at.get(name, f"{100 * inside:.0f}% of its range"))
    return found
