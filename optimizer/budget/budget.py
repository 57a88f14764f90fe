"""How a job's runs are divided: baseline, exploration, choice of the winner, proof."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optimizer.budget.detection import Detection

LEAST_TRIALS = 12
# A shared machine changes its speed within minutes: a longer gap would not see it.
_MOST_BETWEEN_BASELINES = 25


@dataclass(frozen=True)
class Plan:
    """Runs of the benchmark by purpose; together ``trials``.

    Attributes:
        trials: All runs that the job makes.
        first: Runs of the baseline at the start.
        repeat_every: After so many exploring trials the baseline is measured again.
        exploring: Runs between the first baselines and the confirmation: new configurations and
            the repeated baselines among them.
        candidates: How many of the best are measured again.
        rounds: How often each of them, in turn with the baseline.
        pairs: Runs of the winner, and as many of the baseline, that prove it.
        laid_out: Exploring runs that strategies lay their draws out for, where that was decided
            before the number of pairs was final; None: ``exploring``.
        detection: Why there are so many pairs, where a change was to be detected.
    """

    trials: int
    first: int
    repeat_every: int
    exploring: int
    candidates: int
    rounds: int
    pairs: int
    laid_out: int | None = None
    detection: Detection | None = None

    @property
    def explore(self) -> int:
        """How many new configurations are sampled and searched."""
        left = self.exploring if self.laid_out is None else self.laid_out
        # Whole blocks, each followed by the baseline; the last run is never spent on that.
        block = self.repeat_every + 1
        blocks = max(0, (left - 2) // block)
        configurations, left = blocks * self.repeat_every, left - blocks * block
        while left:
            block = min(self.repeat_every, left)
            configurations, left = configurations + block, left - block
            left -= self.baseline_due(block, left)
        return configurations

    def baseline_due(self, since: int, left: int) -> bool:
        """Whether the baseline is measured next.

        Args:
            since: New configurations since its last run.
            left: Exploring runs that are left; the last is never spent on the baseline.
        """
        return since >= self.repeat_every and left >= 2

    @property
    def select_runs(self) -> int:
        """Runs that choose the winner."""
        return (self.candidates + 1) * self.rounds if self.candidates > 1 else 0

    @property
    def confirm_runs(self) -> int:
        """Runs of the whole confirmation."""
        return self.select_runs + 2 * self.pairs


def divide(trials: int) -> Plan:
    """Divides a budget.

    Every run that proves is one that does not explore: about a quarter of a small budget goes
    into confirmation, and a vanishing share of a large one.

    Raises:
        ValueError: Fewer than ``LEAST_TRIALS``.
    """
    if trials < LEAST_TRIALS:
        raise ValueError(f"a job needs at least {LEAST_TRIALS} trials, not {trials}")
    pairs = min(max(trials // 12, 3), 8)
    candidates = 1 if trials < 24 else 3 if trials < 200 else 5
    rounds = 1 if trials < 48 else 2 if trials < 200 else 3
    first = 2 if trials < 24 else 3
    select = (candidates + 1) * rounds if candidates > 1 else 0
    free = trials - first - select - 2 * pairs
    repeat_every = min(max(10, trials // 10), _MOST_BETWEEN_BASELINES)
    return Plan(trials, first, repeat_every, free, candidates, rounds, pairs)


def trials_in(minutes: float, seconds_per_trial: float, *, least: int = LEAST_TRIALS) -> int:
    """How many trials fit into a time, but no fewer than ``least``."""
    return max(least, math.floor(minutes * 60 / max(seconds_per_trial, 1e-3)))
