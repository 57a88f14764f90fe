"""What an explanation told, beside the truth of the function that was tuned."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from optimizer.evaluation.evaluation import Evaluation
from optimizer.explained import Estimate, Explanation
from optimizer.explanation import explain_winner
from optimizer.strategies.changes import Changes
from optimizer.trials.problem import Problem
from optimizer.trials.trial import History
from sampler.space.space import Configuration
from studies.explanation_coverage.job import Ended, Key, posed
from studies.search.function import TestFunction

_INTERVAL_ERRORS = 3.92  # as the product makes an error of the proof's interval
_SURE = 1e-9  # of rounding
Claim = tuple[float, float, float, float]


@dataclass(frozen=True)
class Line:
    """What was told of one job.

    Attributes:
        label: Which code told it: ``before`` or ``after``.
        proven: Whether there is a winner to explain.
        told: Whether it was explained, and not withheld.
        steps: For each step ``gain`` and every metric of the objective: what was expected, the
            interval from and to, and the truth. Of metrics in percent.
        predicted: The winner's fitness, likewise; None where nothing was told.
        loss: Of the fewest changes against the winner; None where none is left out.
        dropped: How many changes are left out.
        seconds: Processor time of the explanation.
    """

    label: str
    key: Key
    proven: bool
    told: bool
    steps: tuple[Mapping[str, Claim], ...] = ()
    predicted: Claim | None = None
    loss: Claim | None = None
    dropped: int = 0
    seconds: float = 0.0


def judged(label: str, function: TestFunction, key: Key, ended: Ended) -> Line:
    """Explains a job's winner as the product does, and looks up the truth of all it says."""
    if ended.winner is None or ended.low is None or ended.high is None:
        return Line(label, key, proven=False, told=False)
    problem, history = posed(function, key), History(ended.trials)
    winner = history[ended.winner].configuration
    began = time.process_time()
    error = (ended.high - ended.low) / _INTERVAL_ERRORS
    found = explain_winner(Evaluation(problem, history), winner, error=error)
    seconds = time.process_time() - began
    if found is None:
        return Line(label, key, proven=True, told=False, seconds=round(seconds, 3))
    minimal = found.minimal if found.minimal and found.minimal.dropped else None
    path = path_points(problem, winner, found)
    true = function.fitness(path)
    loss = None
    if minimal is not None:
        lost = float(true[-1] - function.fitness([minimal.configuration])[0])
        loss = _claim(minimal.loss, lost)
    return Line(
        label=label,
        key=key,
        proven=True,
        told=True,
        steps=_steps(function, found, path, true),
        predicted=_claim(found.predicted, float(true[-1])),
        loss=loss,
        dropped=len(minimal.dropped) if minimal else 0,
        seconds=round(seconds, 3),
    )


def path_points(
    problem: Problem, winner: Configuration, found: Explanation
) -> list[Configuration]:
    """The baseline, and the configuration after each step."""
    changes, made = Changes(problem, winner), frozenset[str]()
    points: list[Configuration] = [problem.space.default_configuration()]
    for step in found.steps:
        if not step.fixed:
            made |= set(step.names)
        points.append(changes.configuration(made))
    return points


def holds(claim: Claim) -> bool:
    """Whether an interval has the truth in it."""
    _, low, high, truth = claim
    near = _SURE * (1.0 + abs(truth)) + 1e-3 * abs(truth)  # claims are kept with four digits
    return low - near <= truth <= high + near


def _steps(
    function: TestFunction, found: Explanation, path: list[Configuration], true: Any
) -> tuple[dict[str, Claim], ...]:
    logs = function.truth.logarithms(path)
    told = []
    for place, step in enumerate(found.steps):
        claims = {"gain": _claim(step.gain, float(true[place + 1] - true[place]))}
        for metric, estimate in step.metrics.items():
            moved = logs[metric][place + 1] - logs[metric][place]
            claims[metric] = _claim(estimate, 100.0 * float(np.expm1(moved)))
        told.append(claims)
    return tuple(told)


def _claim(estimate: Estimate, truth: float) -> Claim:
    rounded = (estimate.expected, estimate.low, estimate.high, truth)
    expected, low, high, true = (float(f"{value:.4g}") for value in rounded)
    return expected, low, high, true
