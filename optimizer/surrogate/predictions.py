"""What the models of a job predict for configurations: measured ones, or any points.

The models are those that guide the strategy ``guided`` (``surrogate``), learned from all trials of
the job whatever strategy proposed them: a lucky run does not mislead them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models.gaussian_process.process import one_thread
from optimizer.evaluation.evaluation import Evaluation
from optimizer.objective.objective import Objective
from optimizer.surrogate.coordinates import Floats
from optimizer.surrogate.expected_gain import (
    chance_to_keep,
    drawn_metrics,
    keeps,
    likely_metrics,
)
from optimizer.surrogate.surrogate import Surrogate, surrogate_of
from optimizer.surrogate.training_data import coordinates_of
from optimizer.trials.problem import Problem

# Of what is measured again half would break a limit that it keeps with a chance of one half.
_SURELY_KEPT = 0.8


@dataclass(frozen=True, eq=False)
class PosteriorPrediction:
    """What the models hold for points, one a row."""

    fitness: Floats  # what is likely, shape ``(n,)``
    chance: Floats  # that all limits are kept, shape ``(n,)``; 1 without limits

    @property
    def worth(self) -> Floats:
        """The fitness; minus infinity where it is less than 80% sure that all limits are kept."""
        return np.where(self.chance >= _SURELY_KEPT, self.fitness, -np.inf)

    def best_first(self) -> NDArray[np.intp]:
        """The rows by worth, and those that are worth nothing by how nearly they keep limits."""
        return np.lexsort((-self.fitness, -self.chance, -self.worth))


def posterior_prediction(
    problem: Problem, surrogate: Surrogate, points: Floats, baseline: Mapping[str, float]
) -> PosteriorPrediction:
    """What the models hold for points, shape ``(n, n_names)``, beside the baseline's metrics."""
    prediction, logarithmic = surrogate.predict(points), surrogate.data.logarithmic
    likely = likely_metrics(prediction, logarithmic)
    return PosteriorPrediction(
        problem.objective.fitness_of_many(likely, baseline)[0],
        chance_to_keep(problem.objective, prediction, logarithmic, baseline),
    )


@dataclass(frozen=True)
class Prediction:
    """What the models expect of a configuration."""

    fitness: float  # expected, by the objective that was asked about
    # low, high: between them it is with 95% probability, if the models are right.
    low: float
    high: float
    keeps: float  # the probability that every limit is kept


def predictions_of(
    evaluation: Evaluation, objective: Objective, numbers: Sequence[int]
) -> dict[int, Prediction]:
    """By trial, beside an objective's fitness and limits; empty while too little is known.

    A run of the baseline has ended well.
    """
    problem, history = evaluation.problem, evaluation.history
    names = tuple(n for n in problem.space.names if n not in problem.space.unsearched)
    if not numbers or not names:
        return {}
    # One of its own: what the job's evaluation keeps is for the job's objective.
    asked = Evaluation(replace(problem, objective=objective), history)
    with one_thread():
        surrogate = surrogate_of(asked, names)
        if surrogate is None:
            return {}
        points = coordinates_of(problem, [history[number] for number in numbers], names)
        drawn = drawn_metrics(surrogate.predict(points), surrogate.data.logarithmic)
    baseline = asked.baseline.metrics
    fitness = objective.fitness_of_many(drawn, baseline)
    kept = keeps(objective.bounds(baseline), drawn, fitness.shape).mean(axis=0)
    low, high = np.quantile(fitness, [0.025, 0.975], axis=0)
    columns = np.array([fitness.mean(axis=0), low, high, kept])
    return {n: Prediction(*column) for n, column in zip(numbers, columns.T.tolist(), strict=True)}
