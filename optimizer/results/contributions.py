"""What each parameter contributed to a search that varied one after the other, as a document.

Each step is one kept value: the configuration with it against the one before it, from the runs
that chose it. They are mostly single runs, and the best of several, so the gains are flattered;
what the whole is worth is the proof's to say. The gains of all steps add up to the fitness of the
last configuration; the factors of a metric multiply to its whole change.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from optimizer.evaluation.evaluation import Evaluation
from optimizer.objective.objective import Metrics
from optimizer.strategies.strategy import Strategy
from optimizer.strategies.sweeps import SweepProgress, tried_by
from optimizer.trials.problem import Problem
from optimizer.trials.trial import BASELINE_TRIAL, Purpose
from sampler.space.space import digest


def contributions_document(
    evaluation: Evaluation, strategy: Strategy, explore: int
) -> dict[str, Any] | None:
    """Which parameter gained how much; a part of result.json.

    Args:
        evaluation: The trials as they were when exploration ended.
        strategy: How.
        explore: How many new configurations the budget held in all.

    Returns:
        ``steps`` in order, ``parameters`` with the largest gain first, the ``fitness`` of the last
            configuration, the parameters ``swept``, ``idle`` and ``left``, ``passes`` and ``why``;
            None where the strategy does not vary one parameter after the other.
    """
    problem = evaluation.problem
    series = strategy.sweep_progress(evaluation, explore)
    if series is None:
        return None
    steps = _steps(evaluation, series)
    left = series.left(problem.searched)
    return {
        "steps": steps,
        "parameters": _by_parameter(steps, tried_by(series.sweeps)),
        "fitness": steps[-1]["fitness"] if steps else 0.0,
        "swept": list(dict.fromkeys(sweep.parameter for sweep in series.sweeps)),
        "idle": list(series.idle),
        "left": list(left),
        "passes": max((sweep.number for sweep in series.sweeps), default=0),
        "why": why_ended(problem, series),
    }


def why_ended(problem: Problem, series: SweepProgress) -> str:
    """One sentence: how far the search came, and what the budget left out."""
    left = series.left(problem.searched)
    if left:
        done = len(problem.searched) - len(left)
        said = f"{done} of {len(problem.searched)} parameters were swept before the budget ended"
        return f"{said}; left: {', '.join(left)}"
    said = f"all {len(problem.searched)} parameters were swept"
    if series.parameter is not None:
        return f"{said}; the budget ended in pass {series.number}, at {series.parameter}"
    if problem.search.stop_early:
        return f"{said} once"
    last = max((sweep.number for sweep in series.sweeps), default=1)
    return f"{said}; pass {last} kept nothing"


def _steps(evaluation: Evaluation, series: SweepProgress) -> list[dict[str, Any]]:
    """Every configuration that was kept, against the one before it."""
    problem, history = evaluation.problem, evaluation.history
    starts = {digest(problem.configuration(s.point)): s.name for s in reversed(problem.starts)}
    found: list[dict[str, Any]] = []
    objective = problem.objective
    level = evaluation.baseline.metrics
    before, fitness = BASELINE_TRIAL, 0.0
    turns: list[tuple[str | None, int, int | None]] = [
        (None, 0, series.first if series.first != BASELINE_TRIAL else None),
        *((sweep.parameter, sweep.number, sweep.kept) for sweep in series.sweeps),
    ]
    for parameter, number, kept in turns:
        if kept is None:
            continue
        old, new = (_metrics(evaluation, trial) for trial in (before, kept))
        reached = objective.fitness(new, level) or 0.0
        # What the space fixes is none of a step's doing.
        held, chosen = (
            {**problem.space.start, **history[trial].configuration} for trial in (before, kept)
        )
        also = {
            name: chosen[name]
            for name in problem.space.names
            if name != parameter and chosen[name] != held[name]
        }
        found.append(
            {
                "parameter": parameter,
                "start": None if parameter else starts.get(history[kept].digest),
                "pass": number,
                "trial": kept,
                "from": held[parameter] if parameter else None,
                "to": chosen[parameter] if parameter else None,
                "also": also,
                "gain": reached - fitness,
                "fitness": reached,
                "change": {
                    name: 100 * (new[name] / old[name] - 1)
                    for name in (term.metric for term in objective.terms)
                    if name in new and old.get(name, 0) > 0
                },
            }
        )
        before, fitness = kept, reached
    return found


def _by_parameter(
    steps: Sequence[Mapping[str, Any]], tried: Mapping[str, int]
) -> list[dict[str, Any]]:
    """The steps of each parameter together, the largest gain first."""
    total = sum(step["gain"] for step in steps)
    rows: dict[str, dict[str, Any]] = {}
    for step in steps:
        name = step["parameter"] or f"starting point {step['start']}"
        row = rows.setdefault(
            name,
            {
                "name": name,
                "from": step["from"],
                "gain": 0.0,
                "change": dict.fromkeys(step["change"], 0.0),
                "values": tried.get(name, 0),
            },
        )
        row["to"] = step["to"]
        row["gain"] += step["gain"]
        for metric, change in step["change"].items():
            factor = (1 + row["change"].get(metric, 0.0) / 100) * (1 + change / 100)
            row["change"][metric] = 100 * (factor - 1)
    for row in rows.values():
        row["share"] = 100 * row["gain"] / total if total > 0 else None
    return sorted(rows.values(), key=lambda row: -row["gain"])


def _metrics(evaluation: Evaluation, trial: int) -> Metrics:
    """The means of a configuration's runs, clocks corrected; of the baseline the medians."""
    history = evaluation.history
    baseline = evaluation.baseline
    if trial == BASELINE_TRIAL:
        return baseline.metrics
    runs = [
        run
        for run in history.of_configuration(history[trial].digest)
        if run.purpose is Purpose.CANDIDATE and run.done
    ]
    return baseline.corrected_mean(runs)
