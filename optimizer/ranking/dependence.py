"""How each metric depends on the parameters that matter, and which pairs of them go together.

Learned from all trials of a job, whatever strategy proposed them: by the model that ranks its
parameters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from models import Floats
from models.gaussian_process.effects import Grid, MarginalEffects
from models.gaussian_process.process import one_thread
from optimizer.evaluation.evaluation import Evaluation
from optimizer.surrogate.job_model import JobModel, job_surrogate
from optimizer.trials.problem import Problem
from sampler.rocksdb.parameters import Value
from sampler.space.latent import SPECIAL_SHARE, decode

_SIGMAS = 1.96
_MOST_PAIRS = 20


@dataclass(frozen=True, eq=False)
class EffectCurve:
    """What the settings of a parameter do to a metric, in the mean over all others."""

    parameter: str
    metric: str
    share: float  # of the variance over the whole space: what the parameter makes alone
    effect: Floats  # effect, low, high: against the mean of all, in percent, with 95% intervals
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Together:
    """What two parameters do to a metric beyond what each does alone."""

    parameters: tuple[str, str]
    metric: str
    share: float  # of the variance over the whole space
    beyond: Floats  # shape ``(settings of the one, settings of the other)``, in percent


@dataclass(frozen=True, eq=False)
class Dependences:
    """What the models of a job's metrics say."""

    trials: int  # how many they have learned from
    unexplained: Mapping[str, float]  # by metric, the share of the variance no setting explains
    # By parameter, values that stand for its range, others at the baseline: special, lowest first.
    settings: Mapping[str, Sequence[Value]]
    curves: tuple[EffectCurve, ...]  # of all that have a share, the largest share first
    pairs: tuple[Together, ...]  # likewise, of all metrics


@one_thread()
def dependences(evaluation: Evaluation) -> Dependences | None:
    """Learns the models, and asks them about every parameter and pair; None: too little is known.

    A run of the baseline has ended well.
    """
    problem = evaluation.problem
    names = tuple(n for n in problem.space.names if n not in problem.space.unsearched)
    metrics = list(dict.fromkeys(term.metric for term in problem.objective.terms))
    surrogate = job_surrogate(evaluation, names)
    if surrogate is None:
        return None
    grids = surrogate.layout.grids()
    found = [_of_metric(surrogate, metric, grids) for metric in metrics]
    components = {name: each.process.components for name, each in surrogate.metrics.items()}
    return Dependences(
        trials=len(surrogate.data.numbers),
        unexplained={name: min(1.0, components[name].noise) for name in metrics},
        settings={n: _values(problem, n, g) for n, g in zip(names, grids, strict=True)},
        curves=tuple(sorted(chain(*(each[0] for each in found)), key=lambda each: -each.share)),
        pairs=tuple(
            sorted(chain(*(each[1] for each in found)), key=lambda each: -each.share)[:_MOST_PAIRS]
        ),
    )


def _of_metric(
    surrogate: JobModel, metric: str, grids: Sequence[Grid]
) -> tuple[list[EffectCurve], list[Together]]:
    process = surrogate.metrics[metric].process
    effects = MarginalEffects(process, surrogate.known_settings(metric), grids)
    names = surrogate.layout.names
    mains = [effects.main(column) for column in range(len(names))]
    pairs = [each for each in effects.pairs() if each.variance > 0]
    whole = sum(each.variance for each in mains) + sum(each.variance for each in pairs)
    if not whole > 0:
        return [], []
    logarithmic = metric in surrogate.data.logarithmic
    level = abs(process.mean) or 1.0

    def percent(moved: Floats) -> Floats:
        moved = np.expm1(np.minimum(moved, 50.0)) if logarithmic else moved / level
        return np.asarray(100.0 * moved)

    curves = []
    for name, main in zip(names, mains, strict=True):
        if main.variance > 0:
            reach = _SIGMAS * main.deviation
            around = (percent(main.expected + moved) for moved in (0.0, -reach, reach))
            curves.append(EffectCurve(name, metric, main.variance / whole, *around))
    together = []
    for pair in pairs:
        one, other = pair.columns
        beyond = percent(pair.beyond)
        together.append(
            Together((names[one], names[other]), metric, pair.variance / whole, beyond)
        )
    return curves, together


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
