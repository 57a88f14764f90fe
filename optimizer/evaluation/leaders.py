"""The fittest trials, host by host: kept up to date at a cost that does not grow with the job.

A run of the baseline on one host changes what that host's trials are worth, and no other's.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from optimizer.baseline.baseline import LEAST_COMPARED, Baseline
from optimizer.baseline.host_baseline import HostBaseline
from optimizer.evaluation.evaluation import COMPARABLE, Evaluation, rank_value
from optimizer.objective.objective import Objective
from optimizer.trials.trial import Phase, Purpose, Trial


@dataclass
class _OnHost:
    """What one host's trials are worth by its present baseline."""

    baseline: HostBaseline | None = None
    changes: int = -1
    values: dict[tuple[int, int], float] = field(default_factory=dict)
    best: list[tuple[float, int]] = field(default_factory=list)


def leaders(evaluation: Evaluation, phase: Phase, count: int) -> list[tuple[float, Trial]]:
    """The fittest ended candidates of a phase that hosts have measured, the fittest first.

    Simplified versions of others are left out: no strategy proposed them. At most ``count``; of
    equal ones those with the lower number.
    """
    history = evaluation.history
    found = [pair for host in history.hosts for pair in _best(evaluation, host, phase, count)]
    best = heapq.nsmallest(count, found, key=lambda pair: (-pair[0], pair[1]))
    return [(value, history[number]) for value, number in best]


def _best(evaluation: Evaluation, host: str, phase: Phase, count: int) -> list[tuple[float, int]]:
    problem, history, baseline = evaluation.problem, evaluation.history, evaluation.baseline
    hosts: dict[str, _OnHost] = evaluation.once(("leaders", phase, count), None, dict)
    known = hosts.setdefault(host, _OnHost())
    own, changes = baseline.hosts.get(host), history.changes_on(host, Purpose.CANDIDATE)
    absolute = bool(problem.objective.limits)  # limits are of values, not of changes
    if own is not known.baseline or own is None or absolute or own.runs < LEAST_COMPARED:
        known = hosts[host] = _OnHost(own)
    elif known.changes == changes:
        return known.best
    known.changes = changes
    for number in history.on_host(host, Purpose.CANDIDATE):
        trial = history[number]
        key = (number, trial.attempt)
        proposed = trial.phase is phase and not trial.is_simplified
        if proposed and trial.state in COMPARABLE and key not in known.values:
            known.values[key] = rank_value(problem, baseline, trial)
    live = (  # those that were not withdrawn since
        (value, number)
        for (number, attempt), value in known.values.items()
        if history[number].attempt == attempt and history[number].state in COMPARABLE
    )
    known.best = heapq.nsmallest(count, live, key=lambda pair: (-pair[0], pair[1]))
    return known.best


def fittest_first(
    objective: Objective, baseline: Baseline, trials: Sequence[Trial]
) -> list[Trial]:
    """The trials by fitness, clocks corrected for drift; whether limits hold does not matter.

    Trials ended with a whole measurement. Equal ones stay as they were given, those that lack a
    term's metric come at the end.
    """
    metrics = baseline.corrected_of_many(trials, [term.metric for term in objective.terms])
    fitness = objective.fitness_of_many(metrics, baseline.metrics)
    for place in np.flatnonzero(np.isnan(fitness)).tolist():
        trial = trials[place]
        fitness[place] = objective.rank_value(baseline.corrected_trial(trial), baseline.metrics)
    return [trials[place] for place in np.argsort(-fitness, kind="stable").tolist()]
