"""What the models see: what is good, what may be better, and whether that is worth a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optimizer.evaluation.knowledge import baseline_of
from optimizer.strategies.evolution import evolve
from optimizer.strategies.held import Held, held_for
from optimizer.surrogate.coordinates import Floats
from optimizer.surrogate.expected_gain import expected_gain
from optimizer.surrogate.prospect import Prospect, fitness_noise
from optimizer.surrogate.surrogate import Surrogate, surrogate_of
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Phase, Purpose

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
