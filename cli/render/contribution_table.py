"""What each parameter of a greedy job contributed, on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from jobs.report.rows import (
    TOP,
    ContributionRow,
    contribution_lines,
    contribution_rows,
)


def print_contributions(
    console: Console, found: Mapping[str, Any], *, top: int | None = TOP
) -> None:
    """Prints the table of the top contributors and how far the search came.

    Args:
        console: Where.
        found: ``contributions`` of result.json.
        top: So many parameters at most; None: all that changed.
    """
    rows = contribution_rows(found, top)
    if rows:
        console.print(_table(rows, len(found["parameters"])))
    for line in contribution_lines(found):
        console.print(line, highlight=False, soft_wrap=True)


def _table(rows: tuple[ContributionRow, ...], of: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(f"top {len(rows)} of {of} contributors")
    table.add_column("from")
    table.add_column("to")
    table.add_column("values", justify="right")
    metrics = list(dict.fromkeys(metric for row in rows for metric in row.changes))
    for title in (*metrics, "fitness", "share"):
        table.add_column(title, justify="right")
    for row in rows:
        changes = [f"{row.changes[m]:+.1f}%" if m in row.changes else "" for m in metrics]
        share = "" if row.share is None else f"{row.share:.1f}%"
        table.add_row(
            row.name,
            row.before,
            row.after,
            str(row.values) if row.values else "",
            *changes,
            f"{row.gain:+z.0f}",
            share,
        )
    return table
