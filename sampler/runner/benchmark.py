"""What a runner needs of a benchmark: a command line, perhaps others around it, and an outcome."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from sampler.runner.outcome import Outcome
from sampler.runner.process import EndedProcess
from sampler.space.space import Configuration


class SideProcess(Protocol):
    """A process of a trial beside the one that is measured."""

    @property
    def outputs(self) -> Path:
        """The folder for its ``stdout`` and ``stderr``, yet to be made."""

    def argv(self) -> list[str]:
        """Its command line."""


class Preparation(SideProcess, Protocol):
    """A process that must end well before a trial is measured."""

    def key(self) -> str | None:
        """The same for all trials that would leave the same behind; None: never shared."""

    @property
    def held_from(self) -> str | None:
        """As that of a ``Benchmark``."""

    def settled(self) -> bool:
        """Whether nothing is left to do; asked while its output is held back."""

    def finish(self, ended: EndedProcess) -> Outcome | None:
        """None when what it left can be measured, otherwise what becomes of the trial."""


class Following(SideProcess, Protocol):
    """A process that looks at what a measured trial left, and adds to its outcome."""

    def begin(self) -> None:
        """Readies what it looks at, right before it starts."""

    def finish(self, outcome: Outcome, ended: EndedProcess) -> Outcome:
        """The trial's outcome with what it found, or with a warning that says why nothing."""


class Benchmark(Protocol):
    """Makes a command line of a configuration, and an outcome of what the command left.

    Who names it as its base needs to have no more than is abstract here: by itself nothing runs
    before or after the command, and nothing of it is held back.
    """

    @property
    def timeout_seconds(self) -> float:
        """A trial that takes longer, its preparation included, is ``timed_out``."""

    @property
    def space_bytes(self) -> int:
        """Free bytes that a trial needs."""

    def prepare(self, configuration: Configuration, folder: Path) -> list[str]:
        """Writes what the command reads into the trial's folder and returns the command line."""

    def preparing(self, configuration: Configuration, folder: Path) -> Preparation | None:
        """What must run before the command; None: nothing."""
        del configuration, folder
        return None

    def environment(self) -> Mapping[str, str]:
        """The environment of all of them."""
        return os.environ

    @property
    def held_from(self) -> str | None:
        """The words from which on the command's output is held back, until it is at rest.

        None: it ends by itself.
        """
        return None

    def settled(self, folder: Path) -> bool:
        """Whether nothing is left to do; asked while the command's output is held back."""
        del folder
        return False

    def harvest(
        self, configuration: Configuration, folder: Path, ended: EndedProcess, began: float
    ) -> Outcome:
        """What the run came to."""

    def following(
        self, configuration: Configuration, folder: Path, outcome: Outcome, *, reads: bool
    ) -> Sequence[Following]:
        """What runs after the command, one after the other, for figures that it does not tell.

        ``reads``: whether what the database's reads cost is to be measured, where it can be.
        """
        del configuration, folder, outcome, reads
        return ()
