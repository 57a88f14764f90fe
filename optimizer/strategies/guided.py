"""Guided search: the most promising configuration by a model of each metric is measured next.

A few evenly spread draws, then after each trial one additive process for each metric, learned from
all trials so far, and a population that evolves on what they expect the fitness to gain.
docs/results/search.md compares it with the others.

What the models doubt is measured again (``replication``), and the search knows when what it can
still gain drowns in noise (``stopping_rule``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.gaussian_process.process import one_thread
from optimizer.evaluation.evaluation import baseline_of
from optimizer.ranking.parameter_effects import ParameterEffects, parameter_effects
from optimizer.strategies.draws import DrawsFirst, propose_draw, sampled
from optimizer.strategies.evolution import evolve
from optimizer.strategies.replication import SURE, SURE_AT_THE_END, Doubt, doubt_of
from optimizer.strategies.strategy import Proposal, first_new
from optimizer.surrogate.coordinates import Floats
from optimizer.surrogate.expected_gain import expected_gain
from optimizer.surrogate.predictions import Held, held_for
from optimizer.surrogate.stopping_rule import Prospect, fitness_noise
from optimizer.surrogate.surrogate import Surrogate, surrogate_of
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Phase, Purpose
from sampler.space.latent import Point

DRAWS = 20
DRAWS_WITH_PRIOR = 6  # enough to see whether earlier jobs agree
_LEAST_DRAWS = 8
_END = 0.1  # the last part of what is explored


@dataclass(frozen=True)
class Guided(DrawsFirst):
    """Draws a little, then follows the models."""

    @property
    def heeds(self) -> frozenset[str]:
        """How many draws, over what, what earlier jobs measured, and whether it stops early."""
        return super().heeds | {"warm_start", "stop_early"}

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
        """A draw, then what the models expect most of, or doubt; see ``Strategy.propose``."""
        names = problem.searched
        explored = len(history.own(Purpose.CANDIDATE))
        if explored >= explore or not names:
            return None
        samples, index = self.samples(problem, explore), sampled(history)
        if index < samples:
            return propose_draw(
                problem, history, "sobol", index, number=number, n=samples, over=names
            )
        with one_thread():
            outlook = outlook_of(problem, history, names, number=number, window=_window(samples))
            last = explored >= (1 - _END) * explore
            doubt = _doubt(problem, history, outlook, last=last)
        if doubt is not None:
            return _again(doubt)
        if problem.search.stop_early and outlook.prospect and outlook.prospect.exhausted:
            return None
        return _promising(problem, history, names, outlook, number)

    def prospect(self, problem: Problem, history: History, explore: int) -> Prospect | None:
        """What the next run promises; see ``optimizer.strategies.strategy.Foresees``."""
        names, samples = problem.searched, self.samples(problem, explore)
        if not names or sampled(history) < samples:
            return None
        number = history.next_number
        with one_thread():
            outlook = outlook_of(problem, history, names, number=number, window=_window(samples))
        return outlook.prospect

    def preferred(self, problem: Problem, history: History) -> list[int]:
        """By what the models think of each: a single lucky run does not mislead them.

        See ``optimizer.strategies.strategy.Prefers``.
        """
        with one_thread():
            surrogate = surrogate_of(problem, history, problem.searched)
            if surrogate is None:
                return []
            numbers = surrogate.lessons.numbers
            points = surrogate.lessons.points[1 : len(numbers) + 1]
            held = held_for(problem, surrogate, points, baseline_of(history, problem).metrics)
        order = [numbers[place] for place in held.best_first().tolist()]
        # Of what was measured several times the first: they are one configuration.
        whole = [history[number] for number in order if history[number].done]
        return list(
            {t.digest: history.of_configuration(t.digest)[0].number for t in whole}.values()
        )

    def effects(self, problem: Problem, history: History) -> ParameterEffects | None:
        """How much each parameter matters; see ``optimizer.strategies.strategy.LearnsEffects``."""
        return parameter_effects(problem, history, problem.searched)


def _window(samples: int) -> int:
    """Over how many runs a search must have gained nothing: as many as were drawn."""
    return min(DRAWS, max(_LEAST_DRAWS, samples))


def _doubt(problem: Problem, history: History, outlook: Outlook, *, last: bool) -> Doubt | None:
    if outlook.surrogate is None:
        return None
    ends = last or (outlook.prospect is not None and outlook.prospect.exhausted)
    sure = SURE_AT_THE_END if ends else SURE
    return doubt_of(problem, history, outlook.surrogate, outlook.worth, sure=sure)


def _again(doubt: Doubt) -> Proposal:
    trial = doubt.trial
    return Proposal(
        Phase.SEARCH, trial.point, trial.configuration, doubt.words(), subject=trial.number
    )


def _promising(
    problem: Problem, history: History, names: tuple[str, ...], outlook: Outlook, number: int
) -> Proposal | None:
    rng = np.random.default_rng([problem.seed_of(number), 1])

    def point(attempt: int) -> Point:
        chosen = (
            outlook.points[attempt] if attempt < len(outlook.points) else rng.random(len(names))
        )
        values: list[float] = chosen.tolist()
        return dict(zip(names, values, strict=True))

    return first_new(problem, history, Phase.SEARCH, _why(outlook), point)


def _why(outlook: Outlook) -> str:
    if outlook.surrogate is None:
        return "a random draw: too few trials have ended"
    known, earlier = len(outlook.surrogate.lessons.numbers), len(outlook.surrogate.prior.tasks)
    by = f"by {known} trials" + (f" and {earlier} of earlier jobs" if earlier else "")
    if outlook.prospect is None:
        chance = f"{outlook.gain:.2g}"
        return f"keeps the limits, which nothing has yet, with a chance of {chance}, {by}"
    return f"{outlook.prospect.words()}, {by}"


_STARTS, _FRESH = 8, 40


@dataclass(frozen=True, eq=False)
class Outlook:
    """What the models see.

    Attributes:
        surrogate: The models; None: too few trials have ended.
        worth: What they hold for the fitness of each row of their lessons.
        points: What is expected to gain most, the best first, shape ``(n, n_names)``.
        gain: What the first of them is expected to gain, or, while nothing keeps the limits, the
            chance that it does.
        prospect: Whether that is worth a run; None while that cannot be said.
    """

    surrogate: Surrogate | None
    worth: Floats
    points: Floats
    gain: float
    prospect: Prospect | None


def outlook_of(
    problem: Problem, history: History, names: tuple[str, ...], *, number: int, window: int
) -> Outlook:
    """What the models see before a trial.

    Args:
        problem: What is tuned.
        history: The trials so far.
        names: The moving parameters.
        number: Of the trial that comes next.
        window: Over how many searched runs nothing must have been gained, for the search to be
            exhausted.
    """
    surrogate = surrogate_of(problem, history, names)
    if surrogate is None:
        return Outlook(None, np.empty(0), np.empty((0, len(names))), 0.0, None)
    held = held_for(
        problem, surrogate, surrogate.lessons.points, baseline_of(history, problem).metrics
    )
    worth = held.worth
    points, gain = _best_points(problem, history, surrogate, held, problem.seed_of(number))
    prospect = None
    if np.isfinite(worth).any():
        lately = _lately(history, surrogate, worth, window)
        prospect = Prospect(gain, lately, window, fitness_noise(problem, history))
    return Outlook(surrogate, worth, points, gain, prospect)


def _lately(history: History, surrogate: Surrogate, worth: Floats, window: int) -> float | None:
    """By how much the last runs have raised the best that the models hold."""
    searched = [n for n in history.own(Purpose.CANDIDATE, Phase.SEARCH) if history[n].has_outcome]
    if len(searched) < window:
        return None
    numbers, last = surrogate.lessons.numbers, searched[-window]
    # The baseline is the first row; trials in flight, which come last, have raised nothing yet.
    known = worth[: len(numbers) + 1]
    before = np.array([True, *(number < last for number in numbers)])
    earlier = float(known[before].max())
    return float(known.max()) - earlier if np.isfinite(earlier) else None


def _best_points(
    problem: Problem, history: History, surrogate: Surrogate, held: Held, seed: int
) -> tuple[Floats, float]:
    """The points that are expected to gain most, the best first, and what that one gains."""
    baseline = baseline_of(history, problem).metrics
    surest = float(held.worth.max())
    best = surest if np.isfinite(surest) else None

    def gain(points: Floats) -> Floats:
        predicted, logarithmic = surrogate.predict(points), surrogate.lessons.logarithmic
        return expected_gain(problem.objective, predicted, logarithmic, baseline, best)

    leaders = surrogate.lessons.points[held.best_first()[:_STARTS]]
    if len(surrogate.prior.points):  # where earlier jobs were is known, but not measured
        before = surrogate.prior.points
        promise = held_for(problem, surrogate, before, baseline)
        leaders = np.vstack([leaders, before[promise.best_first()[:_STARTS]]])
    fresh = np.random.default_rng(seed).random((_FRESH, leaders.shape[1]))
    found = evolve(gain, np.vstack([leaders, fresh]), surrogate.matters(), seed=seed)
    return found, float(gain(found[:1])[0])
