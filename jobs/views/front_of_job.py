"""The Pareto front of any two metrics of a job, from its trials; nothing is measured.

Throughput against latency, or CPU use against throughput, may be asked for whatever the objective
of the job was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from optimizer.evaluation.evaluation import baseline_of
from optimizer.evaluation.pareto_front import Metrics, measured, within_limits
from optimizer.objective.objective import Direction, Term, pareto_front
from optimizer.objective.objective_file import parse_weights
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Trial
from sampler.common.errors import InputError


@dataclass(frozen=True)
class FrontOfTwo:
    """The configurations between which only taste decides, by two metrics.

    Attributes:
        terms: The two metrics, each with its better direction.
        points: The metrics of those on the front by trial, the best in the second metric last.
        baseline: The baseline's, medians.
        judged: How many configurations were measured whole and keep the job's limits.
    """

    terms: tuple[Term, Term]
    points: Mapping[int, Metrics]
    baseline: Metrics
    judged: int


def front_of_two(problem: Problem, trials: Sequence[Trial], x: str, y: str) -> FrontOfTwo:
    """The front of a job's new configurations in two metrics, clocks corrected for drift.

    Args:
        problem: Of the job; what breaks its limits does not count.
        trials: Those of the job so far.
        x: The one metric. Which way is better comes from the objective, then from the unit.
        y: The other.

    Raises:
        InputError: A metric was not measured, or nobody knows which way it is better.
        ValueError: No run of the baseline has ended well.
    """
    baseline = baseline_of(History(trials), problem)
    directions = {term.metric: term.direction for term in problem.objective.terms}
    terms = (
        _term(x, "x", directions, baseline.metrics),
        _term(y, "y", directions, baseline.metrics),
    )
    if terms[0].metric == terms[1].metric:
        raise InputError("y", "is the same metric as x; a front has two")
    points = within_limits(problem.objective, baseline.metrics, measured(baseline, trials))
    both = {n: found for n, found in points.items() if all(t.metric in found for t in terms)}
    on = pareto_front(both, terms)
    last = terms[1]
    on.sort(key=lambda n: both[n][last.metric] * (1 if last.direction == "max" else -1))
    return FrontOfTwo(terms, {n: both[n] for n in on}, baseline.metrics, len(both))


def _term(metric: str, field: str, directions: Mapping[str, Direction], known: Metrics) -> Term:
    if metric not in known:
        names = ", ".join(sorted(known))
        problem = f"the job has not measured {metric!r:.80}; known are {names}"
        raise InputError(field, problem)
    (term,) = parse_weights(metric, directions, field=field)
    return term
