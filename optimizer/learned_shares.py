"""How much each parameter matters to each metric, and how far earlier jobs agree: learned seldom.

Both are learned anew when there are a quarter more trials, from the first so many, beginning with
what was learned the time before. So whoever resumes a job comes to the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from models.additive_kernel import Floats, Shares, Singles, covariance, likeness
from models.additive_process import standardised
from models.additive_shares import first_guess, learn_shares
from models.task_agreement import Tasks, first_agreement, learn_agreement
from optimizer.baseline import summarise
from optimizer.coordinates import Layout
from optimizer.history import History
from optimizer.metric_lessons import chosen_few, lessons_of, measured_worth
from optimizer.prior import NO_PRIOR
from optimizer.prior_lessons import PriorRows, prior_rows
from optimizer.problem import Problem
from optimizer.trial import Purpose

FIRST, _FIRST_WITH_PRIOR = 8, 4
_GROWTH = 1.25
_STEPS_AGAIN = 6  # from those of the time before
_MOST = 200  # rows: beyond them learning would take too long
MOST_PRIOR = 120  # rows
_Stamp = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned of one metric.

    Attributes:
        shares: Of its variance, over all parameters.
        agreement: Shape ``(1 + n_earlier_jobs,)``; see ``models.task_agreement.Tasks``.
    """

    shares: Shares
    agreement: Floats


_learned: WeakKeyDictionary[History, dict[tuple[int, int], tuple[_Stamp, Mapping[str, Learned]]]]
_learned = WeakKeyDictionary()


def learned_of(
    problem: Problem, history: History, layout: Layout, numbers: list[int]
) -> Mapping[str, Learned]:
    """What the first so many trials teach of each metric, and the earlier jobs with them.

    Args:
        problem: What is tuned.
        history: The trials so far.
        layout: Of the moving parameters.
        numbers: Of the trials that teach.
    """
    kept = _learned.setdefault(history, {})
    learned: Mapping[str, Learned] = {}
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
    problem: Problem, history: History, layout: Layout, numbers: list[int]
) -> Mapping[str, Learned]:
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
    layout: Layout,
    numbers: list[int],
    before: Mapping[str, Learned],
) -> Mapping[str, Learned]:
    points, targets, rows = _rows(problem, history, layout, numbers)
    tasks_of = np.concatenate([np.zeros(len(points), dtype=np.int64), rows.tasks])
    settings = layout.settings(np.vstack([points, rows.points]))
    alike = likeness(settings, settings)
    found = {}
    for name, own in targets.items():
        values = np.concatenate([own, rows.targets[name]])
        start = before.get(name)
        agreement = first_agreement(len(problem.prior.jobs)) if start is None else start.agreement
        tasks = Tasks(tasks_of, agreement)
        known = np.isfinite(values)
        shares = _shares(alike, values, tasks, known & tasks.told(), start)
        if tasks.of[known].any():
            among, (scaled, _, _) = _within(alike, known), standardised(values[known])
            level = covariance(among, shares)
            agreement = learn_agreement(level, shares.noise, scaled, tasks.at(known))
        found[name] = Learned(shares, agreement)
    return found


def _shares(
    alike: Singles, values: Floats, tasks: Tasks, told: NDArray[np.bool_], start: Learned | None
) -> Shares:
    """The shares that the rows tell which tell anything."""
    if not told.any():
        return first_guess(len(alike)) if start is None else start.shares
    scaled, _, _ = standardised(values[told])
    several = tasks.at(told) if tasks.of[told].any() else None
    if start is None:
        return learn_shares(_within(alike, told), scaled, tasks=several)
    return learn_shares(
        _within(alike, told), scaled, start.shares, steps=_STEPS_AGAIN, tasks=several
    )


def _within(alike: Singles, rows: NDArray[np.bool_]) -> Singles:
    return alike if rows.all() else alike[:, rows][:, :, rows]


def _rows(
    problem: Problem, history: History, layout: Layout, numbers: list[int]
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
    lessons = lessons_of(problem, history, baseline, names, few)
    rows = prior_rows(
        problem.prior,
        names,
        levels=lessons.levels(),
        logarithmic=lessons.logarithmic,
        most=min(MOST_PRIOR, _MOST - len(few)),
    )
    return lessons.points, lessons.targets, rows
