"""A strategy around another one: what it does not change is the other's."""

from __future__ import annotations

from dataclasses import dataclass

from optimizer.evaluation.evaluation import Evaluation
from optimizer.strategies.strategy import Strategy
from optimizer.trials.problem import Problem


@dataclass(frozen=True)
class Wrapped(Strategy):
    """All of a ``Strategy`` but what it proposes."""

    strategy: Strategy

    @property
    def settings(self) -> frozenset[str]:  # type: ignore[override]
        """As the strategy's."""
        return self.strategy.settings

    def samples(self, problem: Problem, explore: int) -> int:
        """As the strategy's."""
        return self.strategy.samples(problem, explore)

    def needs_all_samples(self, evaluation: Evaluation, explore: int) -> bool:
        """As the strategy's."""
        return self.strategy.needs_all_samples(evaluation, explore)

    def sampling_done(self, evaluation: Evaluation, explore: int) -> bool:
        """As the strategy's."""
        return self.strategy.sampling_done(evaluation, explore)
