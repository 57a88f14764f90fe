"""The model of a job: one additive process for each metric, learned from all trials so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models.gaussian_process.joint_components import Learned
from models.gaussian_process.kernel import Settings, covariances, likeness
from models.gaussian_process.process import AdditiveProcess, fit_process
from models.gaussian_process.task_agreement import Tasks
from optimizer.evaluation.evaluation import baseline_of, comparable
from optimizer.surrogate.coordinates import Floats, Layout, layout_of
from optimizer.surrogate.learned_components import FIRST, MOST_PRIOR, learned_at_once, learned_of
from optimizer.surrogate.training_data import (
    Lessons,
    PriorRows,
    chosen_few,
    coordinates_of,
    lessons_of,
    measured_worth,
    prior_rows,
    teaching,
)
from optimizer.trials.history import History
from optimizer.trials.problem import NO_PRIOR, Problem
from optimizer.trials.trial import Purpose

_MOST = 300  # rows: beyond them a proposal would take too long
# What seems to do nothing keeps so much of all shares: the models are not sure of it, and learn of
# small effects too. Without it a search ended where only these were left; see docs/search.md.
_LEAST_SHARE = 0.01


@dataclass(frozen=True, eq=False)
class Known:
    """The rows that a metric's model knows.

    Attributes:
        rows: Shape ``(n,)``: which of the job's own rows and, below them, of earlier jobs'.
        alike: Shape ``(n_known,)``: how far each one's task agrees with the job; None: all are
            the job's own.
    """

    rows: NDArray[np.bool_]
    alike: Floats | None

    def of(self, cross: Floats) -> Floats:
        """The covariance with the known rows, from that with all over settings alone."""
        cross = cross if self.rows.all() else cross[:, self.rows]
        return cross if self.alike is None else cross * self.alike


@dataclass(frozen=True, eq=False)
class Surrogate:
    """What is expected of configurations that were not measured.

    Attributes:
        layout: What the coordinates stand for.
        lessons: What it was learned from.
        prior: What earlier jobs added.
        settings: The known settings.
        learned: Metric to the shares of its variance and the agreement of earlier jobs.
        processes: A model for each metric, and which rows it knows.
    """

    layout: Layout
    lessons: Lessons
    prior: PriorRows
    settings: Settings
    learned: Mapping[str, Learned]
    processes: Mapping[str, tuple[AdditiveProcess, Known]]

    def predict(self, points: Floats) -> Mapping[str, tuple[Floats, Floats]]:
        """Expectation and standard deviation of each metric, on the scale of the lessons.

        Args:
            points: Shape ``(m, n_names)``.

        Returns:
            Metric to two arrays of shape ``(m,)``.
        """
        alike = likeness(self.layout.settings(points), self.settings)
        crosses = covariances(alike, [process.shares for process, _ in self.processes.values()])
        return {
            name: process.predict(known.of(cross))
            for (name, (process, known)), cross in zip(
                self.processes.items(), crosses, strict=True
            )
        }

    def predict_together(self, points: Floats) -> Mapping[str, tuple[Floats, Floats]]:
        """Expectation and covariance of each metric, on the scale of the lessons.

        Args:
            points: Shape ``(m, n_names)``.

        Returns:
            Metric to arrays of shape ``(m,)`` and ``(m, m)``.
        """
        settings = self.layout.settings(points)
        shares = [process.shares for process, _ in self.processes.values()]
        crosses = covariances(likeness(settings, self.settings), shares)
        amongs = covariances(likeness(settings, settings), shares)
        return {
            name: process.predict_together(known.of(cross), among)
            for (name, (process, known)), cross, among in zip(
                self.processes.items(), crosses, amongs, strict=True
            )
        }

    def matters(self) -> Floats:
        """How much each parameter matters to the metrics together, shape ``(n_names,)``."""
        all_shares = [process.shares.parameters for process, _ in self.processes.values()]
        return np.asarray(sum(each / each.sum() for each in all_shares) / len(all_shares))


def surrogate_of(problem: Problem, history: History, names: Sequence[str]) -> Surrogate | None:
    """The model that the history teaches; None while too little is known.

    Trials in flight are known by their configuration alone: each counts as measured with just
    what is expected of it, so that the next proposal goes elsewhere.

    Args:
        problem: What is tuned.
        history: The trials so far.
        names: The moving parameters.
    """
    numbers = teaching(history)
    if len(numbers) < FIRST and not problem.prior.jobs:
        return None
    layout = layout_of(problem.space, names)
    learned = learned_of(problem, history, layout, numbers)
    worth = dict.fromkeys(numbers, -np.inf) | {
        trial.number: value
        for value, trial in comparable(problem, history, (history[n] for n in numbers))
    }
    few = chosen_few(numbers, worth, _MOST)
    lessons = lessons_of(problem, history, baseline_of(history, problem), names, few)
    prior = prior_rows(
        problem.prior,
        names,
        levels=lessons.levels(),
        logarithmic=lessons.logarithmic,
        most=min(MOST_PRIOR, _MOST - len(few)),
    )
    surrogate = _fitted(layout, lessons, prior, learned)
    flying = [t for t in history.unfinished() if t.purpose is Purpose.CANDIDATE]
    if flying:
        points = coordinates_of(problem, flying, names)
        surrogate = _fitted(layout, _believed(surrogate, points), prior, learned)
    return surrogate


def surrogate_once(
    problem: Problem,
    history: History,
    names: Sequence[str],
    numbers: list[int],
    *,
    with_baseline: bool = True,
) -> Surrogate | None:
    """A model learned in one go, of whatever trials; None while they are too few.

    What a search learns step by step is not taken over: it would depend on who searched. Nor is
    what earlier jobs measured.

    Args:
        problem: What is tuned.
        history: The trials so far.
        names: The parameters that tell them apart.
        numbers: Of the trials that teach, in ascending order.
        with_baseline: Whether the baseline is one of the space's configurations, and so teaches.
    """
    if len(numbers) < FIRST:
        return None
    layout, baseline = layout_of(problem.space, names), baseline_of(history, problem)
    learned = learned_at_once(problem, history, layout, numbers)
    few = chosen_few(numbers, measured_worth(problem, history, baseline, numbers), _MOST)
    lessons = lessons_of(problem, history, baseline, names, few)
    if not with_baseline:
        unknown = {name: np.append(np.nan, known[1:]) for name, known in lessons.targets.items()}
        lessons = replace(lessons, targets=unknown)
    prior = prior_rows(
        NO_PRIOR, names, levels=lessons.levels(), logarithmic=lessons.logarithmic, most=0
    )
    return _fitted(layout, lessons, prior, learned)


def _believed(surrogate: Surrogate, points: Floats) -> Lessons:
    """The lessons with trials in flight as if each had shown just what is expected of it."""
    expected = {name: values for name, (values, _) in surrogate.predict(points).items()}
    lessons = surrogate.lessons
    return replace(
        lessons,
        points=np.vstack([lessons.points, points]),
        targets={
            name: np.concatenate([values, expected[name]])
            for name, values in lessons.targets.items()
        },
    )


def _fitted(
    layout: Layout, lessons: Lessons, prior: PriorRows, learned: Mapping[str, Learned]
) -> Surrogate:
    settings = layout.settings(np.vstack([lessons.points, prior.points]))
    names = list(lessons.targets)
    own = {name: learned[name].shares.none_below(_LEAST_SHARE) for name in names}
    among = covariances(likeness(settings, settings), [own[name] for name in names])
    tasks_of = np.concatenate([np.zeros(len(lessons.points), dtype=np.int64), prior.tasks])
    processes = {}
    for name, covariance in zip(names, among, strict=True):
        values = np.concatenate([lessons.targets[name], prior.targets[name]])
        tasks = Tasks(tasks_of, learned[name].agreement)
        known = np.isfinite(values) & tasks.told()
        tasks, within = tasks.at(known), covariance[np.ix_(known, known)]
        if tasks.of.any():
            within = within * tasks.among()
            process = fit_process(within, values[known], own[name], tasks.noise())
            processes[name] = (process, Known(known, tasks.with_present()))
        else:
            process = fit_process(within, values[known], own[name])
            processes[name] = (process, Known(known, None))
    return Surrogate(layout, lessons, prior, settings, learned, processes)
