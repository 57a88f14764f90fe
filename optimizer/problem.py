"""What a job tunes: everything that is given and does not change while it runs."""

from __future__ import annotations

import random
from dataclasses import dataclass

from optimizer.objective import Objective
from sampler.latent import Point, decode
from sampler.parameter import Value
from sampler.space import Configuration, Space, memory_bytes
from sampler.workload import Workload


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """How the search behaves.

    Attributes:
        top: Over how many of the most important parameters the genetic algorithm searches.
        generations: It stops after so many; None: only the budget ends it.
        fitness: It stops when this is reached; None: never.
        stop_early: It stops after three generations without a new best.
    """

    top: int = 5
    generations: int | None = None
    fitness: float | None = None
    stop_early: bool = False


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A job's constant part.

    Attributes:
        memory: The memory budget in bytes; None for none.
        seed: Everything random in the job comes from it and a trial's number.
    """

    space: Space
    workload: Workload
    objective: Objective
    strategy: str
    memory: int | None
    seed: int
    search: SearchSettings = SearchSettings()

    def configuration(self, point: Point) -> dict[str, Value]:
        """The configuration at a point, within the memory budget."""
        return decode(self.space, point, memory=self.memory)

    def affords(self, configuration: Configuration) -> bool:
        """Whether a configuration keeps within the memory budget."""
        if self.memory is None:
            return True
        return memory_bytes(self.space.complete(configuration)) <= self.memory

    def seed_of(self, number: int) -> int:
        """The seed of a trial's proposal: the same whatever ran before or beside it."""
        return random.Random(f"{self.seed}/{number}").getrandbits(63)
