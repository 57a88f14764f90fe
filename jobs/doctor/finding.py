"""What was found about a machine, how bad that is, and what to do about it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from optimizer.trials.trial import Trial


class Severity(StrEnum):
    """How bad a finding is, from nothing to a reason not to measure here."""

    OK = "ok"
    NOTE = "note"  # worth knowing
    WARNING = "warning"  # figures may be worse, or mean less, than they seem
    PROBLEM = "problem"  # what is measured here is not what is asked for


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    check: str  # what was looked at, in one or two words
    level: Severity
    found: str  # what is there, with figures
    advice: str = ""  # what to do about it; never empty where the level is not `ok`

    def __post_init__(self) -> None:
        """Refuses bad news without advice."""
        if self.level is not Severity.OK and not self.advice:
            raise ValueError(f"{self.check}: {self.found}: what is to be done?")


@dataclass(frozen=True, kw_only=True)
class ExaminationObserver:
    """Who is told what while a machine is examined."""

    found: Callable[[Finding], None]  # each finding, as it comes
    waiting: Callable[[str], None]  # who holds the host, while somebody does
    began: Callable[[int], None]  # the number of each run of the baseline, before it
    ended: Callable[[Trial], None]  # each run, after it


def not_shown(check: str, where: str) -> Finding:
    """What nobody can judge, as ``where`` cannot be read: in a sandbox, in a container."""
    found = f"not shown here: nothing to be read in {where}"
    return Finding(check, Severity.NOTE, found, "look at it from outside: on the host, or as root")


def graded(value: float, *, note: float, warning: float, problem: float) -> Severity:
    """The level of a figure of which more is worse; a limit itself is still within it."""
    if value > problem:
        return Severity.PROBLEM
    if value > warning:
        return Severity.WARNING
    return Severity.NOTE if value > note else Severity.OK


def percentage(share: float) -> str:
    """A share as people read it: ``0.046`` is ``4.6%``."""
    return f"{100 * share:.{2 if share < 0.1 else 3}g}%"
