"""The model of a job: additive processes for each metric, learned from all trials so far.

Acquisition, ranking, simplification and explanation are functions of what it predicts and draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from models import Floats
from models.gaussian_process.effects import left_out_residuals
from models.gaussian_process.process import (
    AdditiveProcess,
    KernelInputs,
    Tasks,
    VarianceComponents,
    covariances,
    first_agreement,
    fit_process,
    kernel_matrices,
    standardised,
    symmetric_root,
)
from models.gaussian_process.variance_components import (
    LearnedComponents,
    drawn_components,
    learn_alone,
    learn_components,
    learn_jointly,
)
from optimizer.evaluation.evaluation import Evaluation, rank_value
from optimizer.objective.objective import Objective
from optimizer.surrogate.training_data import (
    CubeLayout,
    PriorRows,
    TrainingData,
    chosen_few,
    coordinates_of,
    cube_layout,
    prior_rows,
    teaching,
    training_data_of,
)
from optimizer.trials.trial import MOST_IN_FLIGHT, Purpose
from sampler.workload.metric_table import TIME_BASED

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
        fitness = {n: rank_value(problem, baseline, history[n]) for n in numbers}
        few = chosen_few(numbers, fitness, _MOST_LEARNED)
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
class MetricModel:
    """What is known of one metric: a process, or several that are equally likely."""

    members: tuple[AdditiveProcess, ...]
    known: Known

    @property
    def process(self) -> AdditiveProcess:
        """The first of its processes."""
        return self.members[0]

    @property
    def components(self) -> list[VarianceComponents]:
        """The variance components of each member."""
        return [each.components for each in self.members]

    def expected(self, crosses: Floats) -> Floats:
        """The mean over all members; ``crosses``, ``(n_members, m, n)``, over settings alone."""
        pairs = zip(self.members, crosses, strict=True)
        means = [each.expected(self.known.of(x)) for each, x in pairs]
        return np.asarray(np.mean(means, axis=0))


@dataclass(frozen=True, eq=False)
class JobModel:
    """The posterior of a job's metrics, given its trials and what earlier jobs add."""

    layout: CubeLayout  # what the coordinates stand for
    # data, prior: what it was learned from: this job's trials, and what earlier jobs added.
    data: TrainingData
    prior: PriorRows
    settings: KernelInputs  # the known settings
    metrics: Mapping[str, MetricModel]
    rough: float  # the part of each effect that may come in steps; see ``kernel_matrices``
    # Shape ``(n_metrics, n_factors)``: how the errors of the metrics go together, as sums of
    # independent ones; each row has length 1.
    errors: Floats

    @classmethod
    def fit(
        cls,
        layout: CubeLayout,
        data: TrainingData,
        prior: PriorRows,
        learned: Mapping[str, Sequence[LearnedComponents]],
        *,
        errors: Floats,
        least: float = 0.0,
        rough: float = 0.0,
    ) -> JobModel:
        """Fits a process for each of the variance components that were learned of each metric.

        ``least``: the share that every parameter has of all of them, whatever was learned.
        """
        settings = layout.settings(np.vstack([data.points, prior.points]))
        tasks_of = np.concatenate([np.zeros(len(data.points), dtype=np.int64), prior.tasks])
        kernels = kernel_matrices(settings, settings, rough=rough)
        names = list(data.targets)
        values = {n: np.concatenate([data.targets[n], prior.targets[n]]) for n in names}
        tasks = {n: Tasks(tasks_of, learned[n][0].agreement) for n in names}
        known = {n: np.isfinite(values[n]) & tasks[n].told() for n in names}
        members: dict[str, list[AdditiveProcess]] = {name: [] for name in names}
        for one_of_each in zip(*(learned[name] for name in names), strict=True):
            own = [each.components.none_below(least) for each in one_of_each]
            among = covariances(kernels, own)
            for name, components, covariance in zip(names, own, among, strict=True):
                rows, noise = known[name], None
                within, there = covariance[np.ix_(rows, rows)], tasks[name].at(rows)
                if there.of.any():
                    within, noise = within * there.among(), there.noise()
                process = fit_process(within, values[name][rows], components, noise)
                members[name].append(process)
        metrics = {}
        for name in names:
            there = tasks[name].at(known[name])
            agreement = there.with_present() if there.of.any() else None
            metrics[name] = MetricModel(tuple(members[name]), Known(known[name], agreement))
        return cls(layout, data, prior, settings, metrics, rough, errors)

    def predict(self, points: Floats) -> Mapping[str, tuple[Floats, Floats]]:
        """Expectation and standard deviation of each metric, on the scale of the training data.

        Of points of shape ``(m, n_names)`` two arrays of shape ``(m,)`` a metric; of a model
        whose metrics have one process each.
        """
        kernels = kernel_matrices(self.layout.settings(points), self.settings, rough=self.rough)
        models = self.metrics.values()
        crosses = covariances(kernels, [each.process.components for each in models])
        found = zip(self.metrics, models, crosses, strict=True)
        return {name: each.process.predict(each.known.of(x)) for name, each, x in found}

    def expected(self, points: Floats) -> dict[str, Floats]:
        """The mean of each metric over all of its processes at points, shape ``(m,)`` each."""
        kernels = kernel_matrices(self.layout.settings(points), self.settings, rough=self.rough)
        return {
            name: each.expected(covariances(kernels, each.components))
            for name, each in self.metrics.items()
        }

    def draw(self, points: Floats, draws: int) -> dict[str, Floats]:
        """The expectation and equally likely values of each metric, shape ``(1 + draws, m)``.

        On the scale of the training data. Values of one row belong together, of different points
        and of different metrics: how two configurations differ is known far better than how good
        either is. Each of a metric's processes has as many of the draws.
        """
        asked = self.layout.settings(points)
        crosses = kernel_matrices(asked, self.settings, rough=self.rough)
        amongs = kernel_matrices(asked, asked, rough=self.rough)
        members = len(next(iter(self.metrics.values())).members)
        shape = (members, self.errors.shape[1], draws // members, len(points))
        normal = np.random.default_rng(0).standard_normal(shape)
        normal = np.einsum("ab,mbdc->madc", self.errors, normal)
        found = {}
        for place, (name, metric) in enumerate(self.metrics.items()):
            cross, among = (covariances(each, metric.components) for each in (crosses, amongs))
            rows = [metric.expected(cross)[None]]
            for number, each in enumerate(metric.members):
                expected, covariance = each.predict_together(
                    metric.known.of(cross[number]), among[number]
                )
                # The symmetric root: each configuration keeps its normals, whatever the metric.
                rows.append(expected + normal[number, place] @ symmetric_root(covariance))
            found[name] = np.vstack(rows)
        return found

    def known_settings(self, metric: str) -> KernelInputs:
        """The settings that a metric's model knows."""
        rows = self.metrics[metric].known.rows
        return KernelInputs(self.settings.level[rows], self.settings.position[rows])

    def matters(self) -> Floats:
        """How much each parameter matters to the metrics together, shape ``(n_names,)``."""
        every = [each.process.components.parameters for each in self.metrics.values()]
        return np.asarray(sum(each / each.sum() for each in every) / len(every))


def time_metrics_together(objective: Objective) -> Floats:
    """Errors by which time-based metrics are all too good or all too bad, the others independent.

    Where a run is slower than expected its rate is lower, so the errors of a fitness do not
    cancel. The shape is that of ``JobModel.errors``.
    """
    names = objective.metrics
    raised = {term.metric for term in objective.terms if term.direction == "max"}
    errors = np.zeros((len(names), 1 + len(names)))
    for row, name in enumerate(names):
        errors[row, 0 if name in TIME_BASED else 1 + row] = 1.0 if name in raised else -1.0
    return errors


def surrogate_of(evaluation: Evaluation, names: Sequence[str]) -> JobModel | None:
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
    fitness = dict.fromkeys(numbers, -np.inf) | {
        trial.number: value for value, trial in evaluation.comparable(history[n] for n in numbers)
    }
    few = chosen_few(numbers, fitness, _MOST)
    data = training_data_of(problem, history, evaluation.baseline, names, few)
    prior = data.earlier(problem.prior, names, most=min(MOST_PRIOR, _MOST - len(few)))
    each_once = {name: [each] for name, each in learned.items()}
    fit = partial(
        JobModel.fit, errors=time_metrics_together(problem.objective), least=_LEAST_SHARE
    )
    model = fit(layout, data, prior, each_once)
    flying = [t for t in history.unfinished() if t.purpose is Purpose.CANDIDATE][-MOST_IN_FLIGHT:]
    if flying:
        points = coordinates_of(problem, flying, names)
        believed = model.predict(points)
        targets = {n: np.append(known, believed[n][0]) for n, known in data.targets.items()}
        data = replace(data, points=np.vstack([data.points, points]), targets=targets)
        model = fit(layout, data, prior, each_once)
    return model


def job_surrogate(evaluation: Evaluation, names: Sequence[str]) -> JobModel | None:
    """The model of a whole job, by which parameters are ranked and drawn; None of too few trials.

    Learned in one go, so that it depends on nothing but the trials: neither on who searched, nor
    on what earlier jobs measured. The baseline is the one that was known when the newest of them
    was proposed: the runs of the confirmation change nothing.
    """
    problem, history = evaluation.problem, evaluation.history
    numbers = teaching(history)
    if len(numbers) < FIRST or not names:
        return None

    def learn() -> JobModel:
        spread = np.linspace(0, len(numbers) - 1, min(len(numbers), _MOST_EVENLY)).astype(int)
        rows = [numbers[place] for place in spread]
        layout, baseline = cube_layout(problem.space, names), evaluation.baseline_at(numbers[-1])
        data = training_data_of(problem, history, baseline, names, rows)
        settings = layout.settings(data.points)
        kernels = kernel_matrices(settings, settings)
        learned = {name: [learn_alone(kernels, values)] for name, values in data.targets.items()}
        errors = time_metrics_together(problem.objective)
        return JobModel.fit(layout, data, data.no_earlier(), learned, errors=errors)

    trials = tuple((number, history[number].attempt) for number in numbers)
    return evaluation.once(("surrogate", tuple(names)), trials, learn)


MEMBERS = 24  # processes for each metric
_ROUGH = 0.5  # of each parameter's variance: effects of options often come in steps
_MOST_ROWS = 120  # of the walk over shares, which takes a Cholesky factor at each of its steps
_MOST_RESIDUAL = 3.0  # standard deviations; one run that went wrong tells no correlation
_LEAN = 5.0  # as many rows speak for unrelated metrics


def ensemble_of(layout: CubeLayout, data: TrainingData, *, seed: int) -> JobModel:
    """A model with equally likely processes for each metric, for intervals that hold the truth.

    A single process takes the shares of the variance as known, the metrics as unrelated and
    effects as smooth: its intervals held the truth in as few as three of four cases, see
    docs/results/explanation_coverage.md. Here the shares are drawn from their posterior, the
    metrics err together, and a part of each effect may come in steps.
    """
    learned = {}
    for place, (name, target) in enumerate(data.targets.items()):
        rows = np.flatnonzero(np.isfinite(target))
        known = layout.settings(data.points[rows])
        kernels = kernel_matrices(known, known, rough=_ROUGH)
        few = np.unique(np.linspace(0, len(rows) - 1, _MOST_ROWS).astype(int))
        scaled, _, _ = standardised(target[rows])
        drawn = drawn_components(
            kernels[:, few[:, None], few],
            scaled[few],
            learn_components(kernel_matrices(known, known), scaled),
            draws=MEMBERS,
            seed=(seed, place),
        )
        learned[name] = [LearnedComponents(each, first_agreement(0), each, None) for each in drawn]
    errors = np.eye(len(learned))
    model = JobModel.fit(layout, data, data.no_earlier(), learned, errors=errors, rough=_ROUGH)
    residuals = np.full((len(learned), len(data.points)), np.nan)
    for row, each in zip(residuals, model.metrics.values(), strict=True):
        row[each.known.rows] = np.mean([left_out_residuals(p) for p in each.members], axis=0)
    return replace(model, errors=symmetric_root(_correlation(residuals)))


def _correlation(residuals: Floats) -> Floats:
    """Of the residuals, shape ``(n_metrics, n_rows)``; leans to none where rows are few."""
    whole = residuals[:, np.isfinite(residuals).all(axis=0)]
    whole = np.clip(whole, -_MOST_RESIDUAL, _MOST_RESIDUAL)
    size = np.sqrt((whole**2).mean(axis=1)) if whole.shape[1] else np.zeros(len(whole))
    scaled = whole / np.where(size > 0, size, 1.0)[:, None]
    found = (scaled @ scaled.T + _LEAN * np.eye(len(whole))) / (whole.shape[1] + _LEAN)
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)
