"""The model of a job: one additive process for each metric, learned from all trials so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from models.additive_kernel import Settings, Shares, covariances, likeness
from models.additive_process import AdditiveProcess, fit_process, standardised
from models.additive_shares import learn_shares
from optimizer.baseline import Baseline, summarise
from optimizer.coordinates import Floats, Layout, layout_of
from optimizer.history import History
from optimizer.knowledge import baseline_of, comparable
from optimizer.metric_lessons import Lessons, chosen_few, coordinates_of, lessons_of, teaching
from optimizer.problem import Problem
from optimizer.trial import Purpose

_FIRST, _GROWTH = 8, 1.25  # shares are learned anew when there are a quarter more trials
_STEPS_AGAIN = 6  # from those of the time before
_MOST, _MOST_FOR_SHARES = 300, 200  # trials: beyond them a proposal would take too long
_NOTHING = 1e-4  # a smaller part of all shares is none
_DOUBT = 0.1  # of an even share: what a parameter of which nothing was seen may still do
_Stamp = tuple[tuple[int, int], ...]
_shares: WeakKeyDictionary[History, dict[tuple[int, int], tuple[_Stamp, Mapping[str, Shares]]]] = (
    WeakKeyDictionary()
)


@dataclass(frozen=True, eq=False)
class Surrogate:
    """What is expected of configurations that were not measured.

    Attributes:
        layout: What the coordinates stand for.
        lessons: What it was learned from.
        columns: The parameters that matter to some metric; only these are looked at.
        settings: The known settings of these.
        shares: Metric to the shares of its variance, over all parameters.
        processes: A model for each metric, and which rows of the lessons it knows.
    """

    layout: Layout
    lessons: Lessons
    columns: NDArray[np.intp]
    settings: Settings
    shares: Mapping[str, Shares]
    processes: Mapping[str, tuple[AdditiveProcess, NDArray[np.bool_]]]

    def predict(self, points: Floats) -> Mapping[str, tuple[Floats, Floats]]:
        """Expectation and standard deviation of each metric, on the scale of the lessons.

        Args:
            points: Shape ``(m, n_names)``.

        Returns:
            Metric to two arrays of shape ``(m,)``.
        """
        alike = likeness(self.layout.settings(points).of(self.columns), self.settings)
        crosses = covariances(alike, [process.shares for process, _ in self.processes.values()])
        return {
            name: process.predict(cross if known.all() else cross[:, known])
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
        settings = self.layout.settings(points).of(self.columns)
        shares = [process.shares for process, _ in self.processes.values()]
        crosses = covariances(likeness(settings, self.settings), shares)
        amongs = covariances(likeness(settings, settings), shares)
        return {
            name: process.predict_together(cross[:, known], among)
            for (name, (process, known)), cross, among in zip(
                self.processes.items(), crosses, amongs, strict=True
            )
        }

    def matters(self) -> Floats:
        """How much each parameter matters to the metrics together, shape ``(n_names,)``."""
        shares = [each.parameters / each.parameters.sum() for each in self.shares.values()]
        return np.asarray(sum(shares) / len(shares))


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
    if len(numbers) < _FIRST:
        return None
    layout = layout_of(problem.space, names)
    shares = _shares_of(problem, history, layout, numbers)
    worth = dict.fromkeys(numbers, -np.inf) | {
        trial.number: value
        for value, trial in comparable(problem, history, (history[n] for n in numbers))
    }
    few = chosen_few(numbers, worth, _MOST)
    lessons = lessons_of(problem, history, baseline_of(history), names, few)
    surrogate = _fitted(layout, lessons, shares)
    flying = [t for t in history.unfinished() if t.purpose is Purpose.CANDIDATE]
    if flying:
        points = coordinates_of(problem, flying, names)
        surrogate = _fitted(layout, _believed(surrogate, points), shares)
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

    What a search learns step by step is not taken over: it would depend on who searched. And no
    parameter is held for idle just because nothing was seen of it: each keeps a small share.

    Args:
        problem: What is tuned.
        history: The trials so far.
        names: The parameters that tell them apart.
        numbers: Of the trials that teach, in ascending order.
        with_baseline: Whether the baseline is one of the space's configurations, and so teaches.
    """
    if len(numbers) < _FIRST:
        return None
    layout = layout_of(problem.space, names)
    baseline = baseline_of(history)
    worth = _worth(problem, history, baseline, numbers)
    shares = {
        name: replace(each, parameters=np.maximum(each.parameters, _DOUBT / len(names)))
        for name, each in _learned(problem, history, layout, numbers, {}).items()
    }
    few = chosen_few(numbers, worth, _MOST)
    lessons = lessons_of(problem, history, baseline, names, few)
    if not with_baseline:
        unknown = {name: np.append(np.nan, known[1:]) for name, known in lessons.targets.items()}
        lessons = replace(lessons, targets=unknown)
    return _fitted(layout, lessons, shares)


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


