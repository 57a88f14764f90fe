"""Tests over paired runs: how a metric differs, by Student's t, and how a winner stands to limits.

Runs come in pairs, made one after the other, so a machine that drifts slows both sides alike.

Limits are tested for non-inferiority with a margin that was fixed before the runs. A limit is
*kept* where a one-sided confidence bound of the metric's mean lies within the margin of the limit,
*broken* where the mean is shown to lie beyond the limit itself, and else *not shown* to be kept. A
multiple of the baseline is judged by the pairs' ratios with 95% confidence, a figure by the
winner's runs alone with 97.5% (``FIGURE_ALPHA`` says why).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import Field

from optimizer.budget.power import ALPHA, FIGURE_ALPHA, LIMIT_ALPHA
from optimizer.explained import DocumentPart
from optimizer.objective.objective import (
    BROKEN,
    KEPT,
    OPEN,
    Limit,
    Metrics,
    limit_figure,
    limit_words,
)

if TYPE_CHECKING:
    from models import Floats

CONFIDENCE = 0.95
SIGNIFICANT = 0.05  # of all that a verdict names, together


class Change(DocumentPart):
    """How a metric of the winner differs from the baseline's; a part of result.json."""

    percent: float  # signed change: geometric mean of the pairs' ratios, less 1, in percent
    low: float  # low, high: its 95% interval
    high: float
    p: float | None = None  # two-sided p-value of no change, of this metric by itself
    # The same, corrected for all metrics that a verdict may name; None: not one of them, or of a
    # job of an earlier version.
    p_adjusted: float | None = None
    # The smallest rise, in percent, that would have been named beside those metrics with 80%
    # probability; None: the metric is named, or not one of them, or of an earlier version.
    detectable: float | None = None
    scope: str | None = None  # the column family; None: the whole database

    @property
    def in_words(self) -> str:
        """As ``+14.0% (+11.0% to +17.0%)``."""
        return f"{self.percent:+.1f}% ({self.low:+.1f}% to {self.high:+.1f}%)"

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
    return Change(percent=percent, low=low, high=high, p=p, p_adjusted=None, detectable=None)


def with_adjusted_p(
    changes: Mapping[str, Change], names: Iterable[str], *, passed: bool
) -> dict[str, Change]:
    """The changes, with the p-values of those named corrected for being asked together.

    The chance that a verdict says anything false is 5%. The declared test takes 2.5%, the metrics
    share the other half by Holm's procedure; where the test ``passed`` its half goes on to them
    (F. Bretz and others, Statistics in Medicine 28, 2009). A metric that is the same in every run
    is not asked about.
    """
    from models.anova import holm

    asked = [n for n in names if n in changes and (changes[n].low or changes[n].high)]
    factor = _share(passed)
    corrected = holm([changes[name].p for name in asked])
    adjusted = {n: min(1.0, factor * (p or 0.0)) for n, p in zip(asked, corrected, strict=True)}
    return {
        name: each.model_copy(update={"p_adjusted": adjusted.get(name)})
        for name, each in changes.items()
    }


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


_ROUNDING = 1e-9  # relative: a value exactly on a bound may be off by so much
Margins = Mapping[str, float]
"""The share of each bound that may be missing, by the bound in words."""


def margins_of(rows: Sequence[Mapping[str, Any]] | None) -> Margins | None:
    """The margins in rows of JSON (``limit``, and ``margin`` in percent); None: they have none."""
    if rows is None or not all("margin" in row for row in rows):
        return None
    return {row["limit"]: row["margin"] / 100 for row in rows}


