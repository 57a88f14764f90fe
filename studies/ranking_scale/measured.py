"""Raw rows as what is compared: each metric of each configuration, by scale and round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from optimizer.objective.objective import Objective
from sampler.runner.outcome import TrialState
from studies.ranking_scale.rows import Row
from studies.ranking_scale.scales import Scale

FITNESS = "fitness"
# Whole measurements, and bounds of time and rate that no whole one of the scale exceeds.
_COMPARED = (TrialState.DONE, TrialState.CENSORED)


@dataclass(frozen=True)
class Measured:
    """What was measured at one scale.

    Attributes:
        rows: All of the scale, in the order in which they were measured.
    """

    scale: Scale
    rows: Sequence[Row]
    objective: Objective

    @property
    def baselines(self) -> list[Row]:
        """The baseline's runs that ended well."""
        return [row for row in self.rows if row.run.kind == "baseline" and row.done]

    @cached_property
    def level(self) -> Mapping[str, float]:
        """Median of each metric over the runs of the baseline; empty without any."""
        runs = [row.metrics for row in self.baselines]
        names = [name for name in runs[0] if all(name in run for run in runs)] if runs else []
        return {name: float(np.median([run[name] for run in runs])) for name in names}

    def noise(self, metric: str) -> float | None:
        """Standard deviation of the logarithm of single runs of the baseline."""
        if len(self.baselines) < 2:
            return None
        values = [self.value(row, metric) for row in self.baselines]
        known = [v for v in values if v is not None and (metric == FITNESS or v > 0)]
        return float(np.std(known if metric == FITNESS else np.log(known), ddof=1))

    def of(self, kind: str, round_: int) -> dict[int, Row]:
        """The runs of a kind in a round, by index."""
        return {
            row.run.index: row
            for row in self.rows
            if row.run.kind == kind and row.run.round == round_
        }

    def values(self, metric: str, round_: int = 0) -> dict[int, float]:
        """A metric of each draw by index, those that were cut off by their bounds."""
        found = {i: self.value(row, metric) for i, row in self.of("draw", round_).items()}
        return {index: value for index, value in found.items() if value is not None}

    def value(self, row: Row, metric: str) -> float | None:
        """A metric of a run; None where it was not measured."""
        if row.state not in _COMPARED or not self.level:
            return None
        if metric == FITNESS:
            return self.objective.rank_value(row.metrics, self.level)
        return row.metrics.get(metric)

    def ratio(self, row: Row, metric: str) -> float | None:
        """A metric of a whole run over the baseline's; the fitness itself."""
        if not row.done or not self.level:
            return None
        if metric == FITNESS:
            return self.objective.fitness(row.metrics, self.level)
        value, level = row.metrics.get(metric), self.level.get(metric)
        return value / level if value and level else None


def by_scale(
    rows: Sequence[Row], scales: Sequence[Scale], objective: Objective
) -> dict[int, Measured]:
    """What was measured, by divisor, the smallest scale first; scales without a run left out."""
    found: defaultdict[int, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.run.divisor].append(row)
    return {
        scale.divisor: Measured(scale, found[scale.divisor], objective)
        for scale in scales
        if found[scale.divisor]
    }
