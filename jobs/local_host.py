"""This machine as a bench: one trial at a time, the job's lease renewed meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from optimizer.trial import Trial
from sampler.machine import host_name
from sampler.outcome import Outcome
from sampler.runner import Benchmark, LocalRunner
from sampler.settings import Settings


class LocalHost:
    """Meets ``optimizer.ports.Bench`` with this machine."""

    def __init__(
        self,
        benchmark: Benchmark,
        settings: Settings,
        *,
        waiting: Callable[[str], None],
        pause: Callable[[float], None],
    ) -> None:
        """Binds a benchmark to this machine; see ``LocalRunner``."""
        self._runner = LocalRunner(benchmark, settings, waiting=waiting, pause=pause)
        self._name = host_name()

    @property
    def name(self) -> str:
        """This machine's name."""
        return self._name

    def start(self, trial: Trial, *, cutoff_seconds: float | None) -> None:
        """Begins to measure, when the host is free."""
        self._runner.start(trial.configuration, cutoff_seconds=cutoff_seconds)

    def wait(self, timeout: float) -> Outcome | None:
        """The outcome, or None when the trial is not over after ``timeout`` s."""
        return self._runner.wait(timeout)

    def cancel(self) -> None:
        """Ends the trial in flight."""
        self._runner.cancel()
