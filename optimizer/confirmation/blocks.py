"""Rounds: what is compared with each other is measured on one host, one after the other.

A round of choosing holds the baseline and every candidate, a pair of the proof the baseline and
the winner. Purposes are ``SELECT`` and ``PROVE``, and ``size`` is how many trials a whole round
has. Hosts work at different rounds side by side. A round whose host has gone is begun again
elsewhere.
"""

import random
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from optimizer.trials.history import History
from optimizer.trials.trial import Purpose, Trial
from sampler.runner.outcome import TrialState


@dataclass(frozen=True)
class BlockRun:
    """What a host measures next within rounds, which are counted from 1."""

    round: int
    subject: int  # the number of the trial that first measured the configuration
    lost: Trial | None = None  # the trial of the round that is run again; None: a new one


def blocks_of(history: History, purpose: Purpose, size: int) -> Mapping[int, Sequence[Trial]]:
    """The trials of each round by its number; those without one by their order."""
    found: defaultdict[int, list[Trial]] = defaultdict(list)
    for place, trial in enumerate(history.of(purpose)):
        found[trial.round or 1 + place // size].append(trial)
    return found


def next_in_block(
    history: History, purpose: Purpose, subjects: Sequence[int], count: int, *,
    seed: int, host: str | None,
) -> BlockRun | None:  # fmt: skip
    """What a free host measures next; None when every round is another host's, or begun by all.

    Each of ``count`` rounds measures all subjects. Where ``host`` is None the rounds are bound to
    nobody.
    """
    begun = blocks_of(history, purpose, len(subjects))
    mine = [k for k, trials in begun.items() if host is None or host_of(trials) == host]
    free = [k for k in range(1, count + 1) if k not in mine and host_of(begun.get(k, ())) is None]
    theirs = begun.keys() - {*mine, *free}
    # The round that turns round one's own order first, that of another host's order last.
    free.sort(key=lambda k: (_partner(k) in theirs) - (_partner(k) in mine))
    for number in sorted(k for k in mine if k <= count) + free:
        there = {trial.subject: trial for trial in begun.get(number, ())}
        for subject in order_of(subjects, number, seed=seed):
            trial = there.get(subject)
            if trial is None or trial.state is TrialState.LOST:
                return BlockRun(number, subject, trial)
    return None


def host_of(trials: Collection[Trial]) -> str | None:
    """The host that a round is bound to: of those of its trials that are not lost."""
    return next((t.host for t in trials if t.state is not TrialState.LOST and t.host), None)


def _partner(number: int) -> int:
    """The round that takes the order of this one backwards, or the one whose order this does."""
    return number + 1 if number % 2 else number - 1


def order_of(subjects: Sequence[int], number: int, *, seed: int | str) -> list[int]:
    """Whose turn it is within a round: each once.

    The order is drawn anew for every second round, and the round after it takes it backwards: a
    machine that measures both and slows down steadily slows all subjects of the two alike.
    """
    ordered = sorted(subjects)
    block, second = divmod(number - 1, 2)
    drawn = random.Random(f"{seed}/{ordered}/{block}").sample(list(subjects), len(subjects))
    return drawn[::-1] if second else drawn


def complete(history: History, purpose: Purpose, size: int, count: int) -> bool:
    """Whether every trial of every round has an outcome."""
    trials = history.of(purpose)
    return len(trials) >= size * count and all(trial.has_outcome for trial in trials)


def orphaned(history: History, purpose: Purpose, size: int, hosts: Collection[str]) -> list[Trial]:
    """Ended trials of unfinished rounds whose host is not there: nothing to compare them with."""
    found: list[Trial] = []
    for trials in blocks_of(history, purpose, size).values():
        host = host_of(trials)
        over = sum(trial.has_outcome for trial in trials)
        if host is not None and host not in hosts and over < size:
            found += [trial for trial in trials if trial.has_outcome]
    return found
