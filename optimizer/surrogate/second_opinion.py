"""What models of the metrics think of measured configurations: a lucky run does not mislead them.

The models are those that guide the strategy `forest` (``surrogate``), learned from all
trials of the job whatever strategy proposed them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from models.gaussian_process.one_thread import one_thread
from optimizer.evaluation.knowledge import baseline_of
from optimizer.objective.objective import Objective
from optimizer.surrogate.expected_gain import drawn_metrics, fitness_of, keeps
from optimizer.surrogate.metric_lessons import coordinates_of
from optimizer.surrogate.surrogate import surrogate_of
from optimizer.trials.history import History
from optimizer.trials.problem import Problem


@dataclass(frozen=True)
class Opinion:
    """What the models expect of a configuration.

    Attributes:
        fitness: Expected, by the objective that was asked about.
        low, high: Between them it is with 95% probability, if the models are right.
        keeps: The probability that every limit is kept.
    """

    fitness: float
    low: float
    high: float
    keeps: float


def opinions(
    problem: Problem, objective: Objective, history: History, numbers: Sequence[int]
) -> dict[int, Opinion]:
    """By trial; empty while too little is known.

    Args:
        problem: What the job tunes.
        objective: What fitness and limits are asked about.
        history: The job's trials; a run of the baseline has ended well.
        numbers: Of the trials.
    """
    asked = replace(problem, objective=objective)
    # One of its own: what is learned is kept with a history, by the identity of the problem, and
    # this one is soon gone.
    history = History(history)
    names = tuple(n for n in problem.space.names if n not in problem.space.unsearched)
    if not numbers or not names:
        return {}
    with one_thread():
        surrogate = surrogate_of(asked, history, names)
        if surrogate is None:
            return {}
        points = coordinates_of(asked, [history[number] for number in numbers], names)
        drawn = drawn_metrics(surrogate.predict(points), surrogate.lessons.logarithmic)
    baseline = baseline_of(history, asked).metrics
    fitness = fitness_of(objective, drawn, baseline)
    kept = keeps(objective.bounds(baseline), drawn, fitness.shape).mean(axis=0)
    low, high = np.quantile(fitness, [0.025, 0.975], axis=0)
    columns = zip(fitness.mean(axis=0), low, high, kept, strict=True)
    return {
        number: Opinion(*(float(each) for each in column))
        for number, column in zip(numbers, columns, strict=True)
    }
