"""The models that explain a winner: what they learn from, and whether that is enough."""

import itertools
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from models.gaussian_process.effects import LEAST_JUDGED
from optimizer.budget.budget import LEAST_TRIALS, apart, divide
from optimizer.evaluation.evaluation import Evaluation, rank_value
from optimizer.strategies.changes import Changes
from optimizer.surrogate.job_model import FIRST, MEMBERS, ensemble_of
from optimizer.surrogate.predictions import PredictedChanges
from optimizer.surrogate.training_data import (
    TEACHING,
    chosen_few,
    cube_layout,
    training_data_of,
)
from optimizer.trials.problem import Problem
from optimizer.trials.trial import History
from sampler.bench.outcome import TrialState
from sampler.space.space import holding

DRAWS = 40 * MEMBERS


_MOST = 300  # rows: beyond them learning would take too long


def explaining_model(evaluation: Evaluation, changes: Changes) -> PredictedChanges | None:
    """Learns the models from all trials that have ended, the proof's too; None: too few have.

    The baseline is a point of the models like any other. Where the space sets values that the
    baseline has not, it is none of its configurations; then it is taken as it was measured.
    """
    problem, history = evaluation.problem, evaluation.history
    modelled = not changes.fixed
    # A codec that is no choice of the space, or a size beyond its range, would otherwise be taken
    # for the nearest that it has, and the change from it for no change.
    space = holding(problem.space, problem.space.start)
    if space != problem.space:  # points of draws mean the space as it was
        problem = replace(problem, space=space)
        history = History(replace(trial, point=None) for trial in history)
    ended = [trial for trial in history if trial.state in TEACHING]
    taught = [trial for trial in ended if not apart(problem, trial)]
    numbers = [trial.number for trial in taught if modelled or not trial.is_baseline]
    start = problem.space.start  # parameters of which there is more than one value
    tried = [history[number].configuration for number in numbers]
    names = [
        name
        for name in problem.space.names
        if any(each.get(name, start[name]) != start[name] for each in tried)
    ]
    if not names or len(numbers) < FIRST:
        return None
    baseline = evaluation.baseline
    fitness = {n: rank_value(problem, baseline, history[n]) for n in numbers}
    few = chosen_few(numbers, fitness, _MOST)
    data = training_data_of(problem, history, baseline, names, few)
    if not modelled:
        unknown = {name: np.append(np.nan, known[1:]) for name, known in data.targets.items()}
        data = replace(data, targets=unknown)
    model = ensemble_of(cube_layout(problem.space, names), data, seed=problem.seed)
    return PredictedChanges(problem, model, baseline.metrics, DRAWS, modelled)


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
            least = "with fewer, its intervals are too narrow"
        elif self.needed > LEAST_JUDGED:
            least = f"one for each of the {self.changes} options that the winner changes"
        return (
            f"withheld: {self.configurations} different configurations succeeded, and an "
            f"explanation needs {self.needed} ({least}); --trials {self.trials} measures that many"
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
    known = distinct_configurations(problem, history)
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


def distinct_configurations(problem: Problem, history: History) -> int:
    """How many configurations ended well at the search's load, the baseline left out."""
    trials = (trial for trial in history if not apart(problem, trial))
    return len({t.digest for t in trials if t.state is TrialState.DONE and not t.is_baseline})
