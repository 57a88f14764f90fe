"""A trial: one configuration, proposed for a reason and measured once.

A ``History`` holds the trials so far, those in flight included: all that a strategy knows.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
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


# Models are told of the newest trials in flight, at most so many: those of a thousand suggestions
# took 200 MB, and are proposed only once whatever a model knows of them.
MOST_IN_FLIGHT = 64


class History:
    """Trials by number. Only the tuning run adds to it; strategies read.

    Counting is quick however long the history is, so that a proposal costs the same at the
    ten-thousandth trial as at the tenth.
    """

    def __init__(self, trials: Iterable[Trial] = ()) -> None:
        self._trials: dict[int, Trial] = {}
        self._with: defaultdict[str, list[int]] = defaultdict(list)
        self._unfinished: set[int] = set()
        self._numbers: defaultdict[tuple[Purpose, Phase | None], list[int]] = defaultdict(list)
        self._changes: defaultdict[tuple[Purpose, Phase | None], int] = defaultdict(int)
        self._own: defaultdict[tuple[Purpose, Phase | None], list[int]] = defaultdict(list)
        # Not to be changed: the numbers of the job's own draws (no starting points and no given
        # trials) and of the simplified versions of the best; how many trials were given, and how
        # many of them are samples that were measured whole.
        self.drawn: list[int] = []
        self.simplified: list[int] = []
        self.given = self.given_samples = 0
        self._on: defaultdict[tuple[str | None, Purpose], list[int]] = defaultdict(list)
        self._hosts: dict[str, None] = {}  # a set that keeps its order
        self._last = 0
        for trial in trials:
            self.put(trial)

    def put(self, trial: Trial) -> None:
        """Adds a trial, or replaces the one of the same number (its purpose and phase stay)."""
        before = self._trials.get(trial.number)
        self._changes[trial.purpose, None] += 1
        self._changes[trial.purpose, trial.phase] += 1
        if before is None:
            for numbers in (self._numbers,) if trial.given else (self._numbers, self._own):
                numbers[trial.purpose, None].append(trial.number)
                numbers[trial.purpose, trial.phase].append(trial.number)
            sample = (trial.purpose, trial.phase) == (Purpose.CANDIDATE, Phase.SAMPLE)
            if sample and not (trial.given or trial.is_start):
                self.drawn.append(trial.number)
            if trial.is_simplified and not trial.given:
                self.simplified.append(trial.number)
            self.given += trial.given
            self.given_samples += trial.given and sample and trial.done
            self._with[trial.digest].append(trial.number)
            self._last = max(self._last, trial.number)
        self._trials[trial.number] = trial
        (self._unfinished.discard if trial.has_outcome else self._unfinished.add)(trial.number)
        if not trial.given and (before is None or before.host != trial.host):
            self._move(trial, before)

    def _move(self, trial: Trial, before: Trial | None) -> None:
        """A trial that is run again may be run on another host."""
        if before is not None and before.host is not None:
            self._on[before.host, trial.purpose].remove(trial.number)
        if trial.host is not None:
            insort(self._on[trial.host, trial.purpose], trial.number)
            self._hosts[trial.host] = None

    def __iter__(self) -> Iterator[Trial]:
        return iter(self._trials.values())

    def __len__(self) -> int:
        return len(self._trials)

    def __getitem__(self, number: int) -> Trial:
        return self._trials[number]

    def __contains__(self, digest: object) -> bool:
        """Whether a configuration of this digest was ever proposed."""
        return digest in self._with

    @property
    def next_number(self) -> int:
        """The number of the next new trial."""
        return self._last + 1

    @property
    def finished(self) -> int:
        """How many trials have ended, in whatever way."""
        return len(self._trials) - len(self._unfinished)

    def numbers(self, purpose: Purpose, phase: Phase | None = None) -> Sequence[int]:
        """The numbers of the trials of a purpose, and of a phase if one is given; not a copy."""
        return self._numbers[purpose, phase]

    def own(self, purpose: Purpose, phase: Phase | None = None) -> Sequence[int]:
        """Those of them that the job made itself: all but the given ones."""
        return self._own[purpose, phase]

    @property
    def hosts(self) -> Sequence[str]:
        """Every host that a trial of the job was ever on, in the order in which they came."""
        return tuple(self._hosts)

    def on_host(self, host: str, purpose: Purpose) -> Sequence[int]:
        """The numbers of the job's own trials of a purpose that a host measures; not a copy."""
        return self._on[host, purpose]

    def since_baseline(self, host: str | None) -> int:
        """New configurations since the last run of the baseline: of a host, or of all (None)."""
        candidates, baselines = (
            (self.own(Purpose.CANDIDATE), self.own(Purpose.BASELINE))
            if host is None
            else (self._on[host, Purpose.CANDIDATE], self._on[host, Purpose.BASELINE])
        )
        return len(candidates) - (bisect_left(candidates, baselines[-1]) if baselines else 0)

    def of_configuration(self, digest: str) -> list[Trial]:
        """The trials of a configuration, by its digest, in the order of proposal."""
        return [self._trials[number] for number in self._with.get(digest, ())]

    def of(self, purpose: Purpose, phase: Phase | None = None) -> list[Trial]:
        """The trials of a purpose, and of a phase if one is given, in the order of proposal."""
        return [self._trials[number] for number in self.numbers(purpose, phase)]

    def changes(self, purpose: Purpose, phase: Phase | None = None) -> int:
        """Grows whenever a trial of the purpose (and of a phase) is put; for caches."""
        return self._changes[purpose, phase]

    def unfinished(self) -> list[Trial]:
        """Trials that were begun and have no outcome: in flight, or of a dead controller."""
        return [self._trials[number] for number in sorted(self._unfinished)]

    def out(self, *, purpose: Purpose | None = None, phase: Phase | None = None) -> int:
        """How many of those there are of a purpose, or of a phase; one of the two is given."""
        return sum(t.purpose is purpose or t.phase is phase for t in self.unfinished())
