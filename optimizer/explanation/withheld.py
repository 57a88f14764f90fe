"""When a winner is not explained: too few configurations to tell its changes from each other."""

import itertools
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from models.gaussian_process.evidence import LEAST_JUDGED
from optimizer.budget.budget import LEAST_TRIALS, divide
from optimizer.budget.confirm_load import apart
from optimizer.simplification.changes import Changes
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Trial
from sampler.runner.outcome import TrialState

# Different configurations, of a search over as many options or more: of fewer the intervals held
# too rarely where they were counted, see docs/results/explanation_coverage.md.
_HOLDS = 20


@dataclass(frozen=True)
class Withheld:
    """Why a winner is not explained.

    Runs of the same configuration again say how noisy they are, and nothing of what an option
    does. So configurations are counted, and not trials.
    """

    configurations: int  # how many different ones, beside the baseline, ended well
    needed: int  # how many it takes
    changes: int  # how many options differ between the winner and the baseline
    trials: int  # the smallest ``--trials`` that measures as many as are needed

    @property
    def why(self) -> str:
        """One line."""
        least = "as many as a ranking of the options"
        if self.needed > max(LEAST_JUDGED, self.changes):
            least = "with fewer its intervals do not hold"
        elif self.needed > LEAST_JUDGED:
            least = f"one for each of the {self.changes} options that the winner changes"
        return (
            f"withheld: {self.configurations} different configurations ended well, and an "
            f"explanation needs {self.needed} ({least}); --trials {self.trials} measures as many"
        )

    def document(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {**asdict(self), "why": self.why}


def withheld_of(problem: Problem, history: History, changes: Changes) -> Withheld | None:
    """Why a winner is not explained; None where there is enough to learn from.

    It takes as many configurations as a ranking of the options does, and up to ``_HOLDS`` where as
    many options move. With fewer of them than there are changes, what they measured can be shared
    out between the changes in any way.
    """
    known = distinct(trial for trial in history if not apart(problem, trial))
    count = len(changes.names)
    if not count and not changes.fixed:
        return None  # it is the baseline: there is nothing to explain
    needed = max(LEAST_JUDGED, count, min(_HOLDS, len(problem.searched)))
    if known >= needed:
        return None
    starts = bool(problem.starts)
    trials = next(
        n for n in itertools.count(LEAST_TRIALS) if divide(n, starts=starts).explore >= needed
    )
    return Withheld(known, needed, count, trials)


def distinct(trials: Iterable[Trial]) -> int:
    """How many different configurations ended well, the baseline left out."""
    return len({t.digest for t in trials if t.state is TrialState.DONE and not t.is_baseline})
