"""The front of fitness against memory, from the trials of several jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optimizer.objective.objective import Term, pareto_front
from optimizer.trials.trial import Purpose
from studies.reproduction.study import Study

_TERMS = (Term("memory", "min"), Term("fitness", "max"))


@dataclass(frozen=True)
class Found:
    """A measured configuration.

    Attributes:
        job: The name of its job.
        memory: Bytes that it may hold.
        fitness: Of its single run, against its job's baseline.
    """

    job: str
    trial: int
    memory: float
    fitness: float


def explored(studies: Mapping[str, Study]) -> list[Found]:
    """Every candidate that was measured whole, job after job in the order of the trials."""
    return [
        Found(name, trial.number, trial.metrics["memory"], study.fitness[trial.number])
        for name, study in studies.items()
        for trial in study.trials
        if trial.purpose is Purpose.CANDIDATE and trial.number in study.fitness
    ]


def memory_front(found: Sequence[Found]) -> list[Found]:
    """Those that no other matches with less memory or more fitness, by rising memory."""
    points = {
        place: {"memory": each.memory, "fitness": each.fitness} for place, each in enumerate(found)
    }
    front = [found[place] for place in pareto_front(points, _TERMS)]
    return sorted(front, key=lambda each: each.memory)


def best_within(found: Iterable[Found], memory: float) -> Found | None:
    """The fittest of those that use no more memory; None if there is none."""
    within = (each for each in found if each.memory <= memory)
    return max(within, key=lambda each: each.fitness, default=None)


def expected_best(values: Sequence[float], count: int) -> float:
    """The mean of the largest of `count` values over all ways to take so many, none twice.

    Args:
        values: At least `count`.
        count: At least 1.
    """
    ordered: NDArray[np.float64] = np.sort(np.asarray(values, dtype=np.float64))
    total = len(ordered)
    if not 1 <= count <= total:
        raise ValueError(f"cannot take {count} of {total}")
    # P(the largest is at most the k-th) = C(k, count) / C(total, count), as running products.
    shares = np.ones(total)
    for k in range(total - 1, 0, -1):
        shares[k - 1] = shares[k] * max(k + 1 - count, 0) / (k + 1)
    return float(ordered @ np.diff(shares, prepend=0.0))
