"""What the models of a job predict for configurations: measured ones, or any points.

The models are those that guide the strategy ``guided`` (``surrogate``), learned from all trials of
the job whatever strategy proposed them: a lucky run does not mislead them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models import Floats
from models.gaussian_process.kernel import covariances, kernel_matrices, symmetric_root
from models.gaussian_process.process import one_thread
from optimizer.evaluation.evaluation import Evaluation
from optimizer.objective.objective import Objective
from optimizer.surrogate.expected_gain import chance_to_keep, drawn_metrics, likely_metrics
from optimizer.surrogate.surrogate import Surrogate, surrogate_of
from optimizer.surrogate.training_data import coordinates_of, latent_points
from optimizer.trials.problem import Problem
from sampler.space.space import Configuration
from sampler.workload.metric_table import TIME_BASED

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
class Estimate:
    """What is expected, with its 95% interval."""

    expected: float
    low: float
    high: float


@dataclass(frozen=True)
class Prediction:
    """What the models expect of a configuration."""

    fitness: float  # expected, by the objective that was asked about
    low: float  # low, high: between them it is with 95% probability, if the models are right
    high: float
    keeps: float  # the probability that every limit is kept


@one_thread()
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
    surrogate = surrogate_of(asked, names)
    if surrogate is None:
        return {}
    points = coordinates_of(problem, [history[number] for number in numbers], names)
    drawn = drawn_metrics(surrogate.predict(points), surrogate.data.logarithmic)
    baseline = asked.baseline.metrics
    fitness = objective.fitness_of_many(drawn, baseline)
    kept = objective.kept_limits(drawn, baseline).all(axis=0).mean(axis=0)
    low, high = np.quantile(fitness, [0.025, 0.975], axis=0)
    columns = np.array([fitness.mean(axis=0), low, high, kept])
    return {n: Prediction(*column) for n, column in zip(numbers, columns.T.tolist(), strict=True)}


_DRAWS = 400


@dataclass(frozen=True, eq=False)
class Comparison:
    """Compares configurations by the models of a job's metrics.

    How two configurations differ is known far better than how good either is, so what is not known
    of them is drawn for all of them together.
    """

    problem: Problem
    surrogate: Surrogate
    baseline: Mapping[str, float]  # the baseline's metrics

    @one_thread()
    def metrics(self, configurations: Sequence[Configuration]) -> dict[str, Floats]:
        """What is likely of each metric, in its unit, shape ``(m,)`` each."""
        predicted = self.surrogate.predict(self._points(configurations))
        likely = likely_metrics(predicted, self.surrogate.data.logarithmic)
        return {name: values[0] for name, values in likely.items()}

    def fitness(self, configurations: Sequence[Configuration]) -> Floats:
        """The fitness at these metrics, shape ``(m,)``."""
        metrics = self.metrics(configurations)
        return self.problem.objective.fitness_of_many(metrics, self.baseline)

    @one_thread()
    def drawn_fitness(self, configurations: Sequence[Configuration]) -> Floats:
        """What is likely in the first row, then equally likely ones, shape ``(1 + draws, m)``.

        Clocks err together, all to the better or all to the worse: where a run is slower than
        expected its rate is lower, so the doubts about a fitness do not cancel.
        """
        surrogate, objective = self.surrogate, self.problem.objective
        asked = surrogate.layout.settings(self._points(configurations))
        processes = surrogate.processes
        components = [process.components for process, _ in processes.values()]
        crosses = covariances(kernel_matrices(asked, surrogate.settings), components)
        amongs = covariances(kernel_matrices(asked, asked), components)
        shape = (len(processes) + 1, _DRAWS, len(configurations))
        normals = np.random.default_rng(0).standard_normal(shape)
        raised = {term.metric for term in objective.terms if term.direction == "max"}
        drawn = {}
        for (name, (process, known)), cross, among, own in zip(
            processes.items(), crosses, amongs, normals[1:], strict=True
        ):
            expected, doubt = process.predict_together(known.of(cross), among)
            errors = (1 if name in raised else -1) * (normals[0] if name in TIME_BASED else own)
            errors = errors @ symmetric_root(doubt)
            rows = np.vstack([expected, expected + errors])
            drawn[name] = np.exp(rows) if name in surrogate.data.logarithmic else rows
        return objective.fitness_of_many(drawn, self.baseline)

    def _points(self, configurations: Sequence[Configuration]) -> Floats:
        return latent_points(self.problem, configurations, self.surrogate.layout.names)


@one_thread()
def comparison_of(evaluation: Evaluation) -> Comparison | None:
    """By all trials so far, whoever searched; None while too little is known."""
    problem = evaluation.problem
    surrogate = surrogate_of(evaluation, problem.searched) if problem.searched else None
    if surrogate is None:
        return None
    return Comparison(problem, surrogate, evaluation.baseline.metrics)
