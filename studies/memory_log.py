"""A trial log that keeps nothing beyond the process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from optimizer.run.planning import RunProgress
from optimizer.trials.trial import Phase, Trial


class MemoryLog:
    """Meets ``optimizer.run.ports.TrialLog`` for simulations."""

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

    def finish(self, *trials: Trial, progress: RunProgress | None = None) -> None:
        """Keeps them."""
        del progress
        self._trials.update({trial.number: trial for trial in trials})

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
