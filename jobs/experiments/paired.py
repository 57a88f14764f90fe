"""Paired runs compared, metric by metric: change, interval, p corrected for asking so often.

The core of comparisons and of upgrade checks: each pair was measured one after the other.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from jobs.experiments.experiment import MeasuredRun, Sets, Side
from models.anova import holm
from optimizer.budget.power import LEAST_PAIRS, smallest_mean
from optimizer.confirmation.paired_tests import CONFIDENCE, Change, change, differences_of
from optimizer.objective.objective import Term
from sampler.workload.metric_table import Direction

SIGNIFICANT = 1 - CONFIDENCE
_MOST_LOG = 700.0


@dataclass(frozen=True, kw_only=True)
class MetricChange:
    """A metric on the new side, compared with the old one."""

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
    """A case on a new side, compared with an old one."""

    case: str
    before: Side  # the old side, what is compared with
    after: Side  # the new one, what is compared
    metrics: Mapping[str, MetricChange]  # by metric; those with too few pairs are not in it
    pairs: int  # how many were measured
    failed: Mapping[Side, Sequence[MeasuredRun]]  # runs that did not end well, by side

    def better(self, metric: str) -> Side | None:
        """The side that is shown to be better; None where neither is."""
        found = self.metrics[metric]
        if not found.significant:
            return None
        return self.before if found.worse else self.after

    @property
    def worse(self) -> bool:
        """Whether a metric is worse, or the new side fails where the old one does not."""
        return self.fails or any(each.worse for each in self.metrics.values())

    @property
    def fails(self) -> bool:
        """Whether the new side fails where the old one does not.

        Where both fail: whether the new one does so surely more often (Fisher's exact test,
        one-sided), or so often that nothing of it can be compared and the old one's can.
        """
        failed_old, failed_new = (len(self.failed[side]) for side in (self.before, self.after))
        if not failed_old:
            return failed_new > 0
        good_old, good_new = self.pairs - failed_old, self.pairs - failed_new
        if good_new < LEAST_PAIRS <= good_old:
            return True
        from scipy.stats import fisher_exact  # takes a second to load, and is seldom asked

        table = np.array([[failed_new, good_new], [failed_old, good_old]])
        return bool(fisher_exact(table, alternative="greater").pvalue < SIGNIFICANT)


def compare_cases(
    sets: Sets,
    before: Side,
    after: Sequence[Side],
    cases: Sequence[str],
    terms: Sequence[Term],
) -> list[CaseChange]:
    """Compares every case on each of the sides ``after`` with the one ``before``, by metric.

    The family of Holm's correction is all metrics of all cases: if nothing changed, the chance
    that anything is called significant is 5% at most.
    """
    places = [(case, side) for case in cases for side in after]
    found = {
        (place, term): [*values]
        for place in places
        for term in terms
        if len(values := pair_values(sets, place[0], before, place[1], term.metric).values())
        >= LEAST_PAIRS
    }
    changes = [change(values) for values in found.values()]
    metrics: dict[tuple[str, Side], dict[str, MetricChange]] = {place: {} for place in places}
    for (place, term), each, p in zip(found, changes, holm_of(changes), strict=True):
        metrics[place][term.metric] = _metric(term, found[place, term], each, p)
    answers = []
    for case, side in places:
        mine = [runs for (_, name), runs in sets.items() if name == case]
        bad = {each: [r[each] for r in mine if not r[each].done] for each in (before, side)}
        answers.append(
            CaseChange(
                case=case, before=before, after=side, metrics=metrics[case, side],
                pairs=len(mine), failed=bad,
            )
        )  # fmt: skip
    return answers


def pair_values(
    sets: Sets, case: str, before: Side, after: Side, metric: str
) -> dict[int, tuple[float, float]]:
    """(old, new) by round, of the pairs that ended well on both sides."""
    pairs = [(number, r[before], r[after]) for (number, name), r in sets.items() if name == case]
    return {
        number: (old.metrics[metric], new.metrics[metric])
        for number, old, new in pairs
        if old.done and new.done and metric in old.metrics and metric in new.metrics
    }


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
