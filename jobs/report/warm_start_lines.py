"""What a job took along of earlier ones, in words, for the terminal and the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def warm_start_lines(result: Mapping[str, Any]) -> list[str]:
    """One line for each earlier job; none where nothing was asked for or taken.

    Args:
        result: The document of result.json.
    """
    lines = []
    for row in result.get("warm_start", ()):
        agreed = ", ".join(f"{metric} {value:.2f}" for metric, value in row["agreement"].items())
        lines.append(
            f"Warm start: {row['trials']} of {row['of']} trials of job {row['job']} "
            f"({row['workload']}); agreement with this one, from 0 to 1: {agreed}"
        )
    return lines
