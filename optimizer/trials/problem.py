"""What a job tunes: everything that is given and does not change while it runs."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    field_serializer,
)

from optimizer.objective.objective import Objective
from sampler.common.documents import read_document
from sampler.rocksdb.parameters import Value
from sampler.space.latent import Point, decode, encode
from sampler.space.space import Configuration, Space, digest, memory_bytes
from sampler.workload.metric_table import READS
from sampler.workload.workload import Workload

FORMER_NAMES: Mapping[str, str] = {"forest": "guided"}
"""Strategies that had another name once: stored jobs and files may still hold it."""


def strategy_name(given: str) -> str:
    """A strategy's name of today, by that or a former one."""
    return FORMER_NAMES.get(given, given)


def renamed(given: object) -> str | None:
    """One line for whoever writes a former name; None of any other."""
    now = FORMER_NAMES.get(given) if isinstance(given, str) else None
    return now and f"the strategy {given} is now called {now}; both names work"


@dataclass(frozen=True)
class PriorTrial:
    """A trial of an earlier job."""

    point: Point  # where its configuration is in the present job's latent cube
    ratios: Mapping[str, float]  # metric to logarithm, over the earlier job's baseline


@dataclass(frozen=True)
class PriorJob:
    """An earlier job, by its number and the name of its workload."""

    job: int
    workload: str
    trials: tuple[PriorTrial, ...]  # those that are taken along, the most telling first
    of: int  # how many it measured

    def said(self) -> str:
        """It and what is taken of it, for people."""
        return f"{len(self.trials)} of {self.of} trials of job {self.job} ({self.workload})"


