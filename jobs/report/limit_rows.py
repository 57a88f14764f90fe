"""The limits of a job and whether its winner keeps them, from what is stored of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optimizer.objective.limits import kept_words, limit_words
from optimizer.objective.objective import Limit

_UNKNOWN = ("at_least", "at_most", "value", "kept", "runs_kept", "runs")


def limit_rows(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A row for each limit, as ``KeptLimit.document``; ``kept`` is null where nothing was proven.

    Args:
        result: The document of result.json; one of an earlier version does not say what was kept.
    """
    judged: list[Mapping[str, Any]] = (result["verdict"] or {}).get("limits") or []
    if judged:
        return judged
    return [
        {"limit": limit_words(limit), "metric": limit.metric, **dict.fromkeys(_UNKNOWN)}
        for limit in limits_asked(result["job"]["objective"])
    ]


def limits_asked(objective: Mapping[str, Any]) -> list[Limit]:
    """The limits in a stored objective's document."""
    return [Limit(**row) for row in objective.get("limit", [])]


def limit_lines(result: Mapping[str, Any]) -> list[str]:
    """One line for each limit."""
    return [
        f"Limit {row['limit']} was not judged: there is no proof"
        if row["kept"] is None
        else f"Limit {kept_words(row)}"
        for row in limit_rows(result)
    ]
