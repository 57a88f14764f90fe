"""What a job's proof could have shown: without it "no change seen" says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optimizer.budget.power import smallest_change


def detectable(result: Mapping[str, Any]) -> dict[str, float]:
    """By metric, the smallest change in percent that the proof shows 8 times in 10.

    Results of earlier versions do not hold it: then it follows from the baseline's spread and the
    number of pairs, by the same calculation.

    Args:
        result: The document of result.json.
    """
    stored = (result.get("power") or {}).get("smallest_change")
    if stored is not None:
        return {name: value for name, value in stored.items() if value is not None}
    verdict = result["verdict"]
    if verdict is None or verdict["pairs"] < 2:
        return {}
    return {
        name: 100 * smallest_change(noise["spread"], verdict["pairs"])
        for name, noise in result["baseline"]["noise"].items()
        if noise["spread"] is not None
    }
