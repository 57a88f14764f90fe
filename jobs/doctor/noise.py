"""How much the same configuration differs from run to run, and what that leaves provable."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from optimizer.baseline.baseline import MetricNoise, summarise
from optimizer.budget.budget import divide
from optimizer.budget.power import pairs_for, smallest_change
from optimizer.confirmation.proof import CONFIDENCE
from optimizer.trials.trial import Trial

USUAL_TRIALS = (90, 400, 1000)
WANTED_CHANGES = (0.05, 0.01)
# Of all that is read from db_bench, what the paper's objective is made of.
OF_DB_BENCH = ("waf", "sa", "time", "rate")


@dataclass(frozen=True, kw_only=True)
class MetricScatter:
    """A metric over some runs of one configuration.

    Attributes:
        noise: Median, spread and drift.
        low, high: Smallest and largest value.
        spread_low, spread_high: The 95% interval of the spread, of runs that scatter normally;
            None where there is no spread.
    """

    noise: MetricNoise
    low: float
    high: float
    spread_low: float | None
    spread_high: float | None


@dataclass(frozen=True, kw_only=True)
class Provable:
    """What a job of so many trials can prove.

    Attributes:
        pairs: Runs of the winner, and as many of the baseline, that prove it.
        change: The smallest relative change by metric that they show with probability 0.8.
    """

    trials: int
    pairs: int
    change: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Noise:
    """What the runs of the baseline say.

    Attributes:
        runs: How many ended well.
        metrics: Every metric that all of them have.
        judged: The names of those that the machine is judged by.
        provable: By budget.
        pairs_needed: By metric: for each wanted change (``0.05`` is 5%) the pairs that show it.
    """

    runs: int
    metrics: Mapping[str, MetricScatter]
    judged: tuple[str, ...]
    provable: tuple[Provable, ...]
    pairs_needed: Mapping[str, Mapping[float, int]]

    def document(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)


def noise_of(
    trials: Sequence[Trial],
    budgets: Sequence[int] = USUAL_TRIALS,
    judged: Sequence[str] = OF_DB_BENCH,
) -> Noise:
    """Sums up the baseline's runs.

    Args:
        trials: The runs; at least two must have ended well.
        budgets: Numbers of trials of jobs, each at least 12.
        judged: The metrics that the machine is judged by; empty, or none of them there: all.

    Raises:
        ValueError: None has ended well, or a budget is too small.
    """
    baseline = summarise(trials)
    done = [trial for trial in trials if trial.done]
    metrics = {
        name: _scatter(noise, [trial.metrics[name] for trial in done])
        for name, noise in baseline.noise.items()
    }
    chosen = tuple(name for name in judged if name in metrics) or tuple(metrics)
    spreads = {
        name: spread for name in chosen if (spread := metrics[name].noise.spread) is not None
    }
    return Noise(
        runs=baseline.runs,
        metrics=metrics,
        judged=chosen,
        provable=tuple(_provable(spreads, budget) for budget in budgets),
        pairs_needed={
            name: {change: pairs_for(change, spread) for change in WANTED_CHANGES}
            for name, spread in spreads.items()
        },
    )


def _scatter(noise: MetricNoise, values: Sequence[float]) -> MetricScatter:
    from scipy import stats

    spread, freedom = noise.spread, len(values) - 1
    low = high = None
    if spread is not None:
        # The variance of normal runs: (n - 1) s^2 / sigma^2 has a chi-squared distribution.
        tail = (1 - CONFIDENCE) / 2
        low = spread * math.sqrt(freedom / float(stats.chi2.isf(tail, freedom)))
        high = spread * math.sqrt(freedom / float(stats.chi2.ppf(tail, freedom)))
    return MetricScatter(
        noise=noise, low=min(values), high=max(values), spread_low=low, spread_high=high
    )


def _provable(spreads: Mapping[str, float], trials: int) -> Provable:
    pairs = divide(trials).pairs
    change = {name: smallest_change(spread, pairs) for name, spread in spreads.items()}
    return Provable(trials=trials, pairs=pairs, change=change)
