"""The methods that compete: those that search, and those that know what is good beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.search.wrapped import Wrapped
from jobs.specification.start_from import starting_points
from optimizer.strategies.registry import find_strategy
from optimizer.strategies.strategy import Prefers, Proposal, Strategy, next_start
from optimizer.trials.history import History
from optimizer.trials.problem import Problem, StartingPoint
from optimizer.trials.trial import Phase, Purpose
from sampler.common.errors import InputError

PAPER, GREEDY, FOREST = "paper", "greedy", "forest"
SEARCH = {PAPER: "genetic", GREEDY: "greedy", FOREST: "forest"}
KNOW = ("guide", "benchmark.sh")
METHODS = (*SEARCH, *KNOW)


@dataclass(frozen=True)
class Begun(Wrapped):
    """A strategy that begins at starting points, as a job of it does."""

    starts: tuple[StartingPoint, ...]

    def propose(
        self, problem: Problem, history: History, *, number: int, explore: int
    ) -> Proposal | None:
        """The next starting point, then what the strategy proposes."""
        start = next_start(replace(problem, starts=self.starts), history, explore)
        if start is not None:
            return start
        return self.strategy.propose(problem, history, number=number, explore=explore)

    def preferred(self, problem: Problem, history: History) -> Sequence[int]:
        """What its models prefer; see ``optimizer.strategies.strategy.Prefers``."""
        strategy = self.strategy
        return strategy.preferred(problem, history) if isinstance(strategy, Prefers) else []


@dataclass(frozen=True)
class Known:
    """Proposes one configuration, measures it once, and stands for it."""

    start: StartingPoint

    @property
    def heeds(self) -> frozenset[str]:
        """Nothing is searched."""
        return frozenset()

    def samples(self, problem: Problem, explore: int) -> int:  # noqa: ARG002
        """Its one configuration."""
        return 1

    def learns(self, problem: Problem, history: History, explore: int) -> bool:  # noqa: ARG002
        """Never."""
        return False

    def searches(self, problem: Problem, history: History, explore: int) -> bool:  # noqa: ARG002
        """Never."""
        return False

    def propose(
        self,
        problem: Problem,
        history: History,
        *,
        number: int,  # noqa: ARG002
        explore: int,  # noqa: ARG002
    ) -> Proposal | None:
        """Its configuration, once."""
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
