"""Paired runs compared, metric by metric: change, interval, p corrected for asking so often.

The core of comparisons and of upgrade checks: each pair was measured one after the other.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jobs.experiments.experiment import MeasuredRun, Sets, Side
from models.importance.anova import holm
from optimizer.budget.power import LEAST_PAIRS, smallest_mean
from optimizer.confirmation.proof import CONFIDENCE, Change, change, differences_of
from optimizer.objective.objective import Direction, Term

SIGNIFICANT = 1 - CONFIDENCE
_MOST_LOG = 700.0

RunPair = tuple[MeasuredRun, MeasuredRun]


def pairs_of(sets: Sets, before: Side, after: Side) -> dict[tuple[int, str], RunPair]:
    """The pairs of two sides, by round and case."""
    return {place: (runs[before], runs[after]) for place, runs in sets.items()}


@dataclass(frozen=True, kw_only=True)
class MetricChange:
    """A metric with the new build, compared with the old one."""

    metric: str
    # old, new: medians of the runs
    old: float
    new: float
    pairs: int  # pairs in which both runs have the metric
    change: Change  # from old to new, by itself
    p_holm: float  # its p-value, corrected for all metrics of all cases
    # The smallest relative change that as many pairs with as much scatter show with a probability
    # of 0.8, by itself. A change that Holm's correction must let through as well has to be larger.
    smallest_change: float
    better: Direction  # the direction that is better, `min` or `max`

    @property
    def significant(self) -> bool:
        """Whether it is no chance, at 5% for the whole check."""
        return self.p_holm < SIGNIFICANT

    @property
    def worse(self) -> bool:
        """Whether it is significant, and the wrong way."""
        return self.significant and (self.change.percent > 0) == (self.better == "min")

    @property
    def in_words(self) -> str:
        """As ``+14.0% (+11.0% to +17.0%)``."""
        change = self.change
        return f"{change.percent:+.1f}% ({change.low:+.1f}% to {change.high:+.1f}%)"


@dataclass(frozen=True, kw_only=True)
class CaseChange:
    """A case on both builds."""

    case: Any  # as it was asked: a name, or several
    metrics: Mapping[str, MetricChange]  # by metric; those with too few pairs are not in it
    pairs: int  # how many were measured
    # failed_old, failed_new: runs that did not end well
    failed_old: int
    failed_new: int
    failure: str | None  # the new build's first failure, in its own words

    @property
    def worse(self) -> bool:
        """Whether a metric is worse, or the new build fails where the old one does not."""
        return self.fails or any(each.worse for each in self.metrics.values())

    @property
    def fails(self) -> bool:
        """Whether the new build fails where the old one does not.

        Where both fail: whether the new one does so surely more often (Fisher's exact test,
        one-sided), or so often that nothing of it can be compared and the old one's can.
        """
        if not self.failed_old:
            return self.failed_new > 0
        good_old, good_new = self.pairs - self.failed_old, self.pairs - self.failed_new
        if good_new < LEAST_PAIRS <= good_old:
            return True
        from scipy.stats import fisher_exact  # takes a second to load, and is seldom asked

        table = np.array([[self.failed_new, good_new], [self.failed_old, good_old]])
        return bool(fisher_exact(table, alternative="greater").pvalue < SIGNIFICANT)


def compare_cases(
    pairs: Mapping[tuple[int, Any], RunPair], cases: Sequence[Any], terms: Sequence[Term]
) -> list[CaseChange]:
    """Compares every case, metric by metric.

    The family of Holm's correction is all metrics of all cases: if nothing changed, the chance
    that anything is called significant is 5% at most. ``pairs`` are (old, new) by round and case.
    """
    found = {
        (case, term): values
        for case in cases
        for term in terms
        if len(values := [v for _, v in pair_values(pairs, case, term.metric)]) >= LEAST_PAIRS
    }
    changes = [change(values) for values in found.values()]
    metrics: dict[Any, dict[str, MetricChange]] = {case: {} for case in cases}
    for (case, term), each, p in zip(found, changes, holm_of(changes), strict=True):
        metrics[case][term.metric] = _metric(term, found[case, term], each, p)
    answers = []
    for case in cases:
        mine = [pair for (_, name), pair in pairs.items() if name == case]
        failed_new = [new for _, new in mine if not new.done]
        answers.append(
            CaseChange(
                case=case,
                metrics=metrics[case],
                pairs=len(mine),
                failed_old=sum(not old.done for old, _ in mine),
                failed_new=len(failed_new),
                failure=failed_new[0].failure if failed_new else None,
            )
        )
    return answers


def pair_values(
    pairs: Mapping[tuple[int, Any], RunPair], case: Any, metric: str
) -> list[tuple[int, tuple[float, float]]]:
    """(round, (old, new)) of the pairs that ended well on both sides."""
    return [
        (number, (old.metrics[metric], new.metrics[metric]))
        for (number, name), (old, new) in pairs.items()
        if name == case and old.done and new.done
        if metric in old.metrics and metric in new.metrics
    ]


def _metric(
    term: Term, values: Sequence[tuple[float, float]], found: Change, p: float
) -> MetricChange:
    differences, logarithmic = differences_of(values)
    smallest = smallest_mean(float(np.std(differences, ddof=1)), len(values))
    old, new = np.median(np.array(values), axis=0)
    return MetricChange(
        metric=term.metric,
        old=float(old),
        new=float(new),
        pairs=len(values),
        change=found,
        p_holm=p,
        smallest_change=math.expm1(min(smallest, _MOST_LOG)) if logarithmic else smallest,
        better=term.direction,
    )


def holm_of(changes: Iterable[Change]) -> list[float]:
    """The p-value of each, corrected for all of them."""
    # Holm leaves out only what was not asked.
    return [p for p in holm([each.p for each in changes]) if p is not None]
