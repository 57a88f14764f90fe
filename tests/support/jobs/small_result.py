"""A result of a job with those parts alone that a test is about."""

from typing import Any

from optimizer.results.document import Result

OBJECTIVE = {"name": "o", "metric": [{"name": "waf", "direction": "min"}]}


def small_result(**parts: Any) -> Result:
    """The result that holds ``parts``; a verdict and a winner need what they are told with."""
    if verdict := parts.get("verdict"):
        known = {"fitness": 1.0, "pairs": 7, "why": "why", "metrics": {}, "change": {}}
        parts["verdict"] = known | verdict
    return Result.read(
        {
            "schema": 1, "job": {"objective": OBJECTIVE}, "environment": {},
            "baseline": {"metrics": {}}, "best": None, "verdict": None, "parameters": [],
            "forest": {}, **parts,
        }
    )  # fmt: skip
