"""The trials so far, those in flight included: all that a strategy knows."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from optimizer.trials.trial import Phase, Purpose, Trial

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
