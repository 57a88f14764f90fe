"""What the best configuration of a job sets otherwise than the baseline, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sampler.common.byte_size import format_bytes
from sampler.parameters.catalogue import catalogue
from sampler.parameters.parameter import Parameter


def option_changes(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The options of the best configuration that differ from the baseline, with their help."""
    if result["best"] is None:
        return []
    baseline, best = result["baseline"]["configuration"], result["best"]["configuration"]
    known = catalogue()
    rank = {row["name"]: row["rank"] for row in result["parameters"]}
    rows = [
        {
            "name": name,
            "default": value_words(baseline.get(name), known.get(name)),
            "best": value_words(best.get(name), known.get(name)),
            "rank": rank.get(name),
            "help": known[name].help if name in known else "",
            "factor": name in known and known[name].section == "workload",
        }
        for name in dict.fromkeys([*best, *baseline])
        if baseline.get(name) != best.get(name)
    ]
    return sorted(rows, key=lambda row: (row["rank"] is None, row["rank"]))


def value_words(value: Any, parameter: Parameter | None) -> str:
    """A value as a table shows it: bytes with their unit beside; None is ``inactive``."""
    if value is None:
        return "inactive"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if parameter and parameter.scaled and number and value >= 1024:
        return f"{value} ({format_bytes(value)})"
    return str(value)


def carried_apart(result: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """What the best configuration sets that no OPTIONS file carries, by section."""
    known = catalogue()
    apart: dict[str, list[tuple[str, str]]] = {"deployment": [], "workload": []}
    for name, value in (result["best"] or {}).get("configuration", {}).items():
        if name in known and known[name].section in apart:
            said = value_words(value, known[name])
            apart[known[name].section].append((known[name].key or name, said))
    return apart
