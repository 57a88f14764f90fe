"""Predictions of the model of a job: fitness, limits, expected gain, and a stopping rule.

Composite expected improvement: the fitness is a known function of metrics that are modelled one by
one, so it is not modelled itself (Astudillo and Frazier, "Bayesian optimization of composite
functions", ICML 2019): metrics are drawn from their models, and the fitness of each draw is
computed. Limits are counted the same way: a draw that breaks one gains nothing. The models learn
from all trials of the job whatever strategy proposed them: a lucky run does not mislead them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from models import Floats
from models.gaussian_process.process import one_thread
from optimizer.evaluation.evaluation import Evaluation
from optimizer.objective.objective import MOST_GAIN, Objective
from optimizer.surrogate.job_model import JobModel, surrogate_of
from optimizer.surrogate.training_data import coordinates_of, latent_points
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Purpose
from sampler.space.space import Configuration

_QUANTILES = 64
_LEAST_DEVIATION = 1e-9  # of what is certain
MetricPredictions = Mapping[str, tuple[Floats, Floats]]


def drawn_metrics(
    prediction: MetricPredictions, logarithmic: frozenset[str]
) -> Mapping[str, Floats]:
    """Equally likely values of each metric, in its unit, ``(64, m)``: the same quantiles each."""
    normals = _normals(len(prediction))
    drawn = {}
    for column, (name, (expected, deviation)) in enumerate(prediction.items()):
        values = expected + deviation * normals[:, column, None]
        drawn[name] = np.exp(values) if name in logarithmic else values
    return drawn


def likely_metrics(
    prediction: MetricPredictions, logarithmic: frozenset[str]
) -> Mapping[str, Floats]:
    """The medians of each metric, shape ``(1, m)``."""
    return {
        name: (np.exp(expected) if name in logarithmic else expected)[None, :]
        for name, (expected, _) in prediction.items()
    }


def chance_to_keep(
    objective: Objective,
    prediction: MetricPredictions,
    logarithmic: frozenset[str],
    baseline: Mapping[str, float],
) -> Floats:
    """How sure the models are that configurations keep all limits: shape ``(m,)``, 0 to 1.

    Of what they hold for the metrics, not of single runs, which are noisier. Metrics are
    modelled one by one, so it is the product over them, and exact: where it is tiny it still says
    which way it grows, which counting draws does not. Arguments as in ``expected_gain``.
    """
    from scipy.special import ndtr

    chance = np.ones(len(next(iter(prediction.values()))[0]))
    bounds = objective.bounds(baseline)
    for name in dict.fromkeys(limit.metric for limit in bounds):
        high = min(limit.at_most for limit in bounds if limit.metric == name)
        low = max(limit.at_least for limit in bounds if limit.metric == name)
        if name in logarithmic:  # the metric is above 0, whatever it is
            high, low = (math.log(each) if each > 0 else -math.inf for each in (high, low))
        expected, deviation = prediction[name]
        spread = np.maximum(deviation, _LEAST_DEVIATION)
        within = ndtr((high - expected) / spread) - ndtr((low - expected) / spread)
        chance = chance * np.maximum(within, 0.0)
    return np.asarray(chance)


def expected_gain(
    objective: Objective,
    prediction: MetricPredictions,
    logarithmic: frozenset[str],
    baseline: Mapping[str, float],
    best: float | None,
) -> Floats:
    """What configurations are expected to gain on the best fitness that is known, ``(m,)``.

    While nothing keeps the limits (``best`` is None) it is the chance that a configuration does.
    ``prediction`` is of the metrics, shape ``(m,)`` each; ``logarithmic`` are those that are
    logarithms.
    """
    if best is None:
        return chance_to_keep(objective, prediction, logarithmic, baseline)
    metrics = drawn_metrics(prediction, logarithmic)
    fitness = objective.fitness_of_many(metrics, baseline)
    kept = objective.kept_limits(metrics, baseline).all(axis=0)
    return np.asarray((np.maximum(fitness - best, 0.0) * kept).mean(axis=0))


@lru_cache(maxsize=8)
def _normals(metrics: int) -> Floats:
    """Shape ``(64, metrics)``: evenly spread draws of independent standard normals."""
    from scipy.special import ndtri
    from scipy.stats import qmc

    spread = qmc.Sobol(metrics, scramble=True, rng=np.random.default_rng(0)).random(_QUANTILES)
    return np.asarray(ndtri(np.clip(spread, 1e-6, 1 - 1e-6)))


SAID = "below the noise of"  # in a proposal's why, where the search is exhausted


@dataclass(frozen=True)
class StoppingRule:
    """What the next run of a search promises, in units of fitness."""

    gain: float  # what the best configuration that was found on the models is expected to gain
    # By how much the last runs have raised the best that the models hold; None: too few to tell.
    lately: float | None
    runs: int  # how many these last runs are
    noise: float | None  # standard deviation of single runs of the baseline; None: fewer than two

    @property
    def exhausted(self) -> bool:
        """Whether one more run, and what the last ones brought, drown in the noise of one.

        The gain of a single step is not enough: many small steps can still lead far.
        """
        if self.noise is None or self.lately is None:
            return False
        return self.gain <= self.noise and self.lately <= self.noise

    def words(self) -> str:
        """One line for people."""
        if self.noise is None:
            return f"expected gain {self.gain:.3g}"
        if not self.exhausted:
            return f"expected gain {self.gain:.3g}, noise {self.noise:.3g}"
        assert self.lately is not None
        return (
            f"expected gain {self.gain:.3g}, {SAID} {self.noise:.3g} "
            f"(the last {self.runs} runs gained {self.lately:.3g})"
        )


def fitness_noise(evaluation: Evaluation, at: Mapping[str, float] | None = None) -> float | None:
    """The scatter of one run's fitness, as the baseline's own runs show it: a standard deviation.

    Runs before the confirmation count, clocks corrected for drift; None with fewer than two. A
    configuration whose metrics are ``at`` (None: the baseline's) is taken to scatter by the same
    ratios.
    """
    baseline = evaluation.baseline
    ended = [run for run in evaluation.history.of(Purpose.BASELINE) if run.done]
    runs = [baseline.corrected_trial(run) for run in ended]
    objective, level = evaluation.problem.objective, baseline.metrics
    return scatter(objective, runs, level, at or level)


def scatter(
    objective: Objective,
    runs: Sequence[Mapping[str, float]],
    baseline: Mapping[str, float],
    at: Mapping[str, float],
) -> float | None:
    """Standard deviation of fitness: of runs that err from ``at`` as these from the baseline.

    Time and rate err together, which is why whole runs are taken, and no sum over metrics.
    """
    found = []
    for run in runs:
        moved = {t.metric: _moved(run, baseline, at, t.metric) for t in objective.terms}
        fitness = objective.fitness(moved, baseline)
        if fitness is not None and math.isfinite(fitness):
            found.append(fitness)
    return float(np.std(found, ddof=1)) if len(found) > 1 else None


def _moved(
    run: Mapping[str, float], baseline: Mapping[str, float], at: Mapping[str, float], name: str
) -> float:
    value, level = run.get(name, math.nan), baseline.get(name, math.nan)
    return at[name] * value / level if level > 0 else at[name] + value - level


# Of what is measured again half would break a limit that it keeps with a chance of one half.
_SURELY_KEPT = 0.8


@dataclass(frozen=True, eq=False)
class PosteriorPrediction:
    """What the models hold for points, one a row."""

    fitness: Floats  # what is likely, shape ``(n,)``
    chance: Floats  # that all limits are kept, shape ``(n,)``; 1 without limits

    @property
    def feasible_fitness(self) -> Floats:
        """The fitness; minus infinity where it is less than 80% sure that all limits are kept."""
        return np.where(self.chance >= _SURELY_KEPT, self.fitness, -np.inf)

    def best_first(self) -> NDArray[np.intp]:
        """The rows by feasible fitness, the infeasible ones by how nearly they keep limits."""
        return np.lexsort((-self.fitness, -self.chance, -self.feasible_fitness))


def posterior_prediction(
    problem: Problem, surrogate: JobModel, points: Floats, baseline: Mapping[str, float]
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
class PredictedChanges:
    """What the model of a job predicts of configurations, as changes against the baseline.

    How two configurations differ is known far better than how good either is, so what is not known
    of them is drawn for all of them together.
    """

    problem: Problem
    model: JobModel
    baseline: Mapping[str, float]  # its medians
    draws: int = _DRAWS
    # Whether the baseline is a point of the model like any other, so that what is not known of it
    # is part of every deviation; else it is taken as it was measured.
    modelled: bool = False

    @one_thread()
    def changes(self, configurations: Sequence[Configuration]) -> dict[str, Floats]:
        """The expected change of each metric, 0.1 for 10% more; shape ``(m,)`` each."""
        expected = self.model.expected(self._points(configurations))
        return {name: self._change(name, values[None])[0] for name, values in expected.items()}

    @one_thread()
    def drawn_changes(self, configurations: Sequence[Configuration]) -> dict[str, Floats]:
        """The expected change of each metric and equally likely ones, shape ``(1 + draws, m)``.

        Those of a row belong together.
        """
        drawn = self.model.draw(self._points(configurations), self.draws)
        return {name: self._change(name, values) for name, values in drawn.items()}

    def fitness(self, configurations: Sequence[Configuration]) -> Floats:
        """The expected fitness, shape ``(m,)``."""
        return self.problem.objective.fitness_of_changes(self.changes(configurations))

    def drawn_fitness(self, configurations: Sequence[Configuration]) -> Floats:
        """The expected fitness in the first row, then equally likely ones, ``(1 + draws, m)``."""
        return self.problem.objective.fitness_of_changes(self.drawn_changes(configurations))

    def kept_limits(self, changes: Mapping[str, Floats]) -> NDArray[np.bool_]:
        """Which limits are kept where metrics change so, shape ``(n_limits, m)``."""
        level = self.baseline
        there = {n: level[n] + (abs(level[n]) or 1.0) * moved for n, moved in changes.items()}
        return self.problem.objective.kept_limits(there, level)

    def _change(self, name: str, values: Floats) -> Floats:
        """From values on the scale of the training data; where modelled, the baseline's first."""
        level, is_log = self.baseline[name], name in self.model.data.logarithmic
        if self.modelled:
            moved = values[:, 1:] - values[:, :1]
        else:
            moved = values - np.array(np.log(level) if is_log else level)
        change = np.expm1(np.minimum(moved, 700.0)) if is_log else moved / (abs(level) or 1.0)
        return np.asarray(np.clip(change, -MOST_GAIN, MOST_GAIN))

    def _points(self, configurations: Sequence[Configuration]) -> Floats:
        asked = [*([self.problem.space.start] if self.modelled else []), *configurations]
        return latent_points(self.problem, asked, self.model.layout.names)


@one_thread()
def predicted_changes(evaluation: Evaluation) -> PredictedChanges | None:
    """By the search's model of all trials so far, whoever searched; None of too few trials."""
    problem = evaluation.problem
    surrogate = surrogate_of(evaluation, problem.searched) if problem.searched else None
    if surrogate is None:
        return None
    return PredictedChanges(problem, surrogate, evaluation.baseline.metrics)
