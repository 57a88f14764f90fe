"""The level of a machine on which no option matters: runs differ by noise alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from studies.search.machine import Neighbour, SimulatedMachine
from studies.search.noise import Noise, noise_of
from studies.search.recorded import Recorded


@dataclass(frozen=True, eq=False)
class Level:
    """What every configuration measures.

    Attributes:
        metrics: Medians of the default's recorded runs.
        noise: Their scatter.
        runs: How many these are.
    """

    metrics: Mapping[str, float]
    noise: Noise
    runs: int


def level_of(recorded: Recorded) -> Level:
    """The level and the noise of a default's recorded runs.

    Raises:
        ValueError: Fewer than two of them are whole.
    """
    names = [term.metric for term in recorded.problem.objective.terms]
    runs = [run.metrics for run in recorded.default_runs if run.metrics.keys() >= set(names)]
    noise = noise_of(runs, names)
    return Level({n: float(np.median([run[n] for run in runs])) for n in names}, noise, len(runs))


# Of 30 runs of load-quick beside a program that took one of two cores for 3 s of every 9 (RocksDB
# 7.8.3, 2026-11-27): what it changed, and the scatter of log time that was left without it.
NEIGHBOUR = Neighbour({"time": 0.63, "rate": -0.76})
LEFT = 0.069


def null_machine(level: Level, job: int, *, neighbour: bool = False) -> SimulatedMachine:
    """A machine on which no option matters; nothing is so slow there that it is cut off.

    With a ``neighbour`` its own noise is what was left of the real one's.
    """
    noise = level.noise.scaled(LEFT / level.noise.scatter["time"]) if neighbour else level.noise
    return SimulatedMachine(
        lambda _: level.metrics,
        noise,
        job,
        stream=6,
        cuts_off=False,
        neighbour=NEIGHBOUR if neighbour else None,
    )
