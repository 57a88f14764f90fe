"""How a winner stands to limits: a test of non-inferiority with a margin that was fixed before.

A limit is *kept* where a one-sided confidence bound of the metric's mean lies within the margin of
the limit, *broken* where the mean is shown to lie beyond the limit itself, and else *not shown* to
be kept. A multiple of the baseline is judged by the pairs' ratios with 95% confidence, a figure by
the winner's runs alone with 97.5% (``FIGURE_ALPHA`` says why).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from models import Floats
from optimizer.budget.power import ALPHA, FIGURE_ALPHA, LIMIT_ALPHA
from optimizer.confirmation.paired_change import differences_of, interval_of_mean, medians
from optimizer.objective.objective import (
    BROKEN,
    KEPT,
    OPEN,
    Limit,
    Metrics,
    limit_figure,
    limit_words,
)

_ROUNDING = 1e-9  # relative: a value exactly on a bound may be off by so much
Margins = Mapping[str, float]
"""The share of each bound that may be missing, by the bound in words."""


def margins_of(rows: Sequence[Mapping[str, Any]] | None) -> Margins | None:
    """The margins in rows of JSON (``limit``, and ``margin`` in percent); None: they have none."""
    if rows is None or not all("margin" in row for row in rows):
        return None
    return {row["limit"]: row["margin"] / 100 for row in rows}


@dataclass(frozen=True)
class KeptLimit:
    """How the winner stands to one bound of a limit."""

    limit: Limit  # as it was asked for, one bound alone
    bound: Limit  # in figures, by the median of the baseline's fresh runs
    value: float | None  # the median of the winner's; None where a run lacks the metric
    # How many runs of the winner are within the bound itself, multiples of the baseline by the run
    # of the baseline beside it: neighbours in time, on the same host.
    runs_kept: int
    runs: int  # of how many
    standing: str | None = None  # KEPT, BROKEN, OPEN; None where the median alone decides
    margin: float = 0.0  # share of the bound
    p: float | None = None  # one-sided p-value of "it is not within the margin"
    assured: str = ""  # how far the metric is shown to reach at worst, in words

    @property
    def kept(self) -> bool:
        """Whether it is shown to be kept; without a standing, whether the median is within."""
        if self.value is None or self.standing:
            return self.standing == KEPT
        return self.bound.holds({self.bound.metric: self.value})

    def document(self) -> dict[str, Any]:
        """As JSON holds it; a side without a bound is null, ``margin`` is in percent."""
        bounds = {side: getattr(self.bound, side) for side in ("at_most", "at_least")}
        row = {
            "limit": limit_words(self.limit),
            "metric": self.limit.metric,
            **{side: value if math.isfinite(value) else None for side, value in bounds.items()},
            "value": self.value,
            "kept": self.kept,
            "runs_kept": self.runs_kept,
            "runs": self.runs,
        }
        if self.standing is None:
            return row
        tested = {"standing": self.standing, "margin": round(100 * self.margin, 1)}
        return row | tested | {"p": self.p, "assured": self.assured}


@dataclass(frozen=True)
class LimitLevels:
    """One-sided levels of the tests of limits, where they differ from ``LIMIT_ALPHA``."""

    figures: float = FIGURE_ALPHA  # of being called kept, of a limit in figures
    broken: float = ALPHA  # of being called broken, of any limit

    @classmethod
    def declared(cls, test: Mapping[str, Any] | None) -> "LimitLevels":
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
) -> tuple[KeptLimit, ...]:
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
) -> KeptLimit:
    baseline, winner = (medians([pair[side] for pair in pairs]) for side in (0, 1))
    known = KeptLimit(
        limit=limit,
        bound=limit.resolved(baseline),
        value=winner.get(limit.metric),
        runs_kept=sum(limit.holds(mine, theirs) for theirs, mine in pairs),
        runs=len(pairs),
    )
    if margins is None:
        return known
    margin = margins.get(limit_words(limit), 0.0)
    if known.value is None or (limit.beside_baseline and limit.metric not in baseline):
        return replace(known, value=None, standing=OPEN, margin=margin)
    standing, p, assured = _tested(limit, pairs, margin, unseen, levels)
    return replace(known, standing=standing, margin=margin, p=p, assured=assured)


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
    figure, multiple = _figure_of(limit), limit.beside_baseline
    bounds = [share * figure * (theirs[limit.metric] if multiple else 1) for theirs, _ in pairs]
    reached = [mine[limit.metric] for _, mine in pairs]
    differences, logarithmic = differences_of([*zip(bounds, reached, strict=True)])
    differences[abs(differences) < _ROUNDING] = 0.0
    return (differences if limit.is_floor else -differences), logarithmic


def _figure_of(limit: Limit) -> float:
    multiple = limit.at_least_baseline or limit.at_most_baseline
    return multiple or (limit.at_least if limit.is_floor else limit.at_most)


def _assured(limit: Limit, inside: float, confidence: float) -> str:
    """``inside``: the one-sided bound of the mean logarithm, less that of the limit."""
    worst = _figure_of(limit) * math.exp(inside if limit.is_floor else -inside)
    side = "at least" if limit.is_floor else "at most"
    told = (
        f"{worst:.3g} baseline" if limit.beside_baseline else limit_figure(float(f"{worst:.4g}"))
    )
    return f"{side} {told} with {100 * confidence:g}% confidence"
