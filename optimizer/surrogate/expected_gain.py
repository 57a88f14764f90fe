"""How much a configuration is expected to gain, and whether that is worth a run.

Composite expected improvement: the fitness is a known function of metrics that are modelled one by
one, so it is not modelled itself (Astudillo and Frazier, "Bayesian optimization of composite
functions", ICML 2019): metrics are drawn from their models, and the fitness of each draw is
computed. Limits are counted the same way: a draw that breaks one gains nothing.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from models import Floats
from optimizer.evaluation.evaluation import Evaluation
from optimizer.objective.objective import Objective
from optimizer.trials.trial import Purpose

_DRAWS = 64
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
    return np.asarray((improvement(fitness, best) * kept).mean(axis=0))


def improvement(fitness: Floats, best: float) -> Floats:
    """By how much each draw of the fitness surpasses the best that is known, of the same shape."""
    return np.maximum(fitness - best, 0.0)


@lru_cache(maxsize=8)
def _normals(metrics: int) -> Floats:
    """Shape ``(64, metrics)``: evenly spread draws of independent standard normals."""
    from scipy.special import ndtri
    from scipy.stats import qmc

    spread = qmc.Sobol(metrics, scramble=True, rng=np.random.default_rng(0)).random(_DRAWS)
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
