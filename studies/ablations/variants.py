"""The variants of the default strategy: each replaces one part of it, or of what it measures.

The product has no switches for them: a variant replaces a function or a constant of its modules
while a job runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from unittest.mock import patch

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor

from models import Floats
from models.gaussian_process import kernel
from optimizer.evaluation.evaluation import Evaluation
from optimizer.strategies import evolution, guided, replication
from optimizer.surrogate import expected_gain as gains
from optimizer.surrogate.expected_gain import MetricPredictions
from optimizer.surrogate.surrogate import Surrogate, surrogate_of
from sampler.common.errors import InputError
from sampler.workload.metric_table import TIME_BASED
from studies.search.function import TestFunction

AS_IT_IS = "as it is"
_SOFT = 10.0  # of the improvement, in units of fitness: 1% of one metric
_INCUMBENTS, _MOVES = 3, 5
_PASSES, _VALUES = 5, 9
_LENGTHS = (0.4, 1.0, 2.5)  # of the range
_TREES = 50


@dataclass(frozen=True)
class Variant:
    """What is different, by default nothing: the factor of each metric's noise, or the search."""

    words: str
    noise: Callable[[str], float] = lambda _: 1.0
    within: Callable[[TestFunction], AbstractContextManager[object]] = lambda _: ExitStack()


def under(name: str, function: TestFunction) -> tuple[TestFunction, ExitStack]:
    """The function as a variant measures it, and the context in which it is searched.

    Raises:
        InputError: There is no such variant, or, where `+` joins several, one of them.
    """
    stack = ExitStack()
    for part in name.split(" + "):
        if part not in VARIANTS:
            raise InputError("--variants", f"{part!r} is none of {', '.join(VARIANTS)}")
        noise = function.noise
        factors = np.array([VARIANTS[part].noise(metric) for metric in noise.names])
        function = replace(function, noise=replace(noise, residuals=noise.residuals * factors))
        stack.enter_context(VARIANTS[part].within(function))
    return function, stack


@dataclass(frozen=True, eq=False)
class _Replaced(Surrogate):
    """The models with other predictions."""

    predicts: Callable[[Floats], MetricPredictions]

    def predict(self, points: Floats) -> MetricPredictions:
        return self.predicts(points)


def _replaced(surrogate: Surrogate, predicts: Callable[[Floats], MetricPredictions]) -> Surrogate:
    parts = {each.name: getattr(surrogate, each.name) for each in fields(surrogate)}
    return _Replaced(**parts, predicts=predicts)


def _true_models(
    function: TestFunction, evaluation: Evaluation, names: tuple[str, ...]
) -> Surrogate | None:
    surrogate = surrogate_of(evaluation, names)
    if surrogate is None:
        return None
    logarithmic = surrogate.data.logarithmic

    def predicts(points: Floats) -> MetricPredictions:
        rows = [dict(zip(names, row, strict=True)) for row in points.tolist()]
        found = function.truth.logarithms([function.problem.configuration(row) for row in rows])
        certain = np.zeros(len(points))
        return {n: (v if n in logarithmic else np.exp(v), certain) for n, v in found.items()}

    return _replaced(surrogate, predicts)


def _ensemble(evaluation: Evaluation, names: tuple[str, ...]) -> Surrogate | None:
    surrogate = surrogate_of(evaluation, names)
    if surrogate is None:
        return None
    data, features = surrogate.data, surrogate.layout.features
    # What a run that was cut off did not tell is taken to be what the process expects.
    expected = {name: each for name, (each, _) in surrogate.predict(data.points).items()}
    told = [
        np.where(np.isfinite(data.targets[n]), data.targets[n], e) for n, e in expected.items()
    ]
    trees = ExtraTreesRegressor(_TREES, min_samples_leaf=2, random_state=0)
    trees.fit(features(data.points).values, np.column_stack(told))

    def predicts(points: Floats) -> MetricPredictions:
        own = surrogate.predict(points).items()
        others = trees.predict(features(points).values).reshape(len(points), -1).T
        return {
            name: ((mine + other) / 2, np.hypot(deviation, (mine - other) / 2))
            for (name, (mine, deviation)), other in zip(own, others, strict=True)
        }

    return _replaced(surrogate, predicts)


def _likeliest_length(evaluation: Evaluation, names: tuple[str, ...]) -> Surrogate | None:
    """The models with the length that makes what was measured most likely; it stays in force."""
    found: dict[float, Surrogate] = {}
    for length in _LENGTHS:
        _set_length(length)
        # Shares that another length taught are kept with the evaluation, so each has its own.
        surrogate = surrogate_of(Evaluation(evaluation.problem, evaluation.history), names)
        if surrogate is None:
            return None
        found[length] = surrogate
    best = max(found, key=lambda length: _evidence(found[length]))
    _set_length(best)
    return found[best]


