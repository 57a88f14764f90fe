"""A job's result as a document: schema 1 of result.json, which tools outside rely on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from optimizer.baseline.baseline import Baseline
from optimizer.budget.confirm_load import (
    apart,
    baseline_there,
    confirmation_document,
)
from optimizer.confirmation.choosing import explored_history
from optimizer.confirmation.sensitivity import sensitivity_of
from optimizer.evaluation.front_growth import front_of
from optimizer.evaluation.knowledge import baseline_of
from optimizer.explanation.document import NOTHING_EXPLAINED, explanation_document
from optimizer.results.conclusion import Conclusion, proof_pairs
from optimizer.results.contributions import contributions_document
from optimizer.results.learned_document import learned_document
from optimizer.results.prior_document import prior_document
from optimizer.results.sampling_document import sampling_document
from optimizer.results.search_document import search_document
from optimizer.strategies import find_strategy
from optimizer.strategies.strategy import Strategy
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Purpose, Trial
from sampler.runner.outcome import TrialState

SCHEMA = 1
_COUNTED = (
    TrialState.DONE,
    TrialState.FAILED,
    TrialState.TIMED_OUT,
    TrialState.CENSORED,
    TrialState.INFEASIBLE,
    TrialState.LOST,
)


def result_document(
    problem: Problem,
    conclusion: Conclusion,
    *,
    job: Mapping[str, Any],
    environment: Mapping[str, Any],
) -> dict[str, Any]:
    """The whole result.

    Medians and changes are those of the proof's fresh runs. Nothing is rounded, and what is
    unknown is null.

    Args:
        problem: What was tuned.
        conclusion: How it came out.
        job: The specification.
        environment: The machine and the RocksDB.
    """
    history, verdict = conclusion.history, conclusion.verdict
    baseline = baseline_of(history, problem)
    strategy = find_strategy(problem.strategy)
    counts = Counter(trial.state for trial in history)
    front = front_of(problem.objective, baseline, history)
    return {
        "schema": SCHEMA,
        "job": job,
        "environment": environment,
        "baseline": {
            "metrics": dict(verdict.baseline if verdict else baseline.metrics),
            "runs": verdict.pairs if verdict else baseline.runs,
            "configuration": dict(problem.space.default_configuration()),
            "noise": _noise(baseline),
        },
        "best": _best(problem, conclusion),
        "verdict": _verdict(conclusion),
        **_explanation(problem, conclusion),
        "plan": {"explore": conclusion.plan.explore, "pairs": conclusion.plan.pairs},
        "confirmation": confirmation_document(problem),
        "power": _power(problem, conclusion),
        **learned_document(problem, strategy, history),
        "sampling": sampling_document(problem, strategy, history, explore=conclusion.plan.explore),
        "search": search_document(problem, conclusion.plan, strategy, history),
        "pareto": list(front.numbers),
        "hypervolume": front.document(),
        "trials": {state.value: counts[state] for state in _COUNTED} | {"total": len(history)},
        "hosts": _hosts(conclusion, baseline),
        "time": _time(list(history)),
        **_taken_along(problem, history),
        **_contributions(problem, conclusion, strategy),
    }


def _taken_along(problem: Problem, history: History) -> dict[str, Any]:
    taken = prior_document(problem, history)
    return {"warm_start": taken} if taken else {}


def _contributions(problem: Problem, conclusion: Conclusion, strategy: Strategy) -> dict[str, Any]:
    """What each parameter gained, of a strategy that varies one after the other."""
    before = explored_history(problem, conclusion.history)
    found = contributions_document(problem, strategy, before, conclusion.plan.explore)
    return {"contributions": found} if found else {}


def _hosts(conclusion: Conclusion, baseline: Baseline) -> list[dict[str, Any]]:
    """What each host measured, with its own baseline, and why it was set aside if it was."""
    history = conclusion.history
    return [
        {
            "name": host,
            "trials": sum(len(history.on_host(host, purpose)) for purpose in Purpose),
            "baseline": {
                "metrics": dict(own.metrics),
                "runs": own.runs,
                "spread": {name: noise.spread for name, noise in own.noise.items()},
            }
            if (own := baseline.hosts.get(host))
            else None,
            "set_aside": conclusion.aside.get(host),
        }
        for host in history.hosts
    ]


def _best(problem: Problem, conclusion: Conclusion) -> dict[str, Any] | None:
    verdict, winner = conclusion.verdict, conclusion.winner
    if verdict is None or winner is None or not verdict.confirmed:
        return None
    return {
        "trial": winner,
        "configuration": dict(conclusion.history[winner].configuration),
        "metrics": dict(verdict.winner),
        "fitness": verdict.fitness,
        "terms": problem.objective.gains(verdict.winner, verdict.baseline),
        "confirmed": verdict.confirmed,
        "runs": verdict.pairs,
        "change": {
            name: {"percent": c.percent, "low": c.low, "high": c.high, "p": c.p}
            for name, c in verdict.changes.items()
        },
    }


def _verdict(conclusion: Conclusion) -> dict[str, Any] | None:
    """The deciding test, passed or not, with the candidate that it was about."""
    verdict = conclusion.verdict
    if verdict is None:
        return None
    return {
        "trial": conclusion.winner,
        "confirmed": verdict.confirmed,
        "fitness": verdict.fitness,
        "low": verdict.low,
        "high": verdict.high,
        "p": verdict.p,
        "pairs": verdict.pairs,
        "why": verdict.why,
        "limits": [each.document() for each in verdict.limits],
        "metrics": dict(verdict.winner),
        "change": {
            name: {"percent": c.percent, "low": c.low, "high": c.high, "p": c.p}
            for name, c in verdict.changes.items()
        },
    }


def _explanation(problem: Problem, conclusion: Conclusion) -> dict[str, Any]:
    """Why the winner is better, by models of all trials; null where nothing was proven."""
    verdict, winner = conclusion.verdict, conclusion.winner
    if verdict is None or winner is None or not verdict.confirmed:
        return dict(NOTHING_EXPLAINED)
    configuration = conclusion.history[winner].configuration
    try:
        return explanation_document(
            problem, conclusion.history, configuration, low=verdict.low, high=verdict.high
        )
    except Exception as error:
        # What is proven does not rest on it: no failure after the last run may cost the results.
        why = f"not computed ({type(error).__name__}: {error})"
        return {**NOTHING_EXPLAINED, "explanation_withheld": {"why": why}}


def _power(problem: Problem, conclusion: Conclusion) -> dict[str, Any] | None:
    """What the fresh pairs could have shown, and what was planned; null with fewer than two."""
    pairs = proof_pairs(conclusion.history, conclusion.winner)
    found = sensitivity_of(problem.objective, pairs)
    if found is None:
        return None
    detection = conclusion.plan.detection
    return found.document() | {"planned": detection.document() if detection else None}


def _noise(baseline: Baseline) -> dict[str, Any]:
    return {
        name: {
            "median": baseline.metrics.get(name),
            "spread": noise.spread,
            "drift_p": noise.drift_p,
            "drifting": noise.drifting,
            "range": list(noise.range) if noise.range else None,
        }
        for name, noise in baseline.noise.items()
    }


def _time(trials: list[Trial]) -> dict[str, float]:
    started = [trial.started_at for trial in trials if trial.started_at]
    finished = [trial.finished_at for trial in trials if trial.finished_at]
    wall = (max(finished) - min(started)).total_seconds() if started and finished else 0.0
    return {"wall_seconds": wall, "bench_seconds": sum(t.bench_seconds for t in trials)}


def fitness_by_trial(problem: Problem, conclusion: Conclusion) -> dict[int, float]:
    """The fitness of each whole measurement, clocks corrected for drift, as the search saw it.

    What was measured at a larger scale is compared with the baseline at that scale.
    """
    searched = baseline_of(conclusion.history, problem)
    proved = baseline_there(problem, conclusion.history)
    found: dict[int, float] = {}
    for trial in conclusion.history:
        baseline = proved if apart(problem, trial) else searched
        if baseline is None:
            continue
        metrics = baseline.corrected(trial.metrics, trial.started_at, trial.host)
        fitness = problem.objective.fitness(metrics, baseline.metrics)
        if trial.done and fitness is not None:
            found[trial.number] = fitness
    return found
