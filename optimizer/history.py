"""The trials so far, those in flight included: all that a strategy knows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from optimizer.trial import Phase, Purpose, Trial
from sampler.outcome import TrialState


class History:
    """Trials by number. Only the tuning run adds to it; strategies read.

    Counting is quick however long the history is, so that a proposal costs the same at the
    ten-thousandth trial as at the tenth.
    """

    def __init__(self, trials: Iterable[Trial] = ()) -> None:
        """Begins with the trials of an earlier run, if any."""
        self._trials: dict[int, Trial] = {}
        self._with: defaultdict[str, list[int]] = defaultdict(list)
        self._unfinished: set[int] = set()
        self._numbers: defaultdict[tuple[Purpose, Phase | None], list[int]] = defaultdict(list)
        self._changes: defaultdict[Purpose, int] = defaultdict(int)
        self._own: defaultdict[tuple[Purpose, Phase | None], list[int]] = defaultdict(list)
        self._lessons: defaultdict[tuple[Purpose, Phase], int] = defaultdict(int)
        self._given = 0
        self._finished = 0
        self._last = 0
        for trial in trials:
            self.put(trial)

    def put(self, trial: Trial) -> None:
        """Adds a trial, or replaces the one of the same number (its purpose and phase stay)."""
        before = self._trials.get(trial.number)
        self._changes[trial.purpose] += 1
        if before is None:
            for numbers in (self._numbers,) if trial.given else (self._numbers, self._own):
                numbers[trial.purpose, None].append(trial.number)
                numbers[trial.purpose, trial.phase].append(trial.number)
            self._given += trial.given
            self._lessons[trial.purpose, trial.phase] += trial.given and trial.done
            self._with[trial.digest].append(trial.number)
            self._last = max(self._last, trial.number)
        elif before.state not in (TrialState.RUNNING, TrialState.LOST):
            self._finished -= 1
        self._finished += trial.state not in (TrialState.RUNNING, TrialState.LOST)
        self._trials[trial.number] = trial
        if trial.state in (TrialState.RUNNING, TrialState.LOST):
            self._unfinished.add(trial.number)
        else:
            self._unfinished.discard(trial.number)

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
        return self._finished

    def numbers(self, purpose: Purpose, phase: Phase | None = None) -> Sequence[int]:
        """The numbers of the trials of a purpose, and of a phase if one is given; not a copy."""
        return self._numbers[purpose, phase]

    def own(self, purpose: Purpose, phase: Phase | None = None) -> Sequence[int]:
        """Those of them that the job made itself: all but the given ones."""
        return self._own[purpose, phase]

    def lessons(self, purpose: Purpose, phase: Phase) -> int:
        """How many given trials of a purpose and phase ended with a whole measurement."""
        return self._lessons[purpose, phase]

    @property
    def given(self) -> int:
        """How many trials were measured before the job and told to it."""
        return self._given

    def of_configuration(self, digest: str) -> list[Trial]:
        """The trials of a configuration, by its digest, in the order of proposal."""
        return [self._trials[number] for number in self._with.get(digest, ())]

    def of(self, purpose: Purpose, phase: Phase | None = None) -> list[Trial]:
        """The trials of a purpose, and of a phase if one is given, in the order of proposal."""
        return [self._trials[number] for number in self.numbers(purpose, phase)]

    def changes(self, purpose: Purpose) -> int:
        """Grows whenever a trial of the purpose is put; for caches."""
        return self._changes[purpose]

    def unfinished(self) -> list[Trial]:
        """Trials that were begun and have no outcome: in flight, or of a dead controller."""
        return [self._trials[number] for number in sorted(self._unfinished)]
