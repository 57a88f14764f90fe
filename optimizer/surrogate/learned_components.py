"""How much each parameter matters to each metric, and how far earlier jobs agree: learned seldom.

Both are learned anew when there are a quarter more trials, from the first so many, beginning with
what was learned the time before. So whoever resumes a job comes to the same ones.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np

from models.gaussian_process.joint_components import LearnedComponents, learn_jointly
from models.gaussian_process.kernel import Floats, kernel_matrices
from optimizer.evaluation.evaluation import Evaluation
from optimizer.surrogate.coordinates import CubeLayout
from optimizer.surrogate.training_data import (
    PriorRows,
    chosen_few,
    measured_worth,
    prior_rows,
    training_data_of,
)

FIRST, _FIRST_WITH_PRIOR = 8, 4
_GROWTH = 1.25
_MOST = 200  # rows: beyond them learning would take too long
MOST_PRIOR = 120  # rows


def learned_of(
    evaluation: Evaluation, layout: CubeLayout, numbers: list[int]
) -> Mapping[str, LearnedComponents]:
    """What the first so many of the given trials teach of each metric, with the earlier jobs."""
    problem, history = evaluation.problem, evaluation.history
    learned: Mapping[str, LearnedComponents] = {}
    for size in _sizes(len(numbers), prior=bool(problem.prior.jobs)):
        first = numbers[:size]
        learned = evaluation.once(
            ("components", layout.names, size),
            tuple((number, history[number].attempt) for number in first),
            partial(_learn, evaluation, layout, first, learned),
        )
    return learned


def _sizes(count: int, *, prior: bool) -> list[int]:
    sizes, size = ([0], _FIRST_WITH_PRIOR) if prior else ([], FIRST)
    while size <= count:
        sizes.append(size)
        size = int(size * _GROWTH) + 1
    return sizes


def _learn(
    evaluation: Evaluation,
    layout: CubeLayout,
    numbers: list[int],
    before: Mapping[str, LearnedComponents],
) -> Mapping[str, LearnedComponents]:
    problem = evaluation.problem
    points, targets, rows = _rows(evaluation, layout, numbers)
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
    evaluation: Evaluation, layout: CubeLayout, numbers: list[int]
) -> tuple[Floats, Mapping[str, Floats], PriorRows]:
    """Points and targets of the job's own rows, and the rows of earlier jobs."""
    problem, history = evaluation.problem, evaluation.history
    names = layout.names
    if not numbers:  # nothing of this job, not even the level of its baseline, which may move
        metrics = problem.objective.metrics
        levels = dict.fromkeys(metrics, 1.0)
        rows = prior_rows(problem.prior, names, levels, metrics, most=MOST_PRIOR)
        return np.empty((0, len(names))), dict.fromkeys(metrics, np.empty(0)), rows
    baseline = evaluation.baseline_at(numbers[-1])
    few = chosen_few(numbers, measured_worth(problem, history, baseline, numbers), _MOST)
    data = training_data_of(problem, history, baseline, names, few)
    rows = data.earlier(problem.prior, names, most=min(MOST_PRIOR, _MOST - len(few)))
    return data.points, data.targets, rows
