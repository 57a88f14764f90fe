"""Why a job that is done has proven nothing better, and what can be done then: in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.report.limit_rows import limit_rows
from jobs.report.report_power import detectable
from optimizer.objective.limits import kept_words

_NOISY = 0.05  # of the median: a baseline that scatters more hides a usual gain


def reasons_unproven(result: Mapping[str, Any]) -> list[str]:
    """The reasons, the deciding one first; none where something was proven.

    Args:
        result: The document of result.json.
    """
    if result["best"] is not None:
        return []
    verdict, names = result["verdict"], _names(result)
    if verdict is None:
        counts = result["trials"]
        return [
            "No new configuration could be measured against the baseline: "
            f"{counts['done']} of {counts['total']} runs ended well."
        ]
    found = [f"The declared test did not pass: {verdict['why']}."]
    if verdict.get("low") is not None:
        found.append(
            f"The candidate's fitness is {verdict['fitness']:.0f}, with 95% between "
            f"{verdict['low']:.0f} and {verdict['high']:.0f}; all of that must lie above 0."
        )
    found += [f"Limit {kept_words(row)}." for row in limit_rows(result) if row["kept"] is False]
    power = {name: value for name, value in detectable(result).items() if name in names}
    if power:
        seen = ", ".join(f"{name} {value:.1f}%" for name, value in power.items())
        found.append(
            f"{verdict['pairs']} pairs of runs show a change of one metric 8 times in 10 if it is "
            f"at least {seen}. A smaller one may be there and unseen."
        )
    noisy = {
        name: noise["spread"]
        for name, noise in result["baseline"]["noise"].items()
        if name in names and (noise["spread"] or 0.0) > _NOISY
    }
    if noisy:
        said = ", ".join(f"{name} by {100 * spread:.0f}%" for name, spread in noisy.items())
        found.append(f"The baseline itself scatters: {said} of its median (standard deviation).")
    return found


def what_next(result: Mapping[str, Any]) -> list[str]:
    """What may prove more, where nothing was proven."""
    if result["best"] is not None:
        return []
    found = [
        "Give it more trials: clone the job with a larger budget. What it has measured can be "
        "taken over with a warm start.",
    ]
    if any(row["kept"] is False for row in limit_rows(result)):
        found.append("Loosen the limit that was broken, if you can live with that.")
    if result["verdict"] is not None:
        found.append(
            "Look at the preference below: by other weights another configuration may be the "
            "best. What is picked there is explored, not proven."
        )
    found.append("Or keep what you have: for this load and machine it may be good already.")
    return found


def _names(result: Mapping[str, Any]) -> list[str]:
    return [row["name"] for row in result["job"]["objective"]["metric"]]