@dataclass(frozen=True)
class Prior:
    """All that a job takes along; none of it costs budget, and none of it can win."""

    jobs: tuple[PriorJob, ...] = ()

    def document(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Prior:
        """The inverse of ``document``.

        Raises:
            InputError: A field is missing or of the wrong type; InputErrors: several are.
        """
        return read_document(TypeAdapter(cls), document, "prior", toml=False)


def _whole(given: object) -> object:
    return int(given) if isinstance(given, float) and given.is_integer() else given


def _once(given: object) -> object:
    """Names as a tuple: null means none, and a name twice no more than once."""
    if given is None:
        return ()
    if not isinstance(given, list | tuple):
        return given
    names = all(isinstance(each, str) for each in given)
    return tuple(dict.fromkeys(given)) if names else tuple(given)


Whole = Annotated[int, BeforeValidator(_whole)]
"""A whole number as JSON has it: 100.0 is one, and neither "100" nor true is."""

Number = Annotated[float, Field(allow_inf_nan=False)]


class SearchOptions(BaseModel):
    """How the search behaves, as far as it is set by itself; requests take these fields, too."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    samples: Whole | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="Starting points and random configurations before the search. Default: 20 for "
        "guided (a third of the new configurations, if fewer), half of all for genetic.",
    )
    top: Whole = Field(
        default=5,
        ge=1,
        le=1000,
        description="Number of most important parameters that genetic searches. Default: 5.",
    )
    # Empty: the most important ones, or all without a choice.
    over: Annotated[
        tuple[Annotated[str, StringConstraints(max_length=200)], ...], BeforeValidator(_once)
    ] = Field(
        default=(),
        max_length=500,
        title="Search only these parameters, separated by commas",
        description="Search only these parameters.",
    )
    generations: Whole | None = Field(
        default=None, ge=1, le=1_000_000, description="Maximum number of generations (genetic)."
    )
    fitness: Number | None = Field(
        default=None,
        title="Target fitness",
        description="Fitness at which the genetic search stops.",
    )
    # Genetic: after three generations without a new best. Guided: when what can still be gained
    # drowns in the noise.
    stop_early: bool = Field(
        default=False,
        title="Stop early when no improvement is expected",
        description="End the search when no improvement is expected.",
    )
    # At 4 and more it cannot win: its TIME term alone is below -3000.
    cutoff: Number = Field(
        default=4.0,
        ge=0,
        le=1e6,
        title="Cut-off",
        description="Multiple of the baseline's time to cut runs off at. Default: 4; 0: never.",
    )

    @field_serializer("over")
    def _listed(self, over: tuple[str, ...]) -> list[str]:
        return list(over)


class SearchSettings(SearchOptions):
    """How the search behaves; a stored document that lacks a setting has its default."""

    # The change that the proof shall be able to show, as a ratio (0.05 for 5%); its pairs are
    # planned for it from the measured noise. None: by the budget alone.
    detect: Number | None = None
    detect_metric: str | None = None  # of which metric of the objective; None: of every one


@dataclass(frozen=True)
class StartingPoint:
    """A configuration that is worth measuring first."""

    name: str  # where it is from
    point: Point  # the latent coordinates of what moves
    changed: tuple[str, ...] = ()  # what had to be changed to fit, in words


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A job's constant part."""

    space: Space
    workload: Workload
    objective: Objective
    strategy: str
    memory: int | None  # the memory budget in bytes; None for none
    seed: int  # everything random in the job comes from it and a trial's number
    search: SearchSettings = field(default_factory=SearchSettings)
    # Known good configurations, which are measured right after the baseline.
    starts: tuple[StartingPoint, ...] = ()
    prior: Prior = Prior()  # what earlier jobs measured, for strategies that learn from it
    confirm: Workload | None = None  # what the confirmation measures; None: ``workload``
    price: bool = True  # whether the proof also measures what reads of the settled trees cost

    @property
    def searched(self) -> tuple[str, ...]:
        """The parameters that a search moves: those that the user named, or all that may be."""
        names = self.search.over or self.space.names
        return tuple(name for name in names if name not in self.space.unsearched)

    def configuration(self, point: Point) -> dict[str, Value]:
        """The configuration at a point, within the memory budget."""
        return decode(self.space, point, memory=self.memory)

    def affords(self, configuration: Configuration) -> bool:
        """Whether a configuration keeps within the memory budget."""
        if self.memory is None:
            return True
        return memory_bytes(self.space.complete(configuration)) <= self.memory

    def read_rounds(self, *, proves: bool) -> int:
        """In how many rounds the tree of a run is read: in a proof, or after all for a limit.

        A proof reads in three. What is left of the scatter then is of the trees themselves, which
        more rounds do not narrow (docs/explanation/measuring.md).
        """
        asked = any(metric in READS for metric in self.objective.metrics)
        return 3 if proves and (asked or self.price) else int(asked)

    def seed_of(self, number: int) -> int:
        """The seed of a trial's proposal: the same whatever ran before or beside it."""
        return random.Random(f"{self.seed}/{number}").getrandbits(63)


_STARTS_SHARE = 2  # at most a half of what is explored: the rest is for the search


def starting_point(
    problem: Problem, name: str, given: Mapping[str, Value]
) -> StartingPoint | None:
    """A point of the space that is as near to given settings as may be; None: the baseline is.

    Settings are values by parameter, full scale. Options that the search does not move stay where
    the space leaves them, values outside of a range take its nearest end, and values that a choice
    does not have are left at the baseline. Where the memory budget is too small there are fewer
    memtables first, then smaller ones.
    """
    space, moving = problem.space, problem.searched
    wanted = {
        parameter: value
        for parameter, value in given.items()
        if parameter in moving
        and (space.by_name[parameter].is_numeric or value in space.by_name[parameter].values)
    }
    values = {**space.start, **wanted}
    point = encode(space, _within_memory(problem, values), memory=problem.memory)
    point = {parameter: point[parameter] for parameter in moving}
    found = problem.configuration(point)
    if digest(found) == digest(space.default_configuration()):
        return None
    changed = [
        f"{parameter} {space.by_name[parameter].words(found[parameter])} instead of "
        f"{space.by_name[parameter].words(value)}"
        for parameter, value in wanted.items()
        if parameter in found and found[parameter] != value
    ]
    return StartingPoint(name, point, tuple(changed))


def planned_starts(problem: Problem, explore: int) -> Sequence[StartingPoint]:
    """The starting points that a budget of so many new configurations has room for."""
    return problem.starts[: max(1, explore // _STARTS_SHARE)]


def _within_memory(problem: Problem, values: dict[str, Value]) -> dict[str, Value]:
    """The same with fewer memtables, where that keeps the budget; their size comes later."""
    fewer, number = problem.space.by_name.get("max_write_buffer_number"), "max_write_buffer_number"
    if problem.memory is None or fewer is None or number not in problem.searched:
        return values
    left = (problem.memory - int(values["cache_size"])) // problem.workload.column_families
    fits = max(left // int(values["write_buffer_size"]), int(fewer.low or 0))
    return {**values, number: min(int(values[number]), fits)}
