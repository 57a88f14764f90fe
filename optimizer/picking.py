"""The best of what a job has measured by another preference than its own, without a new run.

A configuration is judged by the medians of all its runs, those of the choice and of the proof
included, clocks corrected for drift. Most have one run: the best of many single runs is partly
luck, so what is picked is explored, not proven.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from optimizer.baseline import Baseline
from optimizer.history import History
from optimizer.objective import Objective
from optimizer.trial import Purpose, Trial
from sampler.errors import InputError

Metrics = Mapping[str, float]


@dataclass(frozen=True)
class Picked:
    """A configuration that a preference is for.

    Attributes:
        trial: The number of its first trial.
        runs: How many runs of it ended well.
        metrics: Their medians.
        fitness: By the preference.
    """

    trial: int
    runs: int
    metrics: Metrics
    fitness: float


@dataclass(frozen=True)
class Picks:
    """What a preference chooses.

    Attributes:
        judged: How many configurations were measured.
        keeping: How many of them keep every limit.
        best: Of these, the fittest first.
    """

    judged: int
    keeping: int
    best: tuple[Picked, ...]


def pick(objective: Objective, baseline: Baseline, history: History, *, count: int) -> Picks:
    """The few best of all measured configurations.

    Args:
        objective: The preference.
        baseline: Of the job.
        history: Its trials.
        count: How many at most; of equal ones those that were measured first.
    """
    judged = [
        _judged(objective, baseline, number, runs)
        for number, runs in sorted(_runs(history).items())
    ]
    whole = [each for each in judged if each is not None]
    keeping = [each for each in whole if objective.admissible(each.metrics, baseline.metrics)]
    keeping.sort(key=lambda each: (-each.fitness, each.trial))
    return Picks(len(whole), len(keeping), tuple(keeping[:count]))


def require_measured(objective: Objective, baseline: Metrics) -> None:
    """Refuses a preference for what the job has not measured.

    Raises:
        InputError: A metric is missing; the field is ``limit`` or ``metric``.
    """
    wanted = [("metric", term.metric) for term in objective.terms]
    wanted += [("limit", limit.metric) for limit in objective.limits]
    for field, metric in wanted:
        if metric not in baseline:
            known = ", ".join(sorted(baseline))
            raise InputError(field, f"the job has not measured {metric!r:.80}; known are {known}")


def _runs(history: History) -> Mapping[int, list[Trial]]:
    """The runs of each configuration that ended well, by the number of its first trial."""
    found: defaultdict[int, list[Trial]] = defaultdict(list)
    for trial in history:
        if not trial.done or trial.is_baseline or trial.purpose is Purpose.BASELINE:
            continue
        first = trial.number if trial.purpose is Purpose.CANDIDATE else trial.subject
        if first is not None:
            found[first].append(trial)
    return found


def _judged(
    objective: Objective, baseline: Baseline, number: int, runs: list[Trial]
) -> Picked | None:
    """None where a metric of the preference is missing."""
    rows = [baseline.corrected(run.metrics, run.started_at, run.host) for run in runs]
    names = [name for name in rows[0] if all(name in row for row in rows)]
    metrics = {name: float(np.median([row[name] for row in rows])) for name in names}
    fitness = objective.fitness(metrics, baseline.metrics)
    return None if fitness is None else Picked(number, len(runs), metrics, fitness)
