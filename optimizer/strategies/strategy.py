"""What a strategy is: a pure function from what is known to the next configuration."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from optimizer.evaluation.evaluation import Evaluation
from optimizer.surrogate.predictions import StoppingRule
from optimizer.trials.problem import Problem, StartingPoint
from optimizer.trials.trial import STARTING_POINT, Basis, Phase, Purpose
from sampler.rocksdb.parameters import Value
from sampler.space.latent import Point, encode
from sampler.space.space import digest

if TYPE_CHECKING:
    from optimizer.strategies.greedy import SweepProgress


_ATTEMPTS = 1000


@dataclass(frozen=True)
class Proposal:
    """A configuration to measure, and why."""

    phase: Phase
    point: Point | None  # the latent coordinates it was decoded from; None: given as it is
    configuration: Mapping[str, Value]
    why: str
    subject: int | None = None  # the trial that measured it first; None: it is new
    basis: Basis = Basis.PLAIN  # what it rests on; ``why`` says more of it, to people alone


class Strategy(ABC):
    """Proposes configurations.

    A strategy keeps nothing that cannot be rebuilt from its arguments, so a killed job resumes by
    reading its trials back, and trials in flight (in the history with state ``running``) need no
    special care.
    """

    # The settings of a search (``SearchSettings``) that change what it proposes; ``warm_start``
    # among them: its models learn from earlier jobs (``Problem.prior``).
    settings: ClassVar[frozenset[str]]
    # Whether models guide it: they know what matters, and learn from every trial of the search.
    has_models: ClassVar[bool] = False
    phase_words: ClassVar[Mapping[Phase, str]] = {}  # of phases it does its own way

    @abstractmethod
    def samples(self, problem: Problem, explore: int) -> int:
        """How many of ``explore`` new configurations are drawn at most before the search."""

    @abstractmethod
    def propose(self, evaluation: Evaluation, *, number: int, explore: int) -> Proposal | None:
        """The next configuration, where the budget holds ``explore`` new ones in all.

        ``number`` is that of the trial; its seed is ``problem.seed_of(number)``. Of the trials so
        far some may be in flight.

        Returns:
            A configuration that was never proposed before, or one that is measured again on
                purpose (``Proposal.subject``), or None: there is nothing to add.
        """

    def needs_all_samples(self, evaluation: Evaluation, explore: int) -> bool:
        """Whether the next proposal rests on the draws so far, so that all of them must be in."""
        return False

    def sampling_done(self, evaluation: Evaluation, explore: int) -> bool:
        """Whether the draws have ended and the search comes next, or goes on.

        Asked only when all draws have ended where ``needs_all_samples`` says so.
        """
        return self.needs_all_samples(evaluation, explore)

    def preferred(self, evaluation: Evaluation) -> Sequence[int]:
        """The numbers of whole measurements, those first that it predicts to be the best.

        Empty where it knows no more of them than they tell, or too little.
        """
        return ()

    def stopping_rule(self, evaluation: Evaluation, explore: int) -> StoppingRule | None:
        """What is expected of one more run; None where that cannot be said."""
        return None

    def sweep_progress(self, evaluation: Evaluation, explore: int) -> SweepProgress | None:
        """How far it has come that varies one parameter after the other; None: it does not."""
        return None


def first_new(
    evaluation: Evaluation,
    phase: Phase,
    why: str,
    points: Callable[[int], Point],
    *,
    basis: Basis = Basis.PLAIN,
) -> Proposal | None:
    """The first new configuration, by the points of attempts from 0 on; None: all are known."""
    for attempt in range(_ATTEMPTS):
        point = points(attempt)
        configuration = evaluation.problem.configuration(point)
        if digest(configuration) not in evaluation.history:
            return Proposal(phase, point, configuration, why, basis=basis)
    return None


_SHARE = 2  # at most a half of what is explored: the rest is for the search
_MOST_SAID = 6


def starting_point(
    problem: Problem, name: str, given: Mapping[str, Value]
) -> StartingPoint | None:
    """A point of the space that is as near to given settings as may be; None: the baseline is.

    Settings are values by parameter, full scale. Options that the search does not move stay where
    the space leaves them, values outside of a range take its nearest end, and values that a choice
    does not have are left at the baseline. Where the memory budget is too small there are fewer
    memtables first, then smaller ones.
    """
    space, moving = problem.space, problem.searched
    wanted = {
        parameter: value
        for parameter, value in given.items()
        if parameter in moving
        and (space.by_name[parameter].is_numeric or value in space.by_name[parameter].values)
    }
    values = {**space.start, **wanted}
    point = encode(space, _within_memory(problem, values), memory=problem.memory)
    point = {parameter: point[parameter] for parameter in moving}
    found = problem.configuration(point)
    if digest(found) == digest(space.default_configuration()):
        return None
    changed = [
        f"{parameter} {space.by_name[parameter].words(found[parameter])} instead of "
        f"{space.by_name[parameter].words(value)}"
        for parameter, value in wanted.items()
        if parameter in found and found[parameter] != value
    ]
    return StartingPoint(name, point, tuple(changed))


def next_start(evaluation: Evaluation, explore: int) -> Proposal | None:
    """The next starting point that was not measured; None: all were, or the search began."""
    problem, history = evaluation.problem, evaluation.history
    if history.numbers(Purpose.CANDIDATE, Phase.SEARCH):
        return None
    for start in planned_starts(problem, explore):
        configuration = problem.configuration(start.point)
        if digest(configuration) not in history:
            why = _why(start)
            return Proposal(Phase.SAMPLE, start.point, configuration, why, basis=Basis.START)
    return None


def planned_starts(problem: Problem, explore: int) -> Sequence[StartingPoint]:
    """The starting points that a budget of so many new configurations has room for."""
    return problem.starts[: max(1, explore // _SHARE)]


def _why(start: StartingPoint) -> str:
    why = f"{STARTING_POINT} {start.name}"
    if not start.changed:
        return why
    said, more = list(start.changed[:_MOST_SAID]), len(start.changed) - _MOST_SAID
    said += [f"{more} more"] if more > 0 else []
    return f"{why}, fitted to the space and its memory: {', '.join(said)}"


def _within_memory(problem: Problem, values: dict[str, Value]) -> dict[str, Value]:
    """The same with fewer memtables, where that keeps the budget; their size comes later."""
    fewer, number = problem.space.by_name.get("max_write_buffer_number"), "max_write_buffer_number"
    if problem.memory is None or fewer is None or number not in problem.searched:
        return values
    left = (problem.memory - int(values["cache_size"])) // problem.workload.column_families
    fits = max(left // int(values["write_buffer_size"]), int(fewer.low or 0))
    return {**values, number: min(int(values[number]), fits)}
