"""What runs of a strategy come to: means and standard errors over seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from studies.search.results import Result
from studies.search.run import Judged


@dataclass(frozen=True)
class Mean:
    """A mean over runs.

    Attributes:
        error: Its standard error; None of a single run.
        count: Of how many.
    """

    value: float
    error: float | None
    count: int

    def text(self, form: str) -> str:
        """With its error, both in a format."""
        value = format(self.value, form)
        return value if self.error is None else f"{value} ± {format(self.error, form)}"


def mean_of(values: Sequence[float]) -> Mean:
    """The mean of at least one value."""
    array = np.array(values, dtype=float)
    error = float(array.std(ddof=1)) / math.sqrt(len(array)) if len(array) > 1 else None
    return Mean(float(array.mean()), error, len(array))


@dataclass(frozen=True)
class Group:
    """Runs of one function with one budget.

    Attributes:
        runs: By strategy, in the order in which they came.
    """

    function: str
    evaluations: int
    runs: Mapping[str, tuple[Result, ...]]

    @property
    def checkpoints(self) -> list[int]:
        """Where recommendations were judged."""
        return sorted({j.evaluations for rs in self.runs.values() for r in rs for j in r.judged})

    def at(self, strategy: str, checkpoint: int) -> list[Judged]:
        """A strategy's recommendations at a checkpoint, one a run."""
        found = (j for result in self.runs[strategy] for j in result.judged)
        return [judged for judged in found if judged.evaluations == checkpoint]

    def best(self, known: float) -> float:
        """The best that exists: the long search's, or what a run found beyond it."""
        found = (j.fitness for results in self.runs.values() for r in results for j in r.judged)
        return max([known, *found])


def groups_of(results: Iterable[Result], digests: Mapping[str, str]) -> list[Group]:
    """The results that still hold, by function and budget, functions in the order of `digests`.

    Args:
        results: All that are kept.
        digests: What each function rests on now; results of another digest count no more.
    """
    runs: dict[tuple[str, int], dict[str, list[Result]]] = {}
    for result in results:
        key = result.key
        if digests.get(key.function) == key.digest:
            group = runs.setdefault((key.function, key.evaluations), {})
            group.setdefault(key.strategy, []).append(result)
    place = list(digests)
    return [
        Group(function, evaluations, {name: tuple(found) for name, found in runs[key].items()})
        for key in sorted(runs, key=lambda key: (place.index(key[0]), key[1]))
        for function, evaluations in [key]
    ]
