"""An explanation in words and figures: the same for the terminal and the report."""

from collections.abc import Mapping
from typing import Any

from jobs.results.figures import option_value
from sampler.parameters.catalogue import catalogue

_MOST_NAMED = 8


def step_words(step: Mapping[str, Any]) -> str:
    """All that changes in a step, as ``write_buffer_size 64 MiB -> 32 MiB``."""
    changes = []
    for change in step["changes"]:
        known = catalogue().get(change["name"])
        before, after = (option_value(change[side], known) for side in ("from", "to"))
        changes.append(f"{change['name']} {before} -> {after}")
    said = " and ".join(changes)
    return f"{said} (in every configuration of the space)" if step["fixed"] else said


def estimate_words(estimate: Mapping[str, float]) -> str:
    """A figure of fitness with its interval."""
    return f"{estimate['expected']:+z.0f} [{estimate['low']:+z.0f}, {estimate['high']:+z.0f}]"


def basis_words(explanation: Mapping[str, Any]) -> str:
    """What the figures rest on."""
    said = (
        f"Expected by models of {explanation['trials']} trials, 95% intervals; each step is on "
        "top of those before it"
    )
    measured = explanation["measured"]
    if measured is None:
        return f"{said}. Nothing of it was measured: `rocktune explain ID --runs 7` does that."
    return f"{said}. Measured: {measured['rounds']} rounds on {measured['host']}."


def minimal_lines(explanation: Mapping[str, Any]) -> list[str]:
    """Which changes are enough."""
    minimal, measured = explanation["minimal"], explanation["measured"]
    if minimal is None:
        return ["The models do not see that the winner is better: no change is called idle."]
    count = len(minimal["kept"]) + len(minimal["dropped"])
    if not minimal["dropped"]:
        if count == 1:
            return ["The one change is kept: the trials do not show that it is idle."]
        return [f"All {count} changes are kept: the trials do not show that any of them is idle."]
    loss = minimal["loss"]
    against = {"expected": -loss["expected"], "low": -loss["high"], "high": -loss["low"]}
    lines = [
        f"{len(minimal['kept'])} of {count} changes are enough: {_some(minimal['kept'])}. "
        f"Left at the baseline: {_some(minimal['dropped'])}.",
        f"Fewest changes against the winner, expected: fitness {estimate_words(against)} "
        f"(allowed: {-minimal['noise']:.0f}).",
    ]
    if minimal["refused"]:
        lines.append(f"RocksDB does not take that file: {minimal['refused']}.")
    judged = (measured or {}).get("minimal")
    if judged is not None:
        shown = "not worse" if judged["shown"] else "not shown to be as good"
        lines.append(f"Fewest changes, measured: {shown}; {judged['why']}.")
    return lines


def withheld_words(result: Mapping[str, Any]) -> str | None:
    """Why a winner is not explained, as a sentence; None where it is, or there is none."""
    withheld = result.get("explanation_withheld")
    return f"Explanation {withheld['why']}." if withheld else None


def _some(names: list[str]) -> str:
    if not names:
        return "none"
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
