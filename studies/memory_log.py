"""A trial log that keeps nothing beyond the process, and a watcher that says nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from optimizer.run.progress import RunProgress
from optimizer.trials.trial import Phase, Trial


class Silent:
    """Meets ``optimizer.run.ports.RunObserver``: nobody is told of anything."""

    def phase(self, phase: Phase, why: str) -> None:
        """Of no interest."""

    def trial_started(self, trial: Trial) -> None:
        """Of no interest."""

    def trial_ended(self, trial: Trial, progress: RunProgress) -> None:
        """Of no interest."""

    def tick(self) -> None:
        """Of no interest."""

    def host_set_aside(self, host: str, why: str) -> None:
        """Of no interest."""

    def host_taken_back(self, host: str, why: str) -> None:
        """Of no interest."""


class MemoryLog(Silent):
    """Meets ``optimizer.run.ports.TrialLog`` and ``Progress`` for simulations."""

    def __init__(self) -> None:
        """Begins empty."""
        self._trials: dict[int, Trial] = {}
        self._documents: dict[str, Mapping[str, Any]] = {}

    def trials(self) -> Sequence[Trial]:
        """All of them, by number."""
        return [self._trials[number] for number in sorted(self._trials)]

    def propose(self, trial: Trial) -> None:
        """Keeps it."""
        self._trials[trial.number] = trial

    def finish(self, trial: Trial, standing: RunProgress | None = None) -> None:
        """Keeps it."""
        del standing
        self._trials[trial.number] = trial

    def withdraw(self, trials: Sequence[Trial], why: str) -> None:
        """Of no interest: the run itself puts them back."""

    def enter(self, phase: Phase, why: str) -> None:
        """Of no interest."""

    def remember(self, name: str, document: Mapping[str, Any]) -> None:
        """Keeps it."""
        self._documents[name] = document

    def recall(self, name: str) -> Mapping[str, Any] | None:
        """What was remembered."""
        return self._documents.get(name)
