"""One parameter after the other: measure its values, keep the best, go on with the next.

The method of Krishnamoorthy and Choi, "Fine-tuning RocksDB for NVMe SSD" (Samsung): three to five
values of each parameter, in a fixed order, around the best configuration so far. Theirs ends with
the last parameter. Here a further pass follows while the one before has kept anything and the
budget lasts: a value that was chosen early may not be the best beside those chosen since.

A value is kept where its measurement is better than that of the configuration that is varied.
Nothing is measured again here: what won by luck is found out when the job chooses its winner and
proves it on fresh runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from optimizer.evaluation.evaluation import Evaluation
from optimizer.strategies.strategy import (
    Proposal,
    Strategy,
    next_start,
    planned_starts,
    said_value,
)
from optimizer.strategies.sweeps import SweepProgress, sweep_progress
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Phase, Purpose


@dataclass(frozen=True)
class Greedy(Strategy):
    """Coordinate descent over lists of values. All values of a parameter may run side by side."""

    settings: ClassVar[frozenset[str]] = frozenset({"over", "stop_early"})
    phase_words: ClassVar[Mapping[Phase, str]] = {
        Phase.SAMPLE: "measure the starting points; the best of them, or the baseline, is varied",
        Phase.RANK: "take the best of the starting points and the baseline",
        Phase.SEARCH: "vary one parameter after the other, keeping the best value of each",
    }

    def samples(self, problem: Problem, explore: int) -> int:
        """None are drawn; as many as there are starting points."""
        return len(planned_starts(problem, explore))

    def needs_all_samples(self, evaluation: Evaluation, explore: int) -> bool:
        """When all starting points are out: it begins with the best of them."""
        return next_start(evaluation, explore) is None

    def propose(self, evaluation: Evaluation, *, number: int, explore: int) -> Proposal | None:
        """The next value of the parameter whose turn it is; see ``Strategy.propose``.

        None also while values of that parameter are out: which one is kept rests on all of them.
        """
        problem, history = evaluation.problem, evaluation.history
        if len(history.own(Purpose.CANDIDATE)) >= explore or not problem.searched:
            return None
        series = sweep_progress(evaluation, explore)
        name, probe = series.parameter, series.probe
        if probe is None or name is None:
            return None
        parameter = problem.space.by_name[name]
        said = said_value(parameter, probe.value)
        if probe.value != probe.asked:
            said += f" (as near to {said_value(parameter, probe.asked)} as the rules allow)"
        before = history[series.incumbent].configuration.get(name, "none")
        why = (
            f"pass {series.number}, {name}: value {series.place} of {series.of}, {said} for "
            f"{said_value(parameter, before)} of trial {series.incumbent}"
        )
        return Proposal(Phase.SEARCH, probe.point, probe.configuration, why)

    def sweep_progress(self, evaluation: Evaluation, explore: int) -> SweepProgress:
        """How far it has come; see ``Strategy.sweep_progress``."""
        return sweep_progress(evaluation, explore)
