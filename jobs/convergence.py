"""The convergence plot of the plain report: fitness by trial, and the best so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from optimizer.trial import Purpose, Trial

WIDTH, HEIGHT, MARGIN = 720, 260, 44
# Failures of taste would otherwise squeeze all that matters into a line at the top.
_LOWEST = -2000.0


@dataclass(frozen=True)
class Plot:
    """Places in an SVG of WIDTH x HEIGHT.

    Attributes:
        dots: (x, y, trial's number, fitness) of each new configuration.
        line: The points of the best so far, as SVG writes them.
        zero: y of the baseline.
        low, high: The fitness at the bottom and at the top.
        hidden: How many lie below the bottom.
    """

    dots: tuple[tuple[float, float, int, float], ...]
    line: str
    zero: float
    low: float
    high: float
    hidden: int
    last: int


def convergence(trials: Sequence[Trial], fitness: Mapping[int, float]) -> Plot | None:
    """The plot of a job; None if no new configuration ended well."""
    numbers = [
        t.number
        for t in trials
        if t.purpose is Purpose.CANDIDATE and t.done and t.number in fitness
    ]
    if not numbers:
        return None
    values = [fitness[number] for number in numbers]
    low, high = max(min(*values, 0.0), _LOWEST), max(*values, 100.0)
    last = max(trial.number for trial in trials)

    def x(number: int) -> float:
        return round(MARGIN + (WIDTH - MARGIN - 10) * number / last, 1)

    def y(value: float) -> float:
        share = (max(value, low) - low) / (high - low)
        return round(HEIGHT - MARGIN - (HEIGHT - MARGIN - 12) * share, 1)

    steps: list[str] = []
    best: float | None = None
    for number, value in zip(numbers, values, strict=True):
        if best is None or value > best:
            if best is not None:
                steps.append(f"{x(number)},{y(best)}")
            best = value
            steps.append(f"{x(number)},{y(best)}")
    assert best is not None
    steps.append(f"{x(last)},{y(best)}")
    shown = [(n, v) for n, v in zip(numbers, values, strict=True) if v >= low]
    return Plot(
        dots=tuple((x(n), y(v), n, v) for n, v in shown),
        line=" ".join(steps),
        zero=y(0.0),
        low=low,
        high=high,
        hidden=len(numbers) - len(shown),
        last=last,
    )
