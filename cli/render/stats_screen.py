"""`rocktune stats` on the terminal: totals, stalls, column families and levels of each opening."""

from collections.abc import Sequence

from rich.table import Table

from cli.render.screen import bare_table, say, screen
from jobs.interval_report.answers import REASON_WORDS, shown_name, stall_answer
from jobs.interval_report.documents import (
    as_text,
    family_table,
    level_table,
    most_written,
    notes,
    totals_table,
)
from sampler.common.untrusted_text import printable
from sampler.stats_dumps.opening import Opening
from sampler.stats_dumps.stall_reasons import as_document

_MOST_FAMILIES = 8  # whose levels are shown; --json and --out have all
_MOST_OPENINGS = 4


def show_openings(openings: Sequence[Opening]) -> None:
    """Prints what a file tells: the totals side by side, then the rest of the last openings."""
    console = screen()
    console.print(_table(totals_table(openings)))
    shown = list(enumerate(openings, start=1))[-_MOST_OPENINGS:]
    for number, opening in shown:
        console.print()
        if len(openings) > 1:
            console.print(f"Opening {number}", style="bold")
        say(console, stall_answer(opening), *notes(opening))
        for title, table in _tables(opening):
            console.print()
            console.print(printable(title), style="bold")
            console.print(table)
    if len(shown) < len(openings):
        console.print()
        console.print(
            f"Openings 1 to {len(openings) - len(shown)} are shown by their totals alone; "
            "--json and --out have all."
        )


def _tables(opening: Opening) -> list[tuple[str, Table]]:
    tables = []
    if counted := _stalls(opening):
        tables.append(("Stalls by reason", _table(counted)))
    if len(opening.families) > 1:
        tables.append(("Column families", _table(family_table(opening))))
    shown = [part for part in most_written(opening) if part.levels]
    return tables + [
        (f"Levels of {shown_name(part.family)}", _table(level_table(part)))
        for part in shown[:_MOST_FAMILIES]
    ]


def _stalls(opening: Opening) -> list[list[str]]:
    counts = as_document(opening.stalls)
    rows = [
        [REASON_WORDS[reason], as_text(kinds.get("delays")), as_text(kinds.get("stops"))]
        for reason, kinds in counts.items()
        if any(kinds.values())
    ]
    return [["reason", "slowdowns", "stops"], *rows] if rows else []


def _table(rows: Sequence[Sequence[str]]) -> Table:
    header, *body = rows
    table = bare_table()
    for number, title in enumerate(header):
        table.add_column(
            title, justify="right" if number else "left", no_wrap=" " not in title, overflow="fold"
        )
    for row in body:
        table.add_row(*(printable(cell) for cell in row))
    return table
