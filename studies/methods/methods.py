"""The methods that compete: those that search, and those that know what is good beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from jobs.specification.start_from import starting_points
from optimizer.evaluation.evaluation import Evaluation
from optimizer.strategies.registry import find_strategy
from optimizer.strategies.strategy import Proposal, Strategy, next_start
from optimizer.trials.problem import Problem, StartingPoint
from optimizer.trials.trial import Phase, Purpose
from sampler.common.errors import InputError
from studies.search.wrapped import Wrapped

PAPER, GREEDY, FOREST = "paper", "greedy", "forest"
SEARCH = {PAPER: "genetic", GREEDY: "greedy", FOREST: "guided"}  # its name of today
KNOW = ("guide", "benchmark.sh")
METHODS = (*SEARCH, *KNOW)


@dataclass(frozen=True)
class Begun(Wrapped):
    """A strategy that begins at starting points, as a job of it does."""

    starts: tuple[StartingPoint, ...]

    def propose(self, evaluation: Evaluation, *, number: int, explore: int) -> Proposal | None:
        """The next starting point, then what the strategy proposes."""
        problem, history = evaluation.problem, evaluation.history
        start = next_start(Evaluation(replace(problem, starts=self.starts), history), explore)
        if start is not None:
            return start
        return self.strategy.propose(evaluation, number=number, explore=explore)

    def preferred(self, evaluation: Evaluation) -> Sequence[int]:
        """As the strategy's."""
        return self.strategy.preferred(evaluation)


@dataclass(frozen=True)
class Known(Strategy):
    """Proposes one configuration, measures it once, and stands for it."""

    settings: ClassVar[frozenset[str]] = frozenset()
    start: StartingPoint

    def samples(self, problem: Problem, explore: int) -> int:  # noqa: ARG002
        """Its one configuration."""
        return 1

    def propose(
        self,
        evaluation: Evaluation,
        *,
        number: int,  # noqa: ARG002
        explore: int,  # noqa: ARG002
    ) -> Proposal | None:
        """Its configuration, once."""
        problem, history = evaluation.problem, evaluation.history
        if history.numbers(Purpose.CANDIDATE):
            return None
        configuration = problem.configuration(self.start.point)
        return Proposal(Phase.SAMPLE, self.start.point, configuration, self.start.name)


def methods_of(problem: Problem, names: Sequence[str]) -> Mapping[str, Strategy]:
    """The methods by name, made fit for the space and memory of a problem.

    Raises:
        InputError: There is no such method.
    """
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise InputError("--methods", f"{unknown[0]!r} is none of {', '.join(METHODS)}")
    found: dict[str, Strategy] = {}
    for name in names:
        if name in SEARCH:
            strategy = find_strategy(SEARCH[name])
            own = starting_points(replace(problem, strategy=SEARCH[name]), None)
            found[name] = Begun(strategy, own) if own else strategy
        else:
            # Of what is the baseline in this space nothing is left: it is no method of its own.
            for start in starting_points(problem, [{"name": name}]):
                found[name] = Known(start)
    return found