def _fitted(layout: Layout, lessons: Lessons, shares: Mapping[str, Shares]) -> Surrogate:
    matter = [each.parameters > _NOTHING * each.parameters.sum() for each in shares.values()]
    columns = np.flatnonzero(np.any(matter, axis=0))
    settings = layout.settings(lessons.points).of(columns)
    names, own = list(lessons.targets), {name: shares[name].of(columns) for name in shares}
    among = covariances(likeness(settings, settings), [own[name] for name in names])
    processes = {}
    for name, covariance in zip(names, among, strict=True):
        values = lessons.targets[name]
        known = np.isfinite(values)
        within = covariance[np.ix_(known, known)]
        processes[name] = (fit_process(within, values[known], own[name]), known)
    return Surrogate(layout, lessons, columns, settings, shares, processes)


def _shares_of(
    problem: Problem, history: History, layout: Layout, numbers: list[int]
) -> Mapping[str, Shares]:
    """The shares that the first so many trials teach; so many grow by a quarter each time.

    They are learned from those of the time before, down to the first: whoever resumes a job
    comes to the same ones.
    """
    kept = _shares.setdefault(history, {})
    shares: Mapping[str, Shares] = {}
    for size in _sizes(len(numbers)):
        first = numbers[:size]
        stamp = tuple((number, history[number].attempt) for number in first)
        found = kept.get((id(problem), size))
        if found is None or found[0] != stamp:
            found = (stamp, _learned(problem, history, layout, first, shares))
            kept[id(problem), size] = found
        shares = found[1]
    return shares


def _worth(
    problem: Problem, history: History, baseline: Baseline, numbers: Sequence[int]
) -> dict[int, float]:
    return {
        n: problem.objective.rank_value(
            baseline.corrected(history[n].metrics, history[n].started_at, history[n].host),
            baseline.metrics,
        )
        for n in numbers
    }


def _sizes(count: int) -> list[int]:
    sizes, size = [], _FIRST
    while size <= count:
        sizes.append(size)
        size = int(size * _GROWTH) + 1
    return sizes


def _learned(
    problem: Problem,
    history: History,
    layout: Layout,
    numbers: list[int],
    before: Mapping[str, Shares],
) -> Mapping[str, Shares]:
    runs = [trial for trial in history.of(Purpose.BASELINE) if trial.done]
    earlier = [trial for trial in runs if trial.number <= numbers[-1]]
    baseline = summarise(earlier or runs)
    few = chosen_few(numbers, _worth(problem, history, baseline, numbers), _MOST_FOR_SHARES)
    lessons = lessons_of(problem, history, baseline, layout.names, few)
    settings = layout.settings(lessons.points)
    alike = likeness(settings, settings)
    found = {}
    for name, values in lessons.targets.items():
        known = np.isfinite(values)
        among = alike if known.all() else alike[:, known][:, :, known]
        scaled, _, _ = standardised(values[known])
        start = before.get(name)
        steps = {"steps": _STEPS_AGAIN} if start is not None else {}
        found[name] = learn_shares(among, scaled, start, **steps)
    return found
