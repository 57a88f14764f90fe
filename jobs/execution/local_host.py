"""This machine as a bench: one trial at a time, the job's lease renewed meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.machine.machine import host_name
from sampler.runner.benchmark import Benchmark
from sampler.runner.outcome import Outcome
from sampler.runner.runner import LocalRunner
from sampler.runner.settings import Settings


class LocalHost:
    """Meets ``optimizer.run.ports.Bench`` with this machine."""

    def __init__(
        self,
        benchmark: Benchmark,
        settings: Settings,
        *,
        waiting: Callable[[str], None],
        pause: Callable[[float], None],
        confirming: Benchmark | None = None,
    ) -> None:
        """Binds a benchmark to this machine; see ``LocalRunner``.

        Args:
            benchmark: What is run.
            settings: Where.
            waiting: Told who holds the host while a trial must wait for it.
            pause: How to wait.
            confirming: What the trials of the confirmation run instead; None: the same.
        """
        self._searching = LocalRunner(benchmark, settings, waiting=waiting, pause=pause)
        self._confirming = (
            LocalRunner(confirming, settings, waiting=waiting, pause=pause)
            if confirming
            else self._searching
        )
        self._runner = self._searching  # the one whose trial is in flight
        self._name = host_name()

    @property
    def name(self) -> str:
        """This machine's name."""
        return self._name

    def start(self, trial: Trial, *, cutoff_seconds: float | None) -> None:
        """Begins to measure, when the host is free; a proof shares no prepared database."""
        confirms = trial.phase is Phase.CONFIRM
        self._runner = self._confirming if confirms else self._searching
        share = trial.purpose is not Purpose.PROVE
        self._runner.start(trial.configuration, cutoff_seconds=cutoff_seconds, share=share)

    def wait(self, timeout: float) -> Outcome | None:
        """The outcome, or None when the trial is not over after ``timeout`` s."""
        return self._runner.wait(timeout)

    def cancel(self) -> None:
        """Ends the trial in flight."""
        self._runner.cancel()
