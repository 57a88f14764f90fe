"""A winner's explanation as a document: a part of result.json."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from optimizer.evaluation.evaluation import Evaluation
from optimizer.explanation.explanation import Explanation, explain_winner
from optimizer.explanation.withheld import withheld_of
from optimizer.simplification.changes import Changes
from optimizer.trials.problem import Problem
from sampler.space.space import Configuration

NOTHING_EXPLAINED: Mapping[str, None] = {"explanation": None, "explanation_withheld": None}
_INTERVAL_ERRORS = 3.92  # standard errors in a 95% interval of many pairs


def explanation_document(
    evaluation: Evaluation, winner: Configuration, *, low: float, high: float
) -> dict[str, Any]:
    """Why a winner is better, by the models alone: a part of result.json.

    ``low`` and ``high`` are the 95% interval of its fitness in the proof.

    Returns:
        ``explanation``: ``trials``, ``predicted``, ``steps``, ``minimal`` and ``measured``, which
            is null until points of the path are measured; null where nothing can be explained.
            ``explanation_withheld``: ``why``, and the counts that it rests on, where that is for
            want of configurations; else null.
    """
    problem, history = evaluation.problem, evaluation.history
    withheld = withheld_of(problem, history, Changes(problem, winner))
    if withheld is not None:
        return {**NOTHING_EXPLAINED, "explanation_withheld": withheld.document()}
    found = explain_winner(evaluation, winner, error=(high - low) / _INTERVAL_ERRORS)
    if found is None:
        return dict(NOTHING_EXPLAINED)
    return {**NOTHING_EXPLAINED, "explanation": _document(problem, winner, found)}


def fewer_changes(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """The minimal configuration of a result.json, where it has fewer changes than the best one.

    Results of earlier versions have none.
    """
    minimal: dict[str, Any] | None = (result.get("explanation") or {}).get("minimal")
    return minimal if minimal and minimal["dropped"] else None


def _document(problem: Problem, winner: Configuration, found: Explanation) -> dict[str, Any]:
    context, figures = problem.space.context, with_lists(asdict(found))
    steps = [
        {
            "changes": [
                {"name": n, "from": context[n], "to": winner[n]} for n in step.pop("names")
            ],
            "fixed": bool(found.fixed) and place == 0,
            **step,
        }
        for place, step in enumerate(figures["steps"])
    ]
    # ``refused``: RocksDB's words, where it does not take this file.
    minimal = figures["minimal"] and {**figures["minimal"], "refused": None}
    return {
        "trials": found.trials,
        "predicted": figures["fitness"],
        "steps": steps,
        "minimal": minimal,
        "measured": None,
    }


def with_lists(value: Any) -> Any:
    """The same with lists where there are tuples, as JSON has them."""
    if isinstance(value, Mapping):
        return {name: with_lists(each) for name, each in value.items()}
    return [with_lists(each) for each in value] if isinstance(value, (list, tuple)) else value
