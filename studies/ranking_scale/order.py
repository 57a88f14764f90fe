"""Which runs are made, and in which order: a study that is cut off still says something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from studies.ranking_scale.scales import Scale

Kind = Literal["baseline", "draw", "step"]
EVERY = 5  # draws or steps between two runs of the baseline


@dataclass(frozen=True)
class Run:
    """One run of the benchmark.

    Attributes:
        kind: ``baseline``; ``draw``: a point of the design; ``step``: the baseline with one
            option moved.
        index: Which of its kind at this scale.
        round: Which measurement of that configuration, from 0.
        divisor: Of the scale.
    """

    kind: Kind
    index: int
    round: int
    divisor: int


def order_of(scales: Sequence[Scale], *, draws: int, steps: int) -> list[Run]:
    """All runs: every draw at the smallest scale first, then at the next; at last the steps.

    The baseline is measured before every few of them and at the end of each part, so that the
    noise of the same hours is known.
    """
    baselines = {scale.divisor: 0 for scale in scales}
    runs: list[Run] = []

    def part(kind: Kind, divisor: int, wanted: Iterable[tuple[int, int]]) -> None:
        for run in _interleaved(kind, divisor, wanted):
            if run.kind == "baseline":
                run = Run("baseline", baselines[divisor], 0, divisor)
                baselines[divisor] += 1
            runs.append(run)

    for scale in scales:
        rounds = range(scale.rounds)
        part("draw", scale.divisor, ((index, r) for r in rounds for index in range(draws)))
    for scale in scales:
        part("step", scale.divisor, ((index, 0) for index in range(steps)))
    return runs


def _interleaved(kind: Kind, divisor: int, wanted: Iterable[tuple[int, int]]) -> Iterator[Run]:
    baseline = Run("baseline", 0, 0, divisor)
    count = 0
    for index, round_ in wanted:
        if count % EVERY == 0:
            yield baseline
        yield Run(kind, index, round_, divisor)
        count += 1
    if count:
        yield baseline
