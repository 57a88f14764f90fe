"""What models learn from: points of the latent cube and metrics, of ended trials and earlier jobs.

A point has a coordinate for each parameter, which the additive process compares as a level and a
position (``CubeLayout``).
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models import Floats
from models.gaussian_process.effects import Grid
from models.gaussian_process.process import KernelInputs
from optimizer.evaluation.baseline import Baseline
from optimizer.evaluation.evaluation import Evaluation
from optimizer.trials.problem import Prior, PriorJob, PriorTrial, Problem
from optimizer.trials.trial import History, Purpose, Trial
from sampler.bench.outcome import TrialState
from sampler.space.latent import SPECIAL_SHARE, encode
from sampler.space.space import Configuration, Space

_STEPS = 16  # of a range: what the kernel makes of one is smooth


@dataclass(frozen=True)
class CubeLayout:
    """What the coordinates of a point stand for."""

    names: tuple[str, ...]  # the moving parameters, in the order of the columns
    # For each, how many categories (0: a range), and special values in its lowest part, it has.
    kinds: tuple[tuple[int, int], ...]

    def settings(self, points: Floats) -> KernelInputs:
        """The settings at points of [0, 1), shape ``(n, n_names)``."""
        level = np.zeros(points.shape, dtype=np.int64)
        position = points.copy()
        for column, (categories, special) in enumerate(self.kinds):
            u = points[:, column]
            if categories:
                level[:, column] = np.minimum((u * categories).astype(np.int64), categories - 1)
                position[:, column] = 0.0
            elif special:
                is_special = u < SPECIAL_SHARE
                which = np.minimum((u / SPECIAL_SHARE * special).astype(np.int64), special - 1)
                level[:, column] = np.where(is_special, 1 + which, 0)
                inside = (u - SPECIAL_SHARE) / (1.0 - SPECIAL_SHARE)
                position[:, column] = np.where(is_special, 0.0, inside)
        return KernelInputs(level, position)

    def grids(self) -> tuple[Grid, ...]:
        """Settings of each parameter that stand for all, as often as draws take them."""
        return tuple(_grid(categories, special) for categories, special in self.kinds)


def _grid(categories: int, special: int) -> Grid:
    if categories:
        level, position = np.arange(categories), np.zeros(categories)
        weight = np.full(categories, 1.0 / categories)
    else:
        inside = SPECIAL_SHARE if special else 0.0
        level = np.concatenate([1 + np.arange(special), np.zeros(_STEPS, dtype=np.int64)])
        position = np.concatenate([np.zeros(special), (np.arange(_STEPS) + 0.5) / _STEPS])
        weight = np.concatenate(
            [np.full(special, inside / max(special, 1)), np.full(_STEPS, (1 - inside) / _STEPS)]
        )
    return Grid(KernelInputs(level.astype(np.int64)[:, None], position[:, None]), weight)


def cube_layout(space: Space, names: Sequence[str]) -> CubeLayout:
    """The layout of points over some of a space's parameters."""
    parameters = [space.by_name[name] for name in names]
    kinds = ((0, len(p.special)) if p.is_numeric else (len(p.values), 0) for p in parameters)
    return CubeLayout(tuple(names), tuple(kinds))


