"""Which effects of options change between scales."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr, t
from statsmodels.stats.multitest import multipletests

from sampler.parameters.parameter import Parameter, Value
from studies.ranking_scale.configurations import STEPS
from studies.ranking_scale.correlation import LEAST
from studies.ranking_scale.measured import Measured

ALPHA = 0.05


@dataclass(frozen=True)
class StepEffect:
    """What moving one option away from the baseline does to a metric.

    Attributes:
        percent: By divisor: the change against the median of the baseline.
        shift: Logarithm of the largest scale's ratio over the smallest's; None with one scale.
        noise: Half of the 95% interval of that, from the scatter of the baseline's runs.
    """

    option: str
    value: Value
    metric: str
    percent: dict[int, float]
    shift: float | None
    noise: float | None

    @property
    def changes(self) -> bool:
        """Whether the effect differs between the scales by more than noise."""
        return None not in (self.shift, self.noise) and abs(self.shift or 0) > (self.noise or 0)


@dataclass(frozen=True)
class DrawnEffect:
    """How an option's value goes with the change of a metric between two scales, over all draws.

    Attributes:
        level: The category that is compared with all others; None: the value's order.
        rho: Spearman's correlation of the value with the logarithm of large over small.
        p: Two-sided, after Holm's correction over all options of the metric.
        count: Draws in which the option is active and both runs ended well.
    """

    option: str
    level: Value | None
    metric: str
    rho: float
    p: float
    count: int


def step_effects(scales: Sequence[Measured], metrics: Sequence[str]) -> list[StepEffect]:
    """What each step does to each metric at each scale where it was measured."""
    found = []
    for index, (option, value) in enumerate(STEPS):
        for metric in metrics:
            logs = {}
            for scale in scales:
                row = scale.of("step", 0).get(index)
                ratio = None if row is None else scale.ratio(row, metric)
                if ratio is not None:
                    logs[scale.scale.divisor] = math.log(ratio)
            if not logs:
                continue
            percent = {divisor: 100 * math.expm1(log) for divisor, log in logs.items()}
            ends = [s for s in scales if s.scale.divisor in logs]
            shift = noise = None
            if len(ends) > 1:
                first, last = ends[0], ends[-1]
                shift = logs[last.scale.divisor] - logs[first.scale.divisor]
                noise = _noise_of_shift(first, last, metric)
            found.append(StepEffect(option, value, metric, percent, shift, noise))
    return found


def _noise_of_shift(first: Measured, last: Measured, metric: str) -> float | None:
    """Half of the 95% interval of a difference of two ratios, each of one run over a median."""
    variance, freedom = 0.0, 0
    for scale in (first, last):
        noise, runs = scale.noise(metric), len(scale.baselines)
        if noise is None or runs < 3:
            return None
        variance += noise**2 * (1 + 1.57 / runs)  # of a median: pi / 2 that of a mean
        freedom += runs - 1
    return float(t.ppf(0.975, freedom)) * math.sqrt(variance)


def drawn_effects(
    small: Measured, large: Measured, parameters: Sequence[Parameter], metric: str
) -> list[DrawnEffect]:
    """How each option goes with the change of a metric between two scales, surest first."""
    both = []
    one, other = small.of("draw", 0), large.of("draw", 0)
    for index in sorted(one.keys() & other.keys()):
        ratios = small.ratio(one[index], metric), large.ratio(other[index], metric)
        if ratios[0] and ratios[1]:
            both.append((one[index].configuration, math.log(ratios[1] / ratios[0])))
    tests: list[tuple[str, Value | None, float, float, int]] = []
    for parameter in parameters:
        active = [(c[parameter.name], y) for c, y in both if parameter.name in c]
        levels: Sequence[Value | None] = [None]
        if not parameter.is_numeric and len(parameter.values) > 2:
            levels = parameter.values
        for level in levels:
            x = [_number(parameter, value, level) for value, _ in active]
            y = [change for _, change in active]
            if len(active) >= 2 * LEAST and np.ptp(x) > 0 and np.ptp(y) > 0:
                rho, p = spearmanr(x, y)
                tests.append((parameter.name, level, float(rho), float(p), len(active)))
    if not tests:
        return []
    corrected = multipletests([p for *_, p, _ in tests], ALPHA, method="holm")[1]
    found = [
        DrawnEffect(option, level, metric, rho, float(q), count)
        for (option, level, rho, _, count), q in zip(tests, corrected, strict=True)
    ]
    return sorted(found, key=lambda each: (each.p, -abs(each.rho)))


def _number(parameter: Parameter, value: Value, level: Value | None) -> float:
    if level is not None:
        return float(value == level)
    return float(value) if parameter.is_numeric else float(parameter.values.index(value))
