"""How often intervals held, and how sure a count over jobs is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from studies.explanation_coverage.judged import Claim, Line, holds

Claims = Callable[[Line], Iterable[Claim]]


@dataclass(frozen=True)
class Count:
    """How often intervals held.

    Attributes:
        held, told: Intervals that had the truth in them, and all of them.
        low, high: 95% interval of the share.
        mean, median: Length of the intervals, in the unit of the claim.
    """

    held: int
    told: int
    low: float
    high: float
    mean: float
    median: float

    @property
    def share(self) -> float:
        """In [0, 1]."""
        return self.held / self.told


def count(lines: Sequence[Line], claims: Claims) -> Count | None:
    """Counts over jobs; None where nothing was told.

    Intervals of one job hold or fail together, so they say less than as many independent ones.
    The share's interval is the exact binomial one (Clopper, Pearson) of the number of
    independent intervals that would scatter as much (Korn and Graubard, Survey Methodology
    24(2), 1998).

    Args:
        lines: Of jobs.
        claims: Which claims of a job are counted.
    """
    by_job = [[*claims(line)] for line in lines]
    by_job = [each for each in by_job if each]
    if not by_job:
        return None
    held = np.array([sum(map(holds, each)) for each in by_job])
    told = np.array([len(each) for each in by_job])
    length = np.array([claim[2] - claim[1] for each in by_job for claim in each])
    low, high = _interval(held, told)
    return Count(
        int(held.sum()), int(told.sum()), low, high, float(length.mean()), float(np.median(length))
    )


def of_step(name: str, first: int | None = None) -> Claims:
    """Claims of one kind, ``gain`` or a metric, of all steps or of the first so many."""
    return lambda line: [step[name] for step in line.steps[:first] if name in step]


def _interval(held: np.ndarray, told: np.ndarray) -> tuple[float, float]:
    jobs, total = len(told), int(told.sum())
    share = held.sum() / total
    effective = float(min(total, jobs))  # all held, or none, or a single job: jobs are counted
    if jobs > 1 and 0 < share < 1:
        scatter = jobs / (jobs - 1) * float(((held - share * told) ** 2).sum()) / total**2
        effective = min(total, share * (1 - share) / scatter) if scatter > 0 else float(total)
    x = share * effective
    low = 0.0 if x == 0 else float(stats.beta.ppf(0.025, x, effective - x + 1))
    high = 1.0 if x >= effective else float(stats.beta.ppf(0.975, x + 1, effective - x))
    return low, high
