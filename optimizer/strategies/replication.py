"""What the models doubt: a measured configuration that decides where is searched, and may be luck.

Two configurations decide: the one that the models hold for the best, and the one that was measured
best. Where a measurement is further from what the models hold than noise explains, and than they
are from other measurements, one of the two is wrong, and one more run tells which.
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
SURE = 3.0  # standard deviations: the best of sixty runs is 2.3 above the mean by luck alone
SURE_AT_THE_END = 2.0  # what is left then is hardly better spent
_PER_MEDIAN = 1.4826  # the standard deviation of a normal distribution over its median distance


@dataclass(frozen=True)
class Replication:
    """A configuration to be measured again."""

    trial: Trial  # that first measured it
    doubt: float  # how far it is from what the models hold, in standard deviations of its mean
    why: str  # one line for people


def replication_of(
    evaluation: Evaluation, surrogate: JobModel, worth: Floats, *, sure: float
) -> Replication | None:
    """What is most doubtful of the two configurations that decide; None: nothing, or no share.

    ``worth`` is what the models hold for the fitness of each row of their data. So many standard
    deviations of a configuration's mean (``sure``) are a doubt.
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
    # How far measurements are from what the models hold for them: a standard deviation, by the
    # median of the distances, which a few lucky runs do not move.
    apart = [
        abs(fitness - float(worth[row]))
        for known, row in rows.values()
        if (fitness := objective.fitness(known.metrics, evaluation.baseline.metrics)) is not None
        and math.isfinite(worth[row])
    ]
    errors = _PER_MEDIAN * float(np.median(apart)) if apart else 0.0
    found = [
        _replication(evaluation, surrogate, float(worth[row]), known, row, errors)
        for known, row in _deciding(history, surrogate, worth, rows)
    ]
    doubted = [each for each in found if each is not None and each.doubt > sure]
    return max(doubted, key=lambda each: each.doubt, default=None)


def _deciding(
    history: History,
    surrogate: JobModel,
    worth: Floats,
    rows: Mapping[str, tuple[MeasuredConfiguration, int]],
) -> Iterator[tuple[MeasuredConfiguration, int]]:
    """The configurations that decide, and their rows in the data; the baseline is none."""
    numbers = surrogate.data.numbers
    predicted = int(np.argmax(worth[: len(numbers) + 1]))
    if predicted > 0 and (best := rows.get(history[numbers[predicted - 1]].digest)):
        yield best
    luckiest = max(rows.values(), key=lambda each: each[0].fitness, default=None)
    if luckiest is not None and luckiest[0].fitness > worth[predicted]:
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
