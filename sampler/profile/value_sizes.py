"""The sizes of the values that a load writes, and that its compression ratio is worked out with.

Both take the same distribution: what a codec makes of a table hangs on the sizes of its values, so
a ratio that was worked out with other sizes makes other tables. db_bench draws sizes from a
normal distribution of three deviations on each side of its mean, or evenly from a range
(RandomGenerator in tools/db_bench_tool.cc); ``mixgraph`` draws them from a generalized Pareto
distribution, which is even over a range where its shape is -1 (ParetoCdfInversion).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sampler.parameters.parameter import Value
from sampler.profile.profile import ValueSize

_NORMAL_99 = 2.326  # deviations above the mean at which 99% of a normal distribution lie
_NORMAL_HALF = 3  # deviations on each side, which db_bench's has
_EVEN_HALF = math.sqrt(3)  # the same of an even distribution
_LEAST = 0.02  # of the mean: sizes that deviate by less are written with one size

Kind = Literal["fixed", "normal", "uniform"]  # db_bench's value_size_distribution_type


@dataclass(frozen=True)
class WrittenSizes:
    """A distribution of db_bench's: bytes of the mean value, the smallest and the largest."""

    kind: Kind
    mean: int
    low: int
    high: int

    @staticmethod
    def of(size: ValueSize, usual: float = 0.0) -> WrittenSizes:
        """The one that is as wide as sizes are told to be; fixed where that is not told.

        Normal sizes are at most three deviations below the mean, so what is wider is drawn evenly;
        no distribution of db_bench's is wider than an even one from 1 byte on. ``usual`` is the
        mean where none is told.
        """
        mean = max(1.0, usual if size.mean is None else size.mean)
        deviation = _deviation(size)
        if deviation <= _LEAST * mean:
            return WrittenSizes("fixed", round(mean), round(mean), round(mean))
        kind: Kind = "normal" if _NORMAL_HALF * deviation <= mean - 1 else "uniform"
        return WrittenSizes._around(kind, mean, deviation)

    @staticmethod
    def _around(kind: Kind, mean: float, deviation: float) -> WrittenSizes:
        half = min((_NORMAL_HALF if kind == "normal" else _EVEN_HALF) * deviation, mean - 1)
        low, high = round(mean - half), round(mean + half)
        return WrittenSizes(kind, round(mean), max(1, low), max(low, high))

    @property
    def varied(self) -> bool:
        """Whether there is more than one size."""
        return self.high > self.low

    def drawn_evenly(self) -> WrittenSizes:
        """The same mean and deviation, from a range: what ``mixgraph`` can draw."""
        if self.kind != "normal":
            return self
        deviation = (self.high - self.low) / (2 * _NORMAL_HALF)
        return self._around("uniform", (self.low + self.high) / 2, deviation)

    def flags(self) -> Mapping[str, Value]:
        """Flags of the benchmarks that take a distribution; none of a fixed size."""
        if not self.varied:
            return {}
        return {
            "value_size_distribution_type": self.kind,
            "value_size_min": self.low,
            "value_size_max": self.high,
        }

    def mixgraph_flags(self) -> Mapping[str, Value]:
        """Flags of ``mixgraph``: the even distribution from the smallest to the largest."""
        even = self.drawn_evenly()
        width = float(even.high - even.low)
        shape = {"value_k": -1.0, "value_sigma": width} if width else _ONE_SIZE
        return {"value_theta": float(even.low), **shape, "mix_max_value_size": even.high + 1}

    def draw(self, random: np.random.Generator) -> int:
        """The size of a value."""
        if self.kind == "normal":
            middle, deviation = (self.low + self.high) / 2, (self.high - self.low) / 6
            return int(min(self.high, max(self.low, random.normal(middle, deviation))))
        return int(random.integers(self.low, self.high + 1))


_ONE_SIZE: Mapping[str, Value] = {"value_k": 0.0, "value_sigma": 0.0}


def _deviation(size: ValueSize) -> float:
    """Standard deviation of sizes, bytes; 0 where nothing tells it."""
    if size.deviation is not None:
        return size.deviation
    if size.mean is None or size.p99 is None:
        return 0.0
    return max(0.0, size.p99 - size.mean) / _NORMAL_99
