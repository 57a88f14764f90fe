"""How a metric differs between paired runs: Student's t over the pairs' ratios.

Runs come in pairs, made one after the other, so a machine that drifts slows both sides alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from models import Floats

CONFIDENCE = 0.95
SIGNIFICANT = 0.05  # of all that a verdict names, together


@dataclass(frozen=True)
class Change:
    """How a metric of the winner differs from the baseline's."""

    percent: float  # signed change: geometric mean of the pairs' ratios, less 1, in percent
    low: float  # low, high: its 95% interval
    high: float
    p: float  # two-sided p-value of no change, of this metric by itself
    # The same, corrected for all metrics that a verdict may name; None: not one of them, or of a
    # job of an earlier version.
    p_adjusted: float | None = None
    # The smallest rise, in percent, that would have been named beside those metrics with 80%
    # probability; None: the metric is named, or not one of them, or of an earlier version.
    detectable: float | None = None

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Change:
        """A change as result.json holds it."""
        percent, low, high, p = (document[part] for part in ("percent", "low", "high", "p"))
        return cls(percent, low, high, p, document.get("p_adjusted"), document.get("detectable"))

    @property
    def shown(self) -> int:
        """1: the metric is shown to have risen, -1: to have fallen, 0: neither.

        By the adjusted p-value; without one, as in jobs of earlier versions, by the interval.
        """
        if self.p_adjusted is None:
            return (self.low > 0) - (self.high < 0)
        return (self.p_adjusted < SIGNIFICANT) * (1 if self.percent > 0 else -1)


def change(pairs: Sequence[tuple[float, float]], unseen: float = 0.0) -> Change:
    """The change from the first to the second of each pair, from the t distribution of log ratios.

    Where a value is not above 0 there is no ratio: then differences over the baseline's mean.
    There are at least two (baseline, winner) pairs. ``unseen``: see ``interval_of_mean``.
    """
    differences, logarithmic = differences_of(pairs)
    mean, half, p = interval_of_mean(differences, unseen)
    percent, low, high = (
        percent_of(each, logarithmic) for each in (mean, mean - half, mean + half)
    )
    return Change(percent, low, high, p)


def with_adjusted_p(
    changes: Mapping[str, Change], names: Iterable[str], *, passed: bool
) -> dict[str, Change]:
    """The changes, with the p-values of those named corrected for being asked together.

    The chance that a verdict says anything false is 5%. The declared test takes 2.5%, the metrics
    share the other half by Holm's procedure; where the test ``passed`` its half goes on to them
    (F. Bretz and others, Statistics in Medicine 28, 2009). A metric that is the same in every run
    is not asked about.
    """
    from models.importance.anova import holm

    asked = [n for n in names if n in changes and (changes[n].low or changes[n].high)]
    factor = _share(passed)
    corrected = holm([changes[name].p for name in asked])
    adjusted = {n: min(1.0, factor * (p or 0.0)) for n, p in zip(asked, corrected, strict=True)}
    return {n: replace(each, p_adjusted=adjusted.get(n)) for n, each in changes.items()}


def naming_level(changes: Mapping[str, Change], *, passed: bool) -> float:
    """The two-sided p-value below which one more of the adjusted ``changes`` would be named.

    By Holm's procedure it depends on how many others are named already.
    """
    open_ = [each for each in changes.values() if each.p_adjusted is not None and not each.shown]
    return SIGNIFICANT / _share(passed) / max(1, len(open_))


def _share(passed: bool) -> int:
    return 1 if passed else 2


def percent_of(difference: float, logarithmic: bool) -> float:
    """A difference of ``differences_of`` in percent of the baseline."""
    return 100 * (math.expm1(min(difference, 700.0)) if logarithmic else difference)


def differences_of(pairs: Sequence[tuple[float, float]]) -> tuple[Floats, bool]:
    """What the t distribution is applied to: one difference for each (baseline, winner) pair.

    Logarithms of the ratios and True, or, where a value is not above 0, differences over the
    baseline's mean and False.
    """
    import numpy as np

    values = np.array(pairs, dtype=np.float64)
    if (values > 0).all():
        return np.log(values[:, 1]) - np.log(values[:, 0]), True
    level = abs(float(values[:, 0].mean())) or 1.0
    return (values[:, 1] - values[:, 0]) / level, False


def medians(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The median of each metric that every run has."""
    import numpy as np

    names = [name for name in runs[0] if all(name in run for run in runs)]
    return {name: float(np.median([run[name] for run in runs])) for name in names}


def interval_of_mean(
    values: Floats, unseen: float = 0.0, confidence: float = CONFIDENCE
) -> tuple[float, float, float]:
    """Mean, half of its interval by Student's t, and two-sided p of a zero mean.

    There are at least two values. ``unseen``: a standard error that they do not show.
    """
    import numpy as np

    # Without the checks of scipy.stats, which take most of a millisecond a call, in all digits.
    from scipy.special import stdtr, stdtrit

    mean, scatter = float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
    error = math.hypot(scatter, unseen)
    if error <= 1e-12 * max(abs(mean), 1e-300):  # counters can be the same to the byte
        return mean, 0.0, 1.0 if mean == 0 else 0.0
    half = error * float(stdtrit(len(values) - 1, (1 + confidence) / 2))
    return mean, half, float(2 * stdtr(len(values) - 1, -abs(mean) / error))
