"""An explanation as the report's table shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.results.explanation_words import basis_words, estimate_words, minimal_lines, step_words


def explanation_rows(result: Mapping[str, Any], metrics: Sequence[str]) -> dict[str, Any] | None:
    """The lines and rows of the section; None where there is nothing to explain.

    Args:
        result: The document of result.json; those of earlier versions have no explanation.
        metrics: Those of the objective.
    """
    explanation = result.get("explanation")
    if not explanation:
        return None
    kept = set((explanation["minimal"] or {}).get("kept", ()))
    measured = (explanation["measured"] or {}).get("steps", [])
    return {
        "lines": minimal_lines(explanation),
        "basis": basis_words(explanation),
        "metrics": metrics,
        "measured": bool(measured),
        "rows": [
            {
                "what": step_words(step),
                "gain": estimate_words(step["gain"]),
                "measured": _measured(measured, place),
                "metrics": [_percent(step["metrics"].get(name)) for name in metrics],
                "needed": _needed(step, kept, explanation["minimal"]),
            }
            for place, step in enumerate(explanation["steps"])
        ],
    }


def _measured(measured: Sequence[Mapping[str, Any] | None], place: int) -> str:
    found = measured[place] if place < len(measured) else None
    return estimate_words(found["fitness"]) if found else ""


def _needed(step: Mapping[str, Any], kept: set[str], minimal: Mapping[str, Any] | None) -> str:
    if minimal is None or step["fixed"]:
        return ""
    return "kept" if any(change["name"] in kept for change in step["changes"]) else "left out"


def _percent(estimate: Mapping[str, float] | None) -> str:
    if estimate is None:
        return "n/a"
    return f"{estimate['expected']:+.1f}% [{estimate['low']:+.1f}, {estimate['high']:+.1f}]"
