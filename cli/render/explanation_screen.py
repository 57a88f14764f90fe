"""An explanation on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from jobs.results.explanation_words import basis_words, estimate_words, minimal_lines, step_words


def show_explanation(console: Console, explanation: Mapping[str, Any], job_id: int) -> None:
    """Prints the path as a table, which changes are enough, and what that rests on.

    Args:
        console: One on which text is nothing but text.
        explanation: As the service tells it.
        job_id: Of the job.
    """
    console.print(_table(explanation))
    for line in minimal_lines(explanation):
        console.print(line, soft_wrap=True)
    console.print(basis_words(explanation).replace(" ID ", f" {job_id} "), soft_wrap=True)


def _table(explanation: Mapping[str, Any]) -> Table:
    measured = (explanation["measured"] or {}).get("steps", [])
    kept = set((explanation["minimal"] or {}).get("kept", ()))
    metrics = list(explanation["steps"][0]["metrics"]) if explanation["steps"] else []
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("change", overflow="fold")
    table.add_column("fitness", justify="right", no_wrap=True)
    if measured:
        table.add_column("measured", justify="right", no_wrap=True)
    for name in metrics:
        table.add_column(name.upper(), justify="right", no_wrap=True)
    table.add_column("enough", no_wrap=True)
    for place, step in enumerate(explanation["steps"]):
        cells = [estimate_words(step["gain"])]
        if measured:
            found = measured[place] if place < len(measured) else None
            cells.append(estimate_words(found["fitness"]) if found else "")
        cells += [f"{step['metrics'][name]['expected']:+.1f}%" for name in metrics]
        needed = any(change["name"] in kept for change in step["changes"])
        table.add_row(str(place + 1), step_words(step), *cells, "kept" if needed else "")
    total = [estimate_words(explanation["predicted"])]
    if measured:
        winner = explanation["measured"]["winner"]
        total.append(estimate_words(winner["fitness"]) if winner else "")
    table.add_row("", "all of them: the winner", *total, *("" for _ in metrics), "")
    return table
