"""The Pareto front of a job, and how much of the space of gains it covers, trial after trial.

Only whole measurements that keep every limit count; clocks are corrected for drift.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace as Namespace

import numpy as np

from models import Floats
from optimizer.baseline.baseline import Baseline
from optimizer.evaluation.evaluation import by_configuration
from optimizer.objective.objective import Metrics, Objective, pareto_front
from optimizer.trials.trial import Purpose, Trial


@dataclass(frozen=True)
class Front:
    """The configurations between which only taste decides."""

    numbers: tuple[int, ...]  # of its trials
    # (trial's number, hypervolume with it) of each trial that enlarged it, in order.
    growth: tuple[tuple[int, float], ...]

    def document(self) -> list[dict[str, float]]:
        """The growth as JSON holds it."""
        return [{"trial": number, "value": value} for number, value in self.growth]


def measured(baseline: Baseline, trials: Iterable[Trial]) -> dict[int, Metrics]:
    """The metrics of new configurations that were measured whole, clocks corrected, by number.

    Of what was measured several times the mean, by the first's number.
    """
    whole = (trial for trial in trials if trial.purpose is Purpose.CANDIDATE and trial.done)
    return {runs[0].number: baseline.corrected_mean(runs) for runs in by_configuration(whole)}


def within_limits(
    objective: Objective, baseline: Metrics, points: Mapping[int, Metrics]
) -> dict[int, Metrics]:
    """Those of the measurements that keep every limit of the objective."""
    bounds = objective.bounds(baseline)
    return {n: found for n, found in points.items() if all(each.holds(found) for each in bounds)}


def front_of(objective: Objective, baseline: Baseline, trials: Iterable[Trial]) -> Front:
    """The front of a job's new configurations, given by number, and how it grew."""
    points = within_limits(objective, baseline.metrics, measured(baseline, trials))
    terms = [t for t in objective.terms if t.metric in baseline.metrics]
    rows = {
        number: [term.gain(found[term.metric], baseline.metrics[term.metric]) for term in terms]
        for number, found in sorted(points.items())
        if all(term.metric in found for term in terms)
    }
    return Front(tuple(sorted(pareto_front(points, objective.terms))), hypervolume_growth(rows))


def hypervolume_growth(gains: Mapping[int, Sequence[float]]) -> tuple[tuple[int, float], ...]:
    """The hypervolume after each point that enlarges it, in the order of the points.

    Points are relative gains on the baseline, one for each metric, better when higher.
    """
    front: Floats = np.empty((0, len(next(iter(gains.values()), ()))))
    found: list[tuple[int, float]] = []
    for number, gain in gains.items():
        point = np.asarray(gain, dtype=np.float64)
        if (point <= -1).any() or (front >= point).all(axis=1).any():
            continue  # it covers nothing that is not covered
        front = np.vstack([front[~(front <= point).all(axis=1)], point])
        found.append((number, hypervolume(front)))
    return tuple(found)


def hypervolume(gains: Floats) -> float:
    """What points cover, as a multiple of what the baseline covers by itself.

    The reference is as far below the baseline as the baseline is above nothing: a gain of -1 in
    each metric, which is twice the baseline's figure where less is better, and 0 where more is. So
    the baseline alone has 1 (Zitzler and Thiele, PPSN 1998, with this reference). Gains have the
    shape ``(points, metrics)``.
    """
    from deap.benchmarks.tools import hypervolume as _hypervolume

    inside = gains[(gains > -1).all(axis=1)]
    if not len(inside):
        return 0.0
    individuals = [
        Namespace(fitness=Namespace(wvalues=tuple(row))) for row in (inside + 1).tolist()
    ]
    return float(_hypervolume(individuals, ref=np.zeros(gains.shape[1])))
