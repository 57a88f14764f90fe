"""A strategy around another one: what it does not change is the other's."""

from __future__ import annotations

from dataclasses import dataclass

from optimizer.strategies.strategy import Strategy
from optimizer.trials.history import History
from optimizer.trials.problem import Problem


@dataclass(frozen=True)
class Wrapped:
    """All of a ``Strategy`` but what it proposes."""

    strategy: Strategy

    @property
    def heeds(self) -> frozenset[str]:
        """As the strategy's."""
        return self.strategy.heeds

    def samples(self, problem: Problem, explore: int) -> int:
        """As the strategy's."""
        return self.strategy.samples(problem, explore)

    def learns(self, problem: Problem, history: History, explore: int) -> bool:
        """As the strategy's."""
        return self.strategy.learns(problem, history, explore)

    def searches(self, problem: Problem, history: History, explore: int) -> bool:
        """As the strategy's."""
        return self.strategy.searches(problem, history, explore)
