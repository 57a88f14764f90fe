"""What each parameter of a greedy job contributed, for the screen and for the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sampler.common.byte_size import format_bytes
from sampler.parameters.catalogue import catalogue

TOP = 6
CAUTION = (
    "By the runs that chose the values, mostly single ones and the best of several: the gains are "
    "flattered. What the whole is worth, only the proof says."
)


@dataclass(frozen=True)
class ContributionRow:
    """One parameter, all its steps together.

    Attributes:
        name: Of the parameter; or the starting point that the search began with.
        before: Its value at the baseline of the search, in words.
        after: The one that was kept last.
        values: How many configurations with other values of it were measured.
        gain: In fitness.
        share: Percent of the whole gain; None where there is none.
        changes: Percent of each metric of the objective, by name.
    """

    name: str
    before: str
    after: str
    values: int
    gain: float
    share: float | None
    changes: Mapping[str, float]


def contribution_rows(
    found: Mapping[str, Any], top: int | None = None
) -> tuple[ContributionRow, ...]:
    """The parameters that gained most, the largest gain first.

    Args:
        found: ``contributions`` of result.json.
        top: So many at most; None: all that changed.
    """
    return tuple(
        ContributionRow(
            row["name"],
            _value(row["name"], row["from"]),
            _value(row["name"], row["to"]),
            row["values"],
            row["gain"],
            row["share"],
            row["change"],
        )
        for row in found["parameters"][:top]
    )


def contribution_lines(found: Mapping[str, Any]) -> Sequence[str]:
    """How far the search came, and how far the figures can be relied on."""
    lines = [f"Greedy search: {found['why']}."]
    if found["idle"]:
        lines.append(f"Did nothing in their turn: {', '.join(found['idle'])}.")
    if not found["parameters"]:
        return [*lines, "No value was better than the one that the search began with."]
    return [*lines, CAUTION]


def _value(name: str, value: Any) -> str:
    if value is None:
        return ""
    known = catalogue().get(name)
    number = isinstance(value, int) and not isinstance(value, bool)
    if known is not None and known.scaled and number and value not in known.special:
        return format_bytes(value)
    return str(value)
