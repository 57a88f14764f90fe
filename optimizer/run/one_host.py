"""One host alone, as the tuning run sees hosts."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.run.ports import Bench, Ended
from optimizer.trials.trial import Trial


class OneHost:
    """Meets ``optimizer.run.ports.Hosts`` with one bench, whose trials end with its controller."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._flying: Trial | None = None

    def hosts(self) -> Sequence[str]:
        """The one."""
        return (self._bench.name,)

    def start(self, trial: Trial, *, host: str, cutoff_seconds: float | None) -> None:
        """Begins to measure."""
        assert host == self._bench.name
        self._flying = trial
        self._bench.start(trial, cutoff_seconds=cutoff_seconds)

    def attach(self, trial: Trial) -> bool:  # noqa: ARG002
        """Never: whatever an earlier controller began here has ended with it."""
        return False

    def wait(self, timeout: float) -> Ended | None:
        """The outcome of the trial in flight."""
        trial = self._flying
        if trial is None:
            return None
        outcome = self._bench.wait(timeout)
        if outcome is None:
            return None
        self._flying = None
        return Ended(trial.number, trial.attempt, self._bench.name, outcome)

    def cancel(self) -> None:
        """Ends the trial in flight."""
        self._flying = None
        self._bench.cancel()

    leave = cancel
