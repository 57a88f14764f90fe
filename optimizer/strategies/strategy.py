"""What a strategy is: a pure function from the history to the next configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from optimizer.ranking.parameter_effects import ParameterEffects
from optimizer.surrogate.prospect import Prospect
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Phase
from sampler.parameters.parameter import Value
from sampler.space.latent import Point
from sampler.space.space import digest

if TYPE_CHECKING:
    from optimizer.strategies.sweeping import Course

_ATTEMPTS = 1000


@dataclass(frozen=True)
class Proposal:
    """A configuration to measure, and why.

    Attributes:
        point: The latent coordinates that it was decoded from; None: it was given as it is.
        subject: The trial that measured it first, where it is measured again; None: it is new.
    """

    phase: Phase
    point: Point | None
    configuration: Mapping[str, Value]
    why: str
    subject: int | None = None


class Strategy(Protocol):
    """Proposes configurations.

    A strategy keeps nothing that cannot be rebuilt from its arguments, so a killed job resumes by
    reading its trials back, and trials in flight (in the history with state ``running``) need no
    special care.
    """

    @property
    def heeds(self) -> frozenset[str]:
        """The settings of a search (``SearchSettings``) that change what it proposes.

        ``warm_start`` among them: its models learn from earlier jobs (``Problem.prior``).
        """
        ...

    def samples(self, problem: Problem, explore: int) -> int:
        """How many of ``explore`` new configurations are drawn at most before the search."""
        ...

    def learns(self, problem: Problem, history: History, explore: int) -> bool:
        """Whether the next proposal rests on the draws so far, so that all of them must be in."""
        ...

    def searches(self, problem: Problem, history: History, explore: int) -> bool:
        """Whether the draws have ended and the search comes next, or goes on.

        Asked only when all draws have ended where ``learns`` says so.
        """
        ...

    def propose(
        self, problem: Problem, history: History, *, number: int, explore: int
    ) -> Proposal | None:
        """The next configuration.

        Args:
            problem: What is tuned.
            history: The trials so far, those in flight included.
            number: The number that the trial will have; its seed is ``problem.seed_of(number)``.
            explore: How many new configurations the budget holds in all.

        Returns:
            A configuration that was never proposed before, or one that is measured again on
            purpose (``Proposal.subject``), or None: there is nothing to add.
        """
        ...


@runtime_checkable
class Prefers(Protocol):
    """A strategy that knows more of what was measured than single measurements tell."""

    def preferred(self, problem: Problem, history: History) -> Sequence[int]:
        """The numbers of whole measurements, those first that it holds for the best.

        Empty while it knows too little.
        """
        ...


@runtime_checkable
class LearnsEffects(Protocol):
    """A strategy that is guided by models, which also know what matters: few draws do not."""

    def effects(self, problem: Problem, history: History) -> ParameterEffects | None:
        """What all trials so far teach about the parameters; None while it knows too little."""
        ...


@runtime_checkable
class Foresees(Protocol):
    """A strategy that can say what its next run promises."""

    def prospect(self, problem: Problem, history: History, explore: int) -> Prospect | None:
        """What is expected of one more run; None while that cannot be said."""
        ...


@runtime_checkable
class Sweeps(Protocol):
    """A strategy that varies one parameter after the other, so that each has its own gain."""

    def course(self, problem: Problem, history: History, explore: int) -> Course:
        """How far it has come, and what it kept on the way."""
        ...


class PointSource(Protocol):
    """Gives a point for each attempt, so that one that was measured already can be passed over."""

    def __call__(self, attempt: int) -> Point:
        """The point of an attempt, counted from 0."""
        ...


def first_new(
    problem: Problem, history: History, phase: Phase, why: str, points: PointSource
) -> Proposal | None:
    """The first of many points whose configuration was never proposed; None if all were.

    Args:
        problem: What is tuned.
        history: The trials so far.
        phase: The phase of the proposal.
        why: Its reason.
        points: Called with 0, 1, 2, ...
    """
    for attempt in range(_ATTEMPTS):
        point = points(attempt)
        configuration = problem.configuration(point)
        if digest(configuration) not in history:
            return Proposal(phase, point, configuration, why)
    return None