TEACHING = (TrialState.DONE, TrialState.CENSORED, TrialState.FAILED, TrialState.TIMED_OUT)


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What is known of some configurations; the first is the baseline."""

    points: Floats  # shape ``(n, n_names)``, latent coordinates
    # Metric to shape ``(n,)``: logarithms where ``logarithmic``; NaN where unknown.
    targets: Mapping[str, Floats]
    logarithmic: frozenset[str]  # the metrics that are above 0 wherever they were measured
    # The trials' numbers, a row each after the first; rows of trials in flight may come below.
    numbers: tuple[int, ...]

    def earlier(self, prior: Prior, names: Sequence[str], *, most: int) -> PriorRows:
        """The rows of earlier jobs that go below these, at most so many; see ``prior_rows``."""
        levels = {
            name: float(np.exp(values[0]) if name in self.logarithmic else values[0])
            for name, values in self.targets.items()
        }
        return prior_rows(prior, names, levels, self.logarithmic, most=most)

    def no_earlier(self) -> PriorRows:
        """No rows of earlier jobs."""
        nothing = dict.fromkeys(self.targets, np.empty(0))
        none = np.empty(0, dtype=np.int64)
        return PriorRows(np.empty((0, self.points.shape[1])), nothing, none)


def teaching(history: History) -> list[int]:
    """The numbers of the new configurations that have ended, in whatever way, and teach."""
    return [n for n in history.numbers(Purpose.CANDIDATE) if history[n].state in TEACHING]


def chosen_few(numbers: Sequence[int], fitness: Mapping[int, float], most: int) -> list[int]:
    """At most so many of the trials: the best for one half, and others evenly over the job."""
    if len(numbers) <= most:
        return list(numbers)
    best = set(sorted(numbers, key=lambda n: (-fitness[n], n))[: most // 2])
    rest = [n for n in numbers if n not in best]
    spread = np.linspace(0, len(rest) - 1, most - len(best)).astype(int)
    return sorted([*best, *(rest[place] for place in spread)])


def training_data_of(
    problem: Problem,
    history: History,
    baseline: Baseline,
    names: Sequence[str],
    numbers: Sequence[int],
) -> TrainingData:
    """What the baseline's medians, in the first row, and some ended trials teach.

    Clocks are corrected by the baseline. A trial that was cut off teaches its bounds. One that
    failed teaches that such configurations are bad: it counts as the slowest that was seen.
    """
    trials = [history[number] for number in numbers]
    start = latent_points(problem, [problem.space.start], names)
    points = np.vstack([start, coordinates_of(problem, trials, names)])
    rows = [baseline.metrics, *map(baseline.corrected_trial, trials)]
    values = {}
    for name in problem.objective.metrics:
        known = np.array([row.get(name, math.nan) for row in rows], dtype=np.float64)
        values[name] = np.where(np.isfinite(known), known, math.nan)
    logarithmic = frozenset(name for name, known in values.items() if np.nanmin(known) > 0)
    for name in logarithmic:
        values[name] = np.log(values[name])
    failed = np.array([False] + [trial.state in TEACHING[2:] for trial in trials])
    for term in problem.objective.terms:
        if failed.any() and term.metric in ("time", "rate"):
            known = values[term.metric]
            worst = np.nanmax(known) if term.direction == "min" else np.nanmin(known)
            values[term.metric] = np.where(failed & np.isnan(known), worst, known)
    return TrainingData(points, values, logarithmic, tuple(numbers))


def latent_points(
    problem: Problem, configurations: Sequence[Configuration], names: Sequence[str]
) -> Floats:
    """Where configurations are in the latent cube, shape ``(n_configurations, n_names)``."""
    points = (encode(problem.space, each, memory=problem.memory) for each in configurations)
    return np.array([[point[name] for name in names] for point in points])


def coordinates_of(problem: Problem, trials: Sequence[Trial], names: Sequence[str]) -> Floats:
    """Where trials are in the latent cube, shape ``(n_trials, n_names)``."""
    found = np.empty((len(trials), len(names)))
    for row, trial in enumerate(trials):
        point = trial.point
        if point is None or not point.keys() >= set(names):
            point = encode(problem.space, trial.configuration, memory=problem.memory)
        found[row] = [point[name] for name in names]
    return found


@dataclass(frozen=True, eq=False)
class PriorRows:
    """Rows to go below those of the present job."""

    points: Floats  # shape ``(n, n_names)``, latent coordinates
    # Metric to shape ``(n,)``: logarithms on the present job's level; NaN where unknown.
    targets: Mapping[str, Floats]
    tasks: NDArray[np.int64]  # shape ``(n,)``: which earlier job, from 1


def prior_rows(
    prior: Prior,
    names: Sequence[str],
    levels: Mapping[str, float],
    logarithmic: Collection[str],
    *,
    most: int,
) -> PriorRows:
    """The rows of all earlier jobs, as many of each as fit, at most so many in all.

    ``levels`` are the wanted metrics at the present baseline. Of those that the present job does
    not know as logarithms earlier jobs say nothing.
    """
    each = max(0, most) // max(1, len(prior.jobs))
    taken = [(task, t) for task, job in enumerate(prior.jobs, 1) for t in job.trials[:each]]
    points = np.array([[trial.point[name] for name in names] for _, trial in taken])
    targets = {
        metric: np.array([
            math.log(level) + trial.ratios.get(metric, math.nan)
            if metric in logarithmic
            else math.nan
            for _, trial in taken
        ])
        for metric, level in levels.items()
    }  # fmt: skip
    tasks = np.array([task for task, _ in taken], dtype=np.int64)
    return PriorRows(points.reshape(len(taken), len(names)), targets, tasks)


MOST = 120  # trials of all earlier jobs together


def prior_job(
    problem: Problem, earlier: Problem, history: History, *, job: int, most: int = MOST
) -> PriorJob:
    """What an earlier job measured of what the present one asks for: at most so many trials.

    The baseline comes first, then in turn one of the best and one of the others, so that any first
    few of them tell both of good places and of all others. A trial's fitness is by the present
    objective. What the present space does not move is left out, and what the earlier one did not
    is as it was there. Trials that this job could not propose, by their memory or a choice that it
    lacks, are left out.

    Raises:
        ValueError: No run of its baseline ended well.
    """
    baseline = Evaluation(earlier, history).baseline
    metrics = [name for name in problem.objective.metrics if baseline.metrics.get(name, 0) > 0]

    def ratios(trial: Trial) -> Mapping[str, float]:
        values = baseline.corrected_trial(trial)
        return {
            name: math.log(values[name] / baseline.metrics[name])
            for name in metrics
            if values.get(name, 0) > 0
        }

    def here(configuration: Configuration) -> Configuration:
        values = earlier.space.complete(configuration)
        return {name: values[name] for name in problem.space.names if name in values}

    def taken(configuration: Configuration, found: Mapping[str, float]) -> PriorTrial:
        return PriorTrial(encode(problem.space, here(configuration), memory=problem.memory), found)

    # Its baseline is the earlier job's, which may have been confirmed at another load.
    judged = replace(earlier, objective=problem.objective)
    ended = Evaluation(judged, history).comparable(history.of(Purpose.CANDIDATE))
    known = [pair for pair in ended if _possible(problem, here(pair[1].features))]
    kept = [trial for _, trial in _in_turn(known, seed=job)]
    shown = [(trial, found) for trial in kept if (found := ratios(trial))]
    start = taken(earlier.space.default_configuration(), dict.fromkeys(metrics, 0.0))
    first = [taken(trial.features, found) for trial, found in shown[: most - 1]]
    return PriorJob(job, earlier.workload.name, (start, *first), len(shown))


def _possible(problem: Problem, values: Configuration) -> bool:
    """Whether the present job could propose it, but for the ends of ranges."""
    chosen = all(
        parameter.is_numeric or values.get(parameter.name) in (None, *parameter.values)
        for parameter in problem.space.parameters
    )
    return chosen and problem.affords({**problem.space.start, **values})


def _in_turn(known: list[tuple[float, Trial]], *, seed: int) -> list[tuple[float, Trial]]:
    best = sorted(known, key=lambda pair: (-pair[0], pair[1].number))
    others = random.Random(seed).sample(known, len(known))
    both = [pair for two in zip(best, others, strict=True) for pair in two]
    return list({trial.number: (value, trial) for value, trial in both}.values())