def _set_length(length: float) -> None:
    kernel._PER_LENGTH = np.float32(5.0**0.5 / length)


def _evidence(surrogate: Surrogate) -> float:
    fitted = [process for process, _ in surrogate.processes.values()]
    squares = sum(float(np.square(each.factor.T @ each.solved).sum()) / 2 for each in fitted)
    return -squares - sum(float(np.log(np.diag(each.factor)).sum()) for each in fitted)


@contextmanager
def _learned_length(_: TestFunction) -> Iterator[None]:
    with (
        patch.object(kernel, "_PER_LENGTH", kernel._PER_LENGTH),
        patch.object(guided, "surrogate_of", _likeliest_length),
    ):
        yield


@contextmanager
def _exhaustive(_: TestFunction) -> Iterator[None]:
    kept, children = 10 * evolution._KEPT, 10 * evolution._CHILDREN
    gains._normals.cache_clear()
    with (
        patch.multiple(evolution, _KEPT=kept, _CHILDREN=children),
        patch.object(gains, "_DRAWS", 4 * gains._DRAWS),
    ):
        yield
    gains._normals.cache_clear()


def _soft_improvement(fitness: Floats, best: float) -> Floats:
    """Above 0 everywhere, so that its mean tells ways apart where none surpasses the best.

    The population that searches it compares values alone, so it needs no logarithm itself (Ament
    and others, "Unexpected improvements to expected improvement", NeurIPS 2023).
    """
    return np.asarray(_SOFT * np.logaddexp(0.0, (fitness - best) / _SOFT))


def _in_trust_region(
    function: Callable[[Floats], Floats], start: Floats, matters: Floats, *, seed: int
) -> Floats:
    """Where few parameters are moved of one of the best that the models hold."""

    def near(points: Floats) -> Floats:
        apart = np.abs(points[:, None] - start[:_INCUMBENTS]) > 1e-9
        few = apart.sum(axis=2).min(axis=1) <= _MOVES
        return np.where(few, function(points), -np.inf)

    return evolution.evolve(near, start, matters, seed=seed)


def _with_sweeps(
    function: Callable[[Floats], Floats], start: Floats, matters: Floats, *, seed: int
) -> Floats:
    """The best of the population goes on by the best change of one coordinate, again and again."""
    found = evolution.evolve(function, start, matters, seed=seed)
    at, best = found[0], float(function(found[:1])[0])
    for _ in range(_PASSES):
        around = np.tile(at, (len(at), _VALUES, 1))
        for place in range(len(at)):
            around[place, :, place] = (np.arange(_VALUES) + 0.5) / _VALUES
        points = around.reshape(-1, len(at))
        gained = function(points)
        if gained.max() <= best:
            break
        at, best = points[int(gained.argmax())], float(gained.max())
    return np.vstack([at, found])[: len(found)]


def _with(name: str, value: object) -> Callable[[TestFunction], AbstractContextManager[object]]:
    return lambda _: patch.object(guided, name, value)


VARIANTS: Mapping[str, Variant] = {
    AS_IT_IS: Variant("the default"),
    "no noise": Variant("every run measures the truth", lambda _: 0.0),
    "half the noise": Variant("every metric errs by half", lambda _: 0.5),
    "covariate": Variant("clocks err by half, as if the machine's speed were known",
                         lambda metric: 0.5 if metric in TIME_BASED else 1.0),
    "true models": Variant(
        "models that know the truth and are certain of it",
        within=lambda function: patch.object(
            guided, "surrogate_of", partial(_true_models, function)
        ),
    ),
    "exhaustive": Variant("ten times the population, four times the draws", within=_exhaustive),
    "log EI": Variant("the logarithm of a softened expected improvement",
                      within=lambda _: patch.object(gains, "improvement", _soft_improvement)),
    "sweeps": Variant("the best of the population goes on by changes of one coordinate",
                      within=_with("evolve", _with_sweeps)),
    "trust region": Variant(f"moves at most {_MOVES} parameters of one of the {_INCUMBENTS} best",
                            within=_with("evolve", _in_trust_region)),
    "learned length": Variant(f"the kernel's length is the likeliest of {_LENGTHS}, not 1.0",
                              within=_learned_length),
    "ensemble": Variant(f"the mean of the process and of {_TREES} extra-trees",
                        within=_with("surrogate_of", _ensemble)),
    "no replication": Variant("the search measures nothing again",
                              within=_with("replication_of", lambda *_, **__: None)),
    "twice the replication": Variant(
        "a fifth of the runs may measure again",
        within=lambda _: patch.object(replication, "SHARE", 2 * replication.SHARE),
    ),
}  # fmt: skip
