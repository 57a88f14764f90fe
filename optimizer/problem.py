"""What a job tunes: everything that is given and does not change while it runs."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from optimizer.objective import Objective
from sampler.latent import Point, decode
from sampler.parameter import Value
from sampler.space import Configuration, Space, memory_bytes
from sampler.workload import Workload


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """How the search behaves.

    Attributes:
        samples: How many configurations are drawn and ranked before the search; None: half of
            all that are explored.
        top: Over how many of the most important parameters the genetic algorithm searches.
        over: The parameters that it searches instead, by name; empty: the most important ones.
        generations: It stops after so many; None: only the budget ends it.
        fitness: It stops when this is reached; None: never.
        stop_early: It stops after three generations without a new best (``genetic``), or when what
            it can still gain drowns in the noise (``forest``).
        cutoff: A new configuration is cut off when it takes this many times the baseline's time;
            0: never. At 4 and more it cannot win: its TIME term alone is below -3000.
        detect: The change that the proof shall be able to show, as a ratio (0.05 for 5%); its
            pairs are planned for it from the measured noise. None: by the budget alone.
        detect_metric: Of which metric of the objective; None: of every one.
    """

    samples: int | None = None
    top: int = 5
    over: tuple[str, ...] = ()
    generations: int | None = None
    fitness: float | None = None
    stop_early: bool = False
    cutoff: float = 4.0
    detect: float | None = None
    detect_metric: str | None = None

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> SearchSettings:
        """The settings that a stored specification holds; what an older one lacks is unset."""
        over = dict.fromkeys(document.get("over") or ())  # a name twice means no more than once
        return cls(**{**document, "over": tuple(over)})

    def document(self) -> dict[str, Any]:
        """The settings as JSON holds them."""
        return asdict(self) | {"over": list(self.over)}


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
