"""The model of a job: one additive process for each metric, learned from all trials so far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from models import Floats
from models.gaussian_process.kernel import KernelInputs, covariances, kernel_matrices
from models.gaussian_process.process import AdditiveProcess, fit_process
from models.gaussian_process.task_agreement import Tasks
from models.gaussian_process.variance_components import (
    LearnedComponents,
    learn_alone,
    learn_jointly,
)
from optimizer.evaluation.evaluation import Evaluation, rank_value
from optimizer.surrogate.coordinates import CubeLayout, cube_layout
from optimizer.surrogate.training_data import (
    PriorRows,
    TrainingData,
    chosen_few,
    coordinates_of,
    prior_rows,
    teaching,
    training_data_of,
)
from optimizer.trials.history import MOST_IN_FLIGHT
from optimizer.trials.problem import Prior
from optimizer.trials.trial import Purpose

FIRST, _FIRST_WITH_PRIOR = 8, 4
_GROWTH = 1.25
_MOST_LEARNED = 200  # rows: beyond them learning would take too long
MOST_PRIOR = 120  # rows


def learned_of(
    evaluation: Evaluation, layout: CubeLayout, numbers: list[int]
) -> Mapping[str, LearnedComponents]:
    """What the first so many of the given trials teach of each metric, with the earlier jobs.

    It is learned anew when there are a quarter more, beginning with what was learned the time
    before: whoever resumes a job comes to the same.
    """
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
    problem, history, names = evaluation.problem, evaluation.history, layout.names
    targets: Mapping[str, Floats]
    if numbers:
        baseline = evaluation.baseline_at(numbers[-1])
        worth = {n: rank_value(problem, baseline, history[n]) for n in numbers}
        few = chosen_few(numbers, worth, _MOST_LEARNED)
        data = training_data_of(problem, history, baseline, names, few)
        rows = data.earlier(problem.prior, names, most=min(MOST_PRIOR, _MOST_LEARNED - len(few)))
        points, targets = data.points, data.targets
    else:  # nothing of this job, not even the level of its baseline, which may move
        metrics = problem.objective.metrics
        levels = dict.fromkeys(metrics, 1.0)
        rows = prior_rows(problem.prior, names, levels, metrics, most=MOST_PRIOR)
        points, targets = np.empty((0, len(names))), dict.fromkeys(metrics, np.empty(0))
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


_MOST = 300  # rows: beyond them a proposal would take too long
_MOST_EVENLY = 200  # trials, evenly over the job: it must not take longer than a few seconds
# What seems to do nothing keeps so much of all shares: the models are not sure of it, and learn of
# small effects too. Without it a search ended where only these were left; see
# docs/results/searching.md.
_LEAST_SHARE = 0.01


@dataclass(frozen=True, eq=False)
class Known:
    """The rows that a metric's model knows."""

    rows: NDArray[np.bool_]  # shape ``(n,)``: which of the job's own and, below, earlier jobs'
    # Shape ``(n_known,)``: how far each one's task agrees; None: all are the job's own.
    kernels: Floats | None

    def of(self, cross: Floats) -> Floats:
        """The covariance with the known rows, from that with all over settings alone."""
        cross = cross if self.rows.all() else cross[:, self.rows]
        return cross if self.kernels is None else cross * self.kernels


@dataclass(frozen=True, eq=False)
class Surrogate:
    """What is expected of configurations that were not measured."""

    layout: CubeLayout  # what the coordinates stand for
    # data, prior: what it was learned from: this job's trials, and what earlier jobs added.
    data: TrainingData
    prior: PriorRows
    settings: KernelInputs  # the known settings
    learned: Mapping[str, LearnedComponents]  # by metric: shares, and agreement of earlier jobs
    # A model for each metric, and which rows it knows.
    processes: Mapping[str, tuple[AdditiveProcess, Known]]

    def predict(self, points: Floats) -> Mapping[str, tuple[Floats, Floats]]:
        """Expectation and standard deviation of each metric, on the scale of the training data.

        Of points of shape ``(m, n_names)`` two arrays of shape ``(m,)`` a metric.
        """
        kernels = kernel_matrices(self.layout.settings(points), self.settings)
        processes = self.processes.values()
        crosses = covariances(kernels, [process.components for process, _ in processes])
        found = zip(self.processes, processes, crosses, strict=True)
        return {name: process.predict(known.of(x)) for name, (process, known), x in found}

    def known_settings(self, metric: str) -> KernelInputs:
        """The settings that a metric's model knows."""
        _, known = self.processes[metric]
        return KernelInputs(self.settings.level[known.rows], self.settings.position[known.rows])

    def matters(self) -> Floats:
        """How much each parameter matters to the metrics together, shape ``(n_names,)``."""
        all_components = [process.components.parameters for process, _ in self.processes.values()]
        return np.asarray(sum(each / each.sum() for each in all_components) / len(all_components))


