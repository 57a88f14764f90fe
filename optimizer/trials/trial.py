"""A trial: one configuration, proposed for a reason and measured once."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any

from sampler.bench.outcome import Outcome, TrialState
from sampler.rocksdb.parameters import Value
from sampler.space.latent import Point


class PackedPoint(Mapping[str, float]):
    """A point that cannot change: 0.3 KB for 30 parameters, where a dict of floats takes 1.5 KB.

    The names are kept once for all points over the same parameters. It equals any mapping with
    the same items.
    """

    __slots__ = ("_places", "_values")

    @classmethod
    def of(cls, point: Point | None) -> PackedPoint | None:
        """The same coordinates; None for none."""
        return None if point is None else cls(point)

    def __init__(self, point: Point) -> None:
        self._places = _places(tuple(point))
        self._values = array("d", point.values())

    def __getitem__(self, name: str) -> float:
        return self._values[self._places[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[type[PackedPoint], tuple[dict[str, float]]]:
        return PackedPoint, (dict(self),)


@lru_cache(maxsize=1024)
def _places(names: tuple[str, ...]) -> Mapping[str, int]:
    return {name: place for place, name in enumerate(names)}


BASELINE_TRIAL = 1
# How earlier versions told a starting point: by the beginning of its trial's reason.
STARTING_POINT = "starting point"


class Phase(StrEnum):
    """What a job is doing, in the order in which it does it."""

    BASELINE = "baseline"
    SAMPLE = "sample"
    RANK = "rank"
    SEARCH = "search"
    CONFIRM = "confirm"


class Purpose(StrEnum):
    """Why a trial is measured."""

    BASELINE = "baseline"  # the baseline, at the start and again at intervals
    CANDIDATE = "candidate"  # a new configuration
    SELECT = "select"  # confirmation, first part: choose the winner among the best few
    PROVE = "prove"  # confirmation, second part: winner against baseline on fresh runs


class Basis(StrEnum):
    """What a proposal rests on, as far as it counts later."""

    PLAIN = "plain"
    START = "start"  # a starting point, which someone chose: no draw of the space
    SIMPLIFIED = "simplified"  # one of the best, with fewer changes: no step of the search
    EXHAUSTED = "exhausted"  # a search that can gain no more than the noise of one run


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """One row of a job's history."""

    number: int  # 1, 2, 3, ... within the job, in the order of proposal
    phase: Phase
    purpose: Purpose
    seed: int  # of what is random in its proposal; from (job seed, number), 0 to 2**63-1
    configuration: Mapping[str, Value]  # what is asked for, full scale, active parameters only
    digest: str  # ``sampler.space.space.digest`` of the configuration
    # The latent coordinates that it was decoded from; None of the baseline and of given ones.
    point: Mapping[str, float] | None = None
    # For the baseline and in confirmation, the number of the trial that first measured the same
    # configuration (a baseline's first trial is its own subject); also of a candidate that a
    # search measures again; else None.
    subject: int | None = None
    why: str = ""  # one line for people: what proposed it and from what
    basis: Basis | None = None  # None of trials of earlier versions, whose ``why`` tells
    based_on: int = 0  # how many finished trials the proposal was made from
    attempt: int = 1  # 1, or more when a lost trial was run again
    given: bool = False  # measured before the job and told to it: it teaches, and costs no budget
    # In confirmation, the round of choosing or the pair of the proof, from 1; all of a round is
    # measured on one host. None of older trials: by their order.
    round: int | None = None
    state: TrialState = TrialState.RUNNING
    metrics: Mapping[str, float] = field(default_factory=dict)
    counters: Mapping[str, float] = field(default_factory=dict)
    effective: Mapping[str, Value] | None = None
    failure: str | None = None
    warnings: tuple[str, ...] = ()
    bench_seconds: float = 0.0
    host: str | None = None
    # started_at, finished_at: UTC; of a given trial, None and when it was told. While it runs,
    # when it was asked for; then, when its host had begun to measure it.
    started_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def is_baseline(self) -> bool:
        """Whether it measures the baseline, in whatever phase."""
        return self.subject == BASELINE_TRIAL

    @property
    def is_start(self) -> bool:
        """Whether it measures a starting point, which someone chose: no draw of the space."""
        if self.basis is not None:
            return self.basis is Basis.START
        return self.why.startswith(STARTING_POINT)

    @property
    def is_simplified(self) -> bool:
        """Whether it measures one of the best configurations with fewer changes."""
        return self.basis is Basis.SIMPLIFIED

    @property
    def done(self) -> bool:
        """Whether it ended with a whole measurement."""
        return self.state is TrialState.DONE

    @property
    def has_outcome(self) -> bool:
        """Whether it has an outcome: it is neither in flight nor to be run again."""
        return self.state not in (TrialState.RUNNING, TrialState.LOST)

    @property
    def features(self) -> Mapping[str, Value]:
        """What the models learn from: the values in effect, as far as they are known."""
        if self.effective is None:
            return self.configuration
        return {name: self.effective.get(name, v) for name, v in self.configuration.items()}

    def again(self) -> Trial:
        """The same trial at the beginning of its next attempt, without what came of the last."""
        again = replace(self, **_told(Outcome(state=TrialState.RUNNING)), host=None)
        return replace(again, attempt=self.attempt + 1, started_at=None, finished_at=None)

    def lost(self, why: str, *, at: datetime) -> Trial:
        """The same trial without an outcome, to be run again."""
        return replace(self, state=TrialState.LOST, failure=why, finished_at=at)

    def ended(self, outcome: Outcome, *, host: str, finished_at: datetime) -> Trial:
        """The same trial with its outcome.

        Where its host was another's first, it began when that had ended: clocks are corrected by
        what the baseline was at the time.
        """
        began = self.started_at and self.started_at + timedelta(seconds=outcome.waited_seconds)
        over = replace(self, host=host, started_at=began, finished_at=finished_at)
        return replace(over, **_told(outcome))


def _told(outcome: Outcome) -> dict[str, Any]:
    """What a trial keeps of an outcome, under the same names."""
    kept = ("state", "metrics", "counters", "effective", "failure", "warnings", "bench_seconds")
    return {name: getattr(outcome, name) for name in kept}
