"""Whether going on with a search is worth its runs: its expected gain against the noise."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.evaluation.evaluation import Evaluation
from optimizer.objective.objective import Objective
from optimizer.trials.trial import Purpose

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
