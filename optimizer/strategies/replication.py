"""Replication: re-measures a configuration whose result disagrees with the models.

Two configurations decide where is searched: the one that is predicted best, and the one that was
measured best, perhaps by luck. Where a measurement is further from its prediction than noise and
the usual error of the models explain, one of the two is wrong, and one more run tells which.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from models import Floats
from optimizer.evaluation.evaluation import (
    Evaluation,
    MeasuredConfiguration,
    configurations_of,
    replicated,
)
from optimizer.surrogate.job_model import JobModel
from optimizer.surrogate.predictions import fitness_noise, likely_metrics
from optimizer.trials.history import History
from optimizer.trials.trial import Purpose, Trial

SHARE = 0.1  # of what is explored, at most, measures again
MOST = 3  # measurements of one configuration, at most
Z_THRESHOLD = (
    3.0  # standard deviations: the best of sixty runs is 2.3 above the mean by luck alone
)
Z_THRESHOLD_AT_THE_END = 2.0  # what is left then is hardly better spent
_PER_MEDIAN = 1.4826  # the standard deviation of a normal distribution over its median distance


@dataclass(frozen=True)
class Replication:
    """A configuration to be measured again."""

    trial: Trial  # that first measured it
    z: float  # how far its mean is from the prediction, in standard deviations of that mean
    why: str  # one line for people


def replication_of(
    evaluation: Evaluation, surrogate: JobModel, predicted: Floats, *, z_threshold: float
) -> Replication | None:
    """Of the two configurations that decide the one of largest z, if above the threshold.

    ``predicted`` is the fitness of each row of the models' data. None too where replications have
    had their share of the runs.
    """
    history, objective = evaluation.history, evaluation.problem.objective
    own = history.own(Purpose.CANDIDATE)
    if len(replicated(history[number] for number in own)) + 1 > SHARE * len(own):
        return None
    numbers = surrogate.data.numbers
    row_of = {history[n].digest: row for row, n in reversed([*enumerate(numbers, start=1)])}
    whole = configurations_of(evaluation, history.of(Purpose.CANDIDATE))
    rows = {
        each.first.digest: (each, row_of[each.first.digest])
        for each in whole
        if each.first.digest in row_of
    }
    # The usual error of the models: a standard deviation, by the median of the distances between
    # measurements and predictions, which a few lucky runs do not move.
    apart = [
        abs(fitness - float(predicted[row]))
        for known, row in rows.values()
        if (fitness := objective.fitness(known.metrics, evaluation.baseline.metrics)) is not None
        and math.isfinite(predicted[row])
    ]
    errors = _PER_MEDIAN * float(np.median(apart)) if apart else 0.0
    found = [
        _replication(evaluation, surrogate, float(predicted[row]), known, row, errors)
        for known, row in _deciding(history, surrogate, predicted, rows)
    ]
    disagreeing = [each for each in found if each is not None and each.z > z_threshold]
    return max(disagreeing, key=lambda each: each.z, default=None)


def _deciding(
    history: History,
    surrogate: JobModel,
    predicted: Floats,
    rows: Mapping[str, tuple[MeasuredConfiguration, int]],
) -> Iterator[tuple[MeasuredConfiguration, int]]:
    """The configurations that decide, and their rows in the data; the baseline is none."""
    numbers = surrogate.data.numbers
    first = int(np.argmax(predicted[: len(numbers) + 1]))
    if first > 0 and (best := rows.get(history[numbers[first - 1]].digest)):
        yield best
    luckiest = max(rows.values(), key=lambda each: each[0].fitness, default=None)
    if luckiest is not None and luckiest[0].fitness > predicted[first]:
        yield luckiest


def _replication(
    evaluation: Evaluation,
    surrogate: JobModel,
    predicted: float,
    known: MeasuredConfiguration,
    row: int,
    errors: float,
) -> Replication | None:
    problem, history = evaluation.problem, evaluation.history
    trial = known.first
    flying = any(not t.has_outcome for t in history.of_configuration(trial.digest))
    measured = problem.objective.fitness(known.metrics, evaluation.baseline.metrics)
    if known.runs >= MOST or flying or measured is None or not math.isfinite(predicted):
        return None  # it is known well enough, about to be, or nothing to compare
    if not problem.affords(trial.configuration):
        return None
    likely = likely_metrics(
        surrogate.predict(surrogate.data.points[row : row + 1]), surrogate.data.logarithmic
    )
    at = {name: float(values[0, 0]) for name, values in likely.items()}
    noise = fitness_noise(evaluation, at)
    if not noise:
        return None
    noise = max(noise, errors)  # models that err everywhere give no reason to measure again
    why = (
        f"replication of trial {trial.number}: measured fitness {measured:.3g}, "
        f"predicted {predicted:.3g}, standard deviation {noise:.3g}"
    )
    return Replication(trial, abs(measured - predicted) / (noise / math.sqrt(known.runs)), why)
