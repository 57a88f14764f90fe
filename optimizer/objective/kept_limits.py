"""Whether the winner keeps the limits of its objective in the proof's fresh runs.

The medians decide, as they do for every figure that is reported: with a limit near the level of a
noisy metric a single run beyond it is to be expected. How many runs keep it is told beside them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optimizer.objective.limit_text import limit_words
from optimizer.objective.objective import Limit

Metrics = Mapping[str, float]


@dataclass(frozen=True)
class KeptLimit:
    """How the winner stands to one limit.

    Attributes:
        limit: As it was asked for.
        bound: In figures alone, by the medians of the baseline's fresh runs.
        value: The median of the winner's; None where a run lacks the metric.
        runs_kept: How many runs of the winner keep it, multiples of the baseline by the run of
            the baseline beside it: neighbours in time, on the same host.
        runs: Of how many.
    """

    limit: Limit
    bound: Limit
    value: float | None
    runs_kept: int
    runs: int

    @property
    def kept(self) -> bool:
        """Whether the median is within the bound."""
        return self.value is not None and self.bound.holds({self.bound.metric: self.value})

    def document(self) -> dict[str, Any]:
        """As JSON holds it; a side without a bound is null."""
        most, least = self.bound.at_most, self.bound.at_least
        return {
            "limit": limit_words(self.limit),
            "metric": self.limit.metric,
            "at_most": most if math.isfinite(most) else None,
            "at_least": least if math.isfinite(least) else None,
            "value": self.value,
            "kept": self.kept,
            "runs_kept": self.runs_kept,
            "runs": self.runs,
        }


def limits_kept(
    limits: Sequence[Limit],
    pairs: Sequence[tuple[Metrics, Metrics]],
    medians: tuple[Metrics, Metrics],
) -> tuple[KeptLimit, ...]:
    """How the winner stands to each limit, in their order.

    Args:
        limits: The objective's.
        pairs: (baseline's metrics, winner's metrics) of the proof.
        medians: Of the baseline's runs, and of the winner's.
    """
    baseline, winner = medians
    return tuple(
        KeptLimit(
            limit=limit,
            bound=limit.resolved(baseline),
            value=winner.get(limit.metric),
            runs_kept=sum(limit.holds(mine, theirs) for theirs, mine in pairs),
            runs=len(pairs),
        )
        for limit in limits
    )


def kept_words(row: Mapping[str, Any]) -> str:
    """One line on a limit: its bound in figures, the winner's median, and the share of runs.

    Args:
        row: ``KeptLimit.document``.
    """
    at = [row[side] for side in ("at_least", "at_most") if row[side] is not None]
    here = f" (here {' and '.join(map(_figure, at))})" if " baseline" in row["limit"] else ""
    if row["value"] is None:
        return f"{row['limit']}{here} is not kept: not every run measured it"
    kept = "is kept" if row["kept"] else "is broken"
    runs = f"{row['runs_kept']} of {row['runs']} runs"
    return f"{row['limit']}{here} {kept}: median {_figure(row['value'])}, {runs} within it"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100_000 else f"{value:,.6g}"