class JudgedLimit(DocumentPart):
    """How the winner stands to one bound of a limit; a part of result.json."""

    limit: str  # as it was asked for, one bound alone
    metric: str
    # at_most, at_least: the bound in figures, by the median of the baseline's fresh runs
    at_most: float | None = None
    at_least: float | None = None
    value: float | None = None  # the median of the winner's; None where a run lacks the metric
    # Whether it is shown to be kept; without a standing, whether the median is within. None where
    # there was no proof.
    kept: bool | None = None
    # How many runs of the winner are within the bound itself, multiples of the baseline by the run
    # of the baseline beside it: neighbours in time, on the same host.
    runs_kept: int | None = None
    runs: int | None = None  # of how many
    standing: str | None = None  # KEPT, BROKEN, OPEN; None where the median alone decides
    margin: float | None = None  # percent of the bound
    p: float | None = None  # one-sided p-value of "it is not within the margin"
    assured: str = ""  # how far the metric is shown to reach at worst, in words
    scope: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether the median keeps it, and only the certainty is missing."""
        least, most = self.at_least, self.at_most
        within = self.value is not None and (least is None or self.value >= least)
        return self.standing == OPEN and within and (most is None or (self.value or 0) <= most)

    @property
    def words(self) -> str:
        """One line: the bound in figures, the margin, the winner's median, its runs.

        Limits of jobs of earlier versions have no ``standing``: there the median alone decided.
        """
        at = [bound for bound in (self.at_least, self.at_most) if bound is not None]
        figures = f" (here {' and '.join(map(limit_figure, at))})"
        limit = self.limit + (figures if " baseline" in self.limit else "")
        if self.value is None:
            return f"{limit} is not kept: some runs did not measure it"
        standing = self.standing or (KEPT if self.kept else BROKEN)
        how = "is not shown to be kept" if standing == OPEN else f"is {standing}"
        # What is broken is beyond the bound itself, whatever the margin.
        margin = self.margin if standing != BROKEN else None
        within = f" within a margin of {margin:.1f}%" if margin else ""
        sure = f", {self.assured}" if self.assured else ""
        # Of a limit with a margin, not within that.
        runs = f"{self.runs_kept} of {self.runs} runs within {'the bound' if margin else 'it'}"
        return f"{limit} {how}{within}: median {limit_figure(self.value)}{sure}, {runs}"


class Power(DocumentPart):
    """What the fresh pairs could have shown: the sensitivity of the design, as carried out.

    This is not "observed power": that would put the change that was found into the formula, and
    say no more than the p-value does (J. Hoenig, D. Heisey, The American Statistician 55, 2001).
    The scatter of the pairs alone is used, not their mean.
    """

    level: float = 0.8  # probability with which a change of these sizes passes the one-sided test
    pairs: int = 0  # how many pairs gave a fitness
    # By metric, in percent, of a rise; a fall of as many percent is seen surer.
    smallest_change: dict[str, float | None] = Field(default={})
    fitness: float | None = None  # the smallest fitness that passes with that probability
    planned: dict[str, Any] | None = None


@dataclass(frozen=True)
class LimitLevels:
    """One-sided levels of the tests of limits, where they differ from ``LIMIT_ALPHA``."""

    figures: float = FIGURE_ALPHA  # of being called kept, of a limit in figures
    broken: float = ALPHA  # of being called broken, of any limit

    @classmethod
    def declared(cls, test: Mapping[str, Any] | None) -> LimitLevels:
        """Those of a declared test; earlier versions had one level for all."""
        if test is None or "limit_alpha_of_figures" in test:
            return cls()
        return cls(figures=LIMIT_ALPHA, broken=LIMIT_ALPHA)


def limits_kept(
    limits: Sequence[Limit],
    pairs: Sequence[tuple[Metrics, Metrics]],
    raw: Sequence[tuple[Metrics, Metrics]],
    *,
    margins: Margins | None,
    unseen: Mapping[str, float],
    levels: LimitLevels | None = None,
) -> tuple[JudgedLimit, ...]:
    """How the winner stands to each bound of the objective's limits.

    Args:
        limits: The objective's.
        pairs: (baseline's metrics, winner's metrics) of the proof; two at least.
        raw: The same as they were measured, for limits in figures.
        margins: By bound; one that is not there has none. None: the medians decide, as in jobs of
            earlier versions.
        unseen: Standard errors of log ratios that the pairs do not show, by metric.
        levels: As they were declared before the proof; None: those of today.
    """
    found = []
    for limit in (bound for each in limits for bound in each.bounds):
        mine = pairs if limit.beside_baseline else raw
        off = unseen.get(limit.metric, 0.0) if limit.beside_baseline else 0.0
        found.append(_kept(limit, mine, margins, off, levels or LimitLevels()))
    return tuple(found)


def _kept(
    limit: Limit,
    pairs: Sequence[tuple[Metrics, Metrics]],
    margins: Margins | None,
    unseen: float,
    levels: LimitLevels,
) -> JudgedLimit:
    baseline, winner = (medians([pair[side] for pair in pairs]) for side in (0, 1))
    words, bound, value = limit_words(limit), limit.resolved(baseline), winner.get(limit.metric)
    known = JudgedLimit(
        limit=words,
        metric=limit.metric,
        at_most=bound.at_most if math.isfinite(bound.at_most) else None,
        at_least=bound.at_least if math.isfinite(bound.at_least) else None,
        value=value,
        kept=bound.holds(winner),
        runs_kept=sum(limit.holds(mine, theirs) for theirs, mine in pairs),
        runs=len(pairs),
    )
    if margins is None:
        return known
    margin = margins.get(words, 0.0)
    if value is None or (limit.beside_baseline and limit.metric not in baseline):
        value, standing, p, assured = None, OPEN, None, ""
    else:
        standing, p, assured = _tested(limit, pairs, margin, unseen, levels)
    tested = {"standing": standing, "margin": round(100 * margin, 1), "p": p, "assured": assured}
    return known.model_copy(update={"value": value, "kept": standing == KEPT, **tested})


def _tested(
    limit: Limit,
    pairs: Sequence[tuple[Metrics, Metrics]],
    margin: float,
    unseen: float,
    levels: LimitLevels,
) -> tuple[str, float, str]:
    """Standing, one-sided p-value of "not within the margin", and how far it reaches at worst."""
    alpha = LIMIT_ALPHA if limit.beside_baseline else levels.figures
    share = 1 - margin if limit.is_floor else 1 + margin
    widened, _ = _inside(limit, pairs, share)
    mean, half, two_sided = interval_of_mean(widened, unseen, 1 - 2 * alpha)
    p = two_sided / 2 if mean > 0 else 1 - two_sided / 2
    if not half:  # counters can be the same to the byte, and on the bound
        p = 0.0 if mean >= 0 else 1.0
    exactly, logarithmic = _inside(limit, pairs, 1.0)
    mean, half, two_sided = interval_of_mean(exactly, unseen, 1 - 2 * alpha)
    broken = mean < 0 and two_sided < 2 * levels.broken
    standing = BROKEN if broken else KEPT if p < alpha else OPEN
    return standing, p, _assured(limit, mean - half, 1 - alpha) if half and logarithmic else ""


def _inside(
    limit: Limit, pairs: Sequence[tuple[Metrics, Metrics]], share: float
) -> tuple[Floats, bool]:
    """How far each run is inside so large a share of the bound; see ``differences_of``."""
    figure, multiple = limit.figure, limit.beside_baseline
    bounds = [share * figure * (theirs[limit.metric] if multiple else 1) for theirs, _ in pairs]
    reached = [mine[limit.metric] for _, mine in pairs]
    differences, logarithmic = differences_of([*zip(bounds, reached, strict=True)])
    differences[abs(differences) < _ROUNDING] = 0.0
    return (differences if limit.is_floor else -differences), logarithmic


def _assured(limit: Limit, inside: float, confidence: float) -> str:
    """``inside``: the one-sided bound of the mean logarithm, less that of the limit."""
    worst = limit.figure * math.exp(inside if limit.is_floor else -inside)
    side = "at least" if limit.is_floor else "at most"
    told = (
        f"{worst:.3g} baseline" if limit.beside_baseline else limit_figure(float(f"{worst:.4g}"))
    )
    return f"{side} {told} with {100 * confidence:g}% confidence"
