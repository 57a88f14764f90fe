"""How often what went wrong, and the words for each."""

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

WRONG = ("lost", "duplicated", "orphans", "unfinished", "unexplained", "slow")


@dataclass
class Tally:
    """Counts of one kind of fault. The wrong ones must all be nothing.

    Attributes:
        lost: Trials that are missing, not measured, or gone.
        duplicated: Trials that changed after their end, or whose result is no one run's.
        orphans: Processes and folders of benchmarks that are left.
        unfinished: Jobs, and processes of ours, that did not end as they should.
        unexplained: Runs that were begun again though no fault explains it.
        slow: Cancels after which something ran for more than two seconds.
        again: Runs that were begun again.
        slowest_cancel: Seconds.
        notes: One line for each wrong thing.
    """

    lost: int = 0
    duplicated: int = 0
    orphans: int = 0
    unfinished: int = 0
    unexplained: int = 0
    slow: int = 0
    faults: int = 0
    trials: int = 0
    again: int = 0
    slowest_cancel: float | None = None
    notes: list[str] = field(default_factory=list)

    def wrong(self) -> int:
        """All wrong things together."""
        return sum(getattr(self, each) for each in WRONG)

    def add(self, count: str, found: list[str]) -> None:
        """Counts what was found, and keeps it with the moment."""
        setattr(self, count, getattr(self, count) + len(found))
        at = datetime.now(UTC).strftime("%H:%M:%S")
        self.notes += [f"{at}, after fault {self.faults}, {count}: {each}" for each in found]

    def document(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)
