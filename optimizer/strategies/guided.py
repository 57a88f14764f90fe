"""Guided search: the most promising configuration by a model of each metric is measured next.

A few evenly spread draws, then after each trial one additive process for each metric
(``models.additive_process``), learned from all trials so far, and a population that evolves on
what they expect the fitness to gain. docs/results/search.md compares it with the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from models.one_thread import one_thread
from optimizer.coordinates import Floats
from optimizer.expected_gain import expected_gain, fitness_of, keeps, likely_metrics
from optimizer.history import History
from optimizer.knowledge import baseline_of
from optimizer.parameter_effects import ParameterEffects, parameter_effects
from optimizer.problem import Problem
from optimizer.strategies.drawn import DrawsFirst, propose_draw, sampled
from optimizer.strategies.evolution import evolve
from optimizer.strategy import Proposal, first_new
from optimizer.surrogate import Surrogate, surrogate_of
from optimizer.trial import Phase, Purpose
from sampler.latent import Point

DRAWS = 20
DRAWS_WITH_PRIOR = 6  # enough to see whether earlier jobs agree
_LEAST_DRAWS = 8
_STARTS, _FRESH = 8, 40


@dataclass(frozen=True)
class Guided(DrawsFirst):
    """Draws a little, then follows the models."""

    @property
    def heeds(self) -> frozenset[str]:
        """How many draws, over what, and what earlier jobs measured."""
        return super().heeds | {"warm_start"}

    def samples(self, problem: Problem, explore: int) -> int:
        """Twenty, or fewer of a small budget or with earlier jobs; as many as are asked for."""
        asked = problem.search.samples
        few = min(DRAWS, max(_LEAST_DRAWS, explore // 3), explore)
        if problem.prior.jobs:
            few = min(DRAWS_WITH_PRIOR, few)
        return few if asked is None else min(asked, explore)

    def propose(
        self, problem: Problem, history: History, *, number: int, explore: int
    ) -> Proposal | None:
        """A draw, then what the models expect most of; see ``Strategy.propose``."""
        names = problem.searched
        if len(history.own(Purpose.CANDIDATE)) >= explore or not names:
            return None
        samples, index = self.samples(problem, explore), sampled(history)
        if index < samples:
            return propose_draw(
                problem, history, "sobol", index, number=number, n=samples, over=names
            )
        with one_thread():
            surrogate = surrogate_of(problem, history, names)
            return _promising(problem, history, names, surrogate, number)

    def preferred(self, problem: Problem, history: History) -> list[int]:
        """By what the models think of each: a single lucky run does not mislead them.

        See ``optimizer.strategy.Prefers``.
        """
        with one_thread():
            surrogate = surrogate_of(problem, history, problem.searched)
            if surrogate is None:
                return []
            numbers = surrogate.lessons.numbers
            points = surrogate.lessons.points[1 : len(numbers) + 1]
            worth = _worth(problem, surrogate, points, baseline_of(history, problem).metrics)
        order = np.argsort(-worth, kind="stable").tolist()
        return [numbers[place] for place in order if history[numbers[place]].done]

    def effects(self, problem: Problem, history: History) -> ParameterEffects | None:
        """How much each parameter matters; see ``optimizer.strategy.LearnsEffects``."""
        return parameter_effects(problem, history, problem.searched)


def _promising(
    problem: Problem,
    history: History,
    names: tuple[str, ...],
    surrogate: Surrogate | None,
    number: int,
) -> Proposal | None:
    seed = problem.seed_of(number)
    rng = np.random.default_rng(seed)
    found: Floats = np.empty((0, len(names)))
    why = "a random draw: too few trials have ended"
    if surrogate is not None:
        found, expected = _best_points(problem, history, surrogate, rng, seed)
        known, earlier = len(surrogate.lessons.numbers), len(surrogate.prior.tasks)
        why = f"expected to gain {expected:.3g} on the best known, by {known} trials"
        why += f" and {earlier} of earlier jobs" if earlier else ""

    def point(attempt: int) -> Point:
        chosen = found[attempt] if attempt < len(found) else rng.random(len(names))
        values: list[float] = chosen.tolist()
        return dict(zip(names, values, strict=True))

    return first_new(problem, history, Phase.SEARCH, why, point)


def _best_points(
    problem: Problem, history: History, surrogate: Surrogate, rng: np.random.Generator, seed: int
) -> tuple[Floats, float]:
    """The points that are expected to gain most, the best first, and what that one gains."""
    baseline = baseline_of(history, problem).metrics
    worth = _worth(problem, surrogate, surrogate.lessons.points, baseline)
    best = float(worth.max()) if np.isfinite(worth).any() else None

    def gain(points: Floats) -> Floats:
        predicted, logarithmic = surrogate.predict(points), surrogate.lessons.logarithmic
        return expected_gain(problem.objective, predicted, logarithmic, baseline, best)

    leaders = surrogate.lessons.points[np.argsort(-worth, kind="stable")[:_STARTS]]
    if len(surrogate.prior.points):  # where earlier jobs were is known, but not measured
        before = surrogate.prior.points
        promise = _worth(problem, surrogate, before, baseline)
        order = np.argsort(-promise, kind="stable")[:_STARTS]
        leaders = np.vstack([leaders, before[order]])
    fresh = rng.random((_FRESH, leaders.shape[1]))
    found = evolve(gain, np.vstack([leaders, fresh]), surrogate.matters(), seed=seed)
    return found, float(gain(found[:1])[0])


def _worth(
    problem: Problem, surrogate: Surrogate, points: Floats, baseline: Mapping[str, float]
) -> Floats:
    """The likely fitness of points; minus infinity where a limit is likely broken."""
    metrics = likely_metrics(surrogate.predict(points), surrogate.lessons.logarithmic)
    fitness = fitness_of(problem.objective, metrics, baseline)[0]
    kept = keeps(problem.objective.bounds(baseline), metrics, (1, len(points)))[0]
    return np.where(kept > 0, fitness, -np.inf)
