"""What is told beside a best configuration, in words: reasons, starting point, no trade, fullest.

The same for OPTIONS.ini, the terminal, the report and the dashboard. Results of earlier versions
have nothing of it.
"""

from collections.abc import Mapping
from typing import Any

from jobs.results.figures import option_value
from sampler.parameters.catalogue import catalogue


def reasons(result: Mapping[str, Any]) -> dict[str, str]:
    """By option that the best configuration changes, why."""
    rows = (result["best"] or {}).get("changes") or ()
    return {row["name"]: row["reason"] for row in rows}


def change_lines(result: Mapping[str, Any]) -> list[str]:
    """A line each, as ``write_buffer_size = 32 MiB: fitness +210 [120, 300] by models``."""
    known = catalogue()
    return [
        f"{row['name']} = {option_value(row['value'], known.get(row['name']))}: {row['reason']}"
        for row in (result["best"] or {}).get("changes") or ()
    ]


def beside_lines(result: Mapping[str, Any]) -> list[str]:
    """What a reader should know beside the best: a sentence each."""
    found = (_starting_point(result), _no_trade(result), _fullest(result))
    return [line for line in found if line]


def _starting_point(result: Mapping[str, Any]) -> str | None:
    start = result.get("starting_point")
    if not start:
        return None
    said = f"starting point {start['name']} (trial {start['trial']})"
    if start["is_best"]:
        return f"The candidate is the {said}: nothing that was searched is as simple and as good."
    if start["fitness"] is None:
        return None
    measured = f"{said}, measured beside it: fitness {_interval(start, start['fitness'])}"
    ahead = start["ahead"]
    figures = _interval(ahead, ahead["fitness"])
    if ahead["low"] > 0:
        return f"Ahead of the best {measured}; ahead by {figures}."
    if ahead["high"] < 0:
        return f"Behind the best {measured}; behind it: {figures}. Begin there, or search longer."
    return f"Not surely ahead of the best {measured}; ahead by {figures}."


def _no_trade(result: Mapping[str, Any]) -> str | None:
    untraded = result.get("no_trade")
    if not untraded:
        return None
    if untraded["is_best"]:
        return "No trade: the best is worse than the baseline in no term of the objective."
    terms = ", ".join(f"{name} {gain:+z.0f}" for name, gain in untraded["terms"].items())
    limits = " ".join(f'--limit "{limit}"' for limit in untraded["limits"])
    runs = "1 run" if untraded["runs"] == 1 else f"{untraded['runs']} runs"
    return (
        f"No trade: trial {untraded['trial']} is worse than the baseline in no term, fitness "
        f"{untraded['fitness']:.0f} ({terms}; {runs}): explored, not proven; its file: "
        f"`rocktune pick ID {limits} --out DIR`."
    )


def _fullest(result: Mapping[str, Any]) -> str | None:
    full = (result["best"] or {}).get("fullest")
    if not full:
        return None
    return (
        f"Simplified: trial {full['trial']} with {full['changes']} changes had fitness "
        f"{full['fitness']:.0f} where this one had {full['best_fitness']:.0f}, each in "
        f"{full['runs']} run{'s' * (full['runs'] != 1)} of the choice; its file: "
        "`rocktune options ID --fullest`."
    )


def _interval(row: Mapping[str, float], value: float) -> str:
    return f"{value:.0f} [{row['low']:z.0f}, {row['high']:z.0f}]"
