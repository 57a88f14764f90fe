"""What the tuning run needs from the outside: somewhere to keep trials, something to run them.

Everything here can be met by a list and a function, so the optimizer works in a notebook.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from optimizer.trials.trial import Phase, Trial
from sampler.bench.outcome import Outcome

if TYPE_CHECKING:
    from optimizer.run.planning import RunProgress

# Under these names a log remembers what was decided once.
HOSTS_EXCLUDED = "hosts_set_aside"
DECLARED_TEST = "declared_test"


class TrialLog(Protocol):
    """The trials of one job, kept. Each call is whole or not at all.

    A log belongs to one controller at a time. When another has taken over, every write raises
    ``LeaseLost`` and changes nothing.
    """

    def trials(self) -> Sequence[Trial]:
        """All trials of the job by number, those in flight included."""

    def propose(self, trial: Trial) -> None:
        """Keeps a proposal before it is run (state ``running``).

        A trial with the number of a ``lost`` or ``running`` one replaces it: it is run again.

        Raises:
            ValueError: The trial of that number has ended.
        """

    def finish(self, *trials: Trial, progress: RunProgress | None = None) -> None:
        """Keeps outcomes, and how the job then stands, in one transaction: all or none.

        Given trials (``Trial.given``) may be new; the others were proposed.

        Raises:
            KeyError: A trial was never proposed.
            ValueError: One has ended already, or was begun again since (a stale ``attempt``); a
                measurement is never overwritten.
        """

    def withdraw(self, trials: Sequence[Trial], why: str) -> None:
        """Takes ended trials back, all or none: they are ``lost`` and will be run again.

        What they had measured stays in the job's document ``withdrawn``.

        Raises:
            ValueError: One has not ended, or is another attempt.
        """

    def enter(self, phase: Phase, why: str) -> None:
        """Keeps which phase the job is in and why."""

    def remember(self, name: str, document: Mapping[str, Any]) -> None:
        """Keeps a document of the job by name (``ranking``, ``declared_test``, ...)."""

    def recall(self, name: str) -> Mapping[str, Any] | None:
        """A document kept earlier, or None."""


class LeaseLost(RuntimeError):
    """Another controller has taken the job over; nothing more may be written."""


class TrialLostError(RuntimeError):
    """A trial was lost again and again."""


class NoHostCanMeasure(RuntimeError):
    """Hosts are there, and the baseline fails on every one of them."""


class ControllerStops(BaseException):
    """The controller ends and the job goes on later. No ``Exception``: it is no failure."""


@dataclass(frozen=True)
class AskedTrials:
    """What may be measured now."""

    trials: tuple[Trial, ...]  # to be measured, in this order or side by side
    why: str  # why there are no more than these
    complete: bool = False  # nothing is left to measure, and nothing is out


class Hosts(Protocol):
    """The hosts of a job: this machine, or many. Each measures one trial at a time."""

    def hosts(self) -> Sequence[str]:
        """The names of those that are there and fit to measure; they may come and go."""

    def start(self, trial: Trial, *, cutoff_seconds: float | None) -> None:
        """Begins to measure on the trial's host, which measures nothing.

        ``cutoff_seconds``: after it the trial is cut off as ``censored``; None: never.
        """

    def attach(self, trial: Trial) -> bool:
        """Takes over a trial that an earlier controller began; False when nobody knows it."""

    def wait(self, timeout: float) -> tuple[Trial, Outcome] | None:
        """A trial that is over and its outcome (``lost`` if its host went), or None.

        The trial is that of the attempt that was started or attached; None: none is over after
        ``timeout`` s.
        """

    def cancel(self) -> None:
        """Ends all trials in flight, leaving nothing running."""

    def leave(self) -> None:
        """Lets go of the trials in flight: those that can go on without a controller do."""


class OneHost(ABC):
    """What ``Hosts`` asks of a host that is alone, and whose trials end with its controller."""

    name: str  # kept with each trial

    def hosts(self) -> Sequence[str]:
        """The one."""
        return (self.name,)

    def attach(self, trial: Trial) -> bool:  # noqa: ARG002
        """Never: whatever an earlier controller began here has ended with it."""
        return False

    @abstractmethod
    def cancel(self) -> None:
        """Ends the trial in flight."""

    def leave(self) -> None:
        """Ends it too."""
        self.cancel()


class RunObserver(Protocol):
    """Someone who watches. Calls must return at once and never raise."""

    def phase(self, phase: Phase, why: str) -> None:
        """The job entered a phase."""

    def trial_started(self, trial: Trial) -> None:
        """A trial was proposed and begins."""

    def trial_ended(self, trial: Trial, progress: RunProgress) -> None:
        """A trial ended, in whatever way."""

    def tick(self) -> None:
        """A moment passed while trials run, or while no host is there."""

    def host_excluded(self, host: str, why: str) -> None:
        """A host measures no more for this job."""

    def host_readmitted(self, host: str, why: str) -> None:
        """A host that was excluded measures again."""


class Unwatched(RunObserver):
    """Where nobody watches; a base for those who watch some of it."""

    def tick(self, *_: Any, **__: Any) -> None:
        """Of no interest, as all the others."""

    phase = trial_started = trial_ended = host_excluded = host_readmitted = tick
