"""How much each parameter matters to each metric, and how far earlier jobs agree: learned seldom.

Both are learned anew when there are a quarter more trials, from the first so many, beginning with
what was learned the time before. So whoever resumes a job comes to the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from models.gaussian_process.joint_components import LearnedComponents, learn_jointly
from models.gaussian_process.kernel import Floats, kernel_matrices
from optimizer.baseline.baseline import summarise
from optimizer.surrogate.coordinates import CubeLayout
from optimizer.surrogate.training_data import (
    PriorRows,
    chosen_few,
    measured_worth,
    prior_rows,
    training_data_of,
)
from optimizer.trials.history import History
from optimizer.trials.problem import NO_PRIOR, Problem
from optimizer.trials.trial import Purpose

FIRST, _FIRST_WITH_PRIOR = 8, 4
_GROWTH = 1.25
_MOST = 200  # rows: beyond them learning would take too long
MOST_PRIOR = 120  # rows
_Stamp = tuple[tuple[int, int], ...]


_learned: WeakKeyDictionary[
    History, dict[tuple[int, int], tuple[_Stamp, Mapping[str, LearnedComponents]]]
]
_learned = WeakKeyDictionary()


def learned_of(
    problem: Problem, history: History, layout: CubeLayout, numbers: list[int]
) -> Mapping[str, LearnedComponents]:
    """What the first so many trials teach of each metric, and the earlier jobs with them.

    Args:
        problem: What is tuned.
        history: The trials so far.
        layout: Of the moving parameters.
        numbers: Of the trials that teach.
    """
    kept = _learned.setdefault(history, {})
    learned: Mapping[str, LearnedComponents] = {}
    for size in _sizes(len(numbers), prior=bool(problem.prior.jobs)):
        first = numbers[:size]
        stamp = tuple((number, history[number].attempt) for number in first)
        found = kept.get((id(problem), size))
        if found is None or found[0] != stamp:
            found = (stamp, _learn(problem, history, layout, first, learned))
            kept[id(problem), size] = found
        learned = found[1]
    return learned


def learned_at_once(
    problem: Problem, history: History, layout: CubeLayout, numbers: list[int]
) -> Mapping[str, LearnedComponents]:
    """What trials teach of each metric, learned in one go and without earlier jobs.

    Args:
        problem: What is tuned.
        history: The trials so far.
        layout: Of the moving parameters.
        numbers: Of the trials that teach, in ascending order.
    """
    return _learn(replace(problem, prior=NO_PRIOR), history, layout, numbers, {})


def _sizes(count: int, *, prior: bool) -> list[int]:
    sizes, size = ([0], _FIRST_WITH_PRIOR) if prior else ([], FIRST)
    while size <= count:
        sizes.append(size)
        size = int(size * _GROWTH) + 1
    return sizes


def _learn(
    problem: Problem,
    history: History,
    layout: CubeLayout,
    numbers: list[int],
    before: Mapping[str, LearnedComponents],
) -> Mapping[str, LearnedComponents]:
    points, targets, rows = _rows(problem, history, layout, numbers)
    tasks_of = np.concatenate([np.zeros(len(points), dtype=np.int64), rows.tasks])
    settings = layout.settings(np.vstack([points, rows.points]))
    kernels = kernel_matrices(settings, settings)
    return {
        name: learn_jointly(
            kernels,
            np.concatenate([own, rows.targets[name]]),
            tasks_of,
            len(problem.prior.jobs),
            before.get(name),
        )
        for name, own in targets.items()
    }


def _rows(
    problem: Problem, history: History, layout: CubeLayout, numbers: list[int]
) -> tuple[Floats, Mapping[str, Floats], PriorRows]:
    """Points and targets of the job's own rows, and the rows of earlier jobs."""
    names = layout.names
    if not numbers:  # nothing of this job, not even the level of its baseline, which may move
        metrics = problem.objective.metrics
        levels = dict.fromkeys(metrics, 1.0)
        rows = prior_rows(
            problem.prior, names, levels=levels, logarithmic=metrics, most=MOST_PRIOR
        )
        nothing = np.empty(0)
        return np.empty((0, len(names))), dict.fromkeys(metrics, nothing), rows
    runs = [trial for trial in history.of(Purpose.BASELINE) if trial.done]
    earlier = [trial for trial in runs if trial.number <= numbers[-1]]
    baseline = summarise(earlier or runs)
    few = chosen_few(numbers, measured_worth(problem, history, baseline, numbers), _MOST)
    data = training_data_of(problem, history, baseline, names, few)
    rows = prior_rows(
        problem.prior,
        names,
        levels=data.levels(),
        logarithmic=data.logarithmic,
        most=min(MOST_PRIOR, _MOST - len(few)),
    )
    return data.points, data.targets, rows