def surrogate_of(evaluation: Evaluation, names: Sequence[str]) -> Surrogate | None:
    """The model that the history teaches of some parameters; None while too little is known.

    Trials in flight are known by their configuration alone: each counts as measured with just what
    is expected of it, so that the next proposal goes elsewhere. Of many the newest count.
    """
    problem, history = evaluation.problem, evaluation.history
    numbers = teaching(history)
    if len(numbers) < FIRST and not problem.prior.jobs:
        return None
    layout = cube_layout(problem.space, names)
    learned = learned_of(evaluation, layout, numbers)
    worth = dict.fromkeys(numbers, -np.inf) | {
        trial.number: value for value, trial in evaluation.comparable(history[n] for n in numbers)
    }
    few = chosen_few(numbers, worth, _MOST)
    data = training_data_of(problem, history, evaluation.baseline, names, few)
    prior = data.earlier(problem.prior, names, most=min(MOST_PRIOR, _MOST - len(few)))
    surrogate = _fitted(layout, data, prior, learned, least=_LEAST_SHARE)
    flying = [t for t in history.unfinished() if t.purpose is Purpose.CANDIDATE][-MOST_IN_FLIGHT:]
    if flying:
        points = coordinates_of(problem, flying, names)
        believed = surrogate.predict(points)
        targets = {n: np.append(known, believed[n][0]) for n, known in data.targets.items()}
        data = replace(data, points=np.vstack([data.points, points]), targets=targets)
        surrogate = _fitted(layout, data, prior, learned, least=_LEAST_SHARE)
    return surrogate


def job_surrogate(evaluation: Evaluation, names: Sequence[str]) -> Surrogate | None:
    """The model of a whole job, by which parameters are ranked and drawn; None of too few trials.

    Learned in one go, so that it depends on nothing but the trials: neither on who searched, nor
    on what earlier jobs measured. The baseline is the one that was known when the newest of them
    was proposed: the runs of the confirmation change nothing.
    """
    problem, history = evaluation.problem, evaluation.history
    numbers = teaching(history)
    if len(numbers) < FIRST or not names:
        return None

    def learn() -> Surrogate:
        spread = np.linspace(0, len(numbers) - 1, min(len(numbers), _MOST_EVENLY)).astype(int)
        rows = [numbers[place] for place in spread]
        layout, baseline = cube_layout(problem.space, names), evaluation.baseline_at(numbers[-1])
        data = training_data_of(problem, history, baseline, names, rows)
        settings = layout.settings(data.points)
        kernels = kernel_matrices(settings, settings)
        learned = {name: learn_alone(kernels, values) for name, values in data.targets.items()}
        return _fitted(layout, data, data.earlier(Prior(), names, most=0), learned)

    trials = tuple((number, history[number].attempt) for number in numbers)
    return evaluation.once(("surrogate", tuple(names)), trials, learn)


def _fitted(
    layout: CubeLayout,
    data: TrainingData,
    prior: PriorRows,
    learned: Mapping[str, LearnedComponents],
    *,
    least: float = 0.0,
) -> Surrogate:
    settings = layout.settings(np.vstack([data.points, prior.points]))
    names = list(data.targets)
    own = {name: learned[name].components.none_below(least) for name in names}
    among = covariances(kernel_matrices(settings, settings), [own[name] for name in names])
    tasks_of = np.concatenate([np.zeros(len(data.points), dtype=np.int64), prior.tasks])
    processes = {}
    for name, covariance in zip(names, among, strict=True):
        values = np.concatenate([data.targets[name], prior.targets[name]])
        tasks = Tasks(tasks_of, learned[name].agreement)
        known = np.isfinite(values) & tasks.told()
        tasks, within = tasks.at(known), covariance[np.ix_(known, known)]
        noise = kernels = None
        if tasks.of.any():
            within, noise, kernels = within * tasks.among(), tasks.noise(), tasks.with_present()
        process = fit_process(within, values[known], own[name], noise)
        processes[name] = (process, Known(known, kernels))
    return Surrogate(layout, data, prior, settings, learned, processes)
