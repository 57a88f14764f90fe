"""`rocktune stats`: what a log of RocksDB or db_bench tells, interval by interval."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from rich.table import Table
from typer import Argument, Option

from cli.render.screen import bare_table, print_json, say, screen
from jobs.interval_report.answers import REASON_WORDS, shown_name, stall_answer
from jobs.interval_report.documents import (
    as_text,
    family_table,
    level_table,
    most_written,
    notes,
    read_openings,
    shows_families,
    stats_document,
    totals_table,
)
from sampler.common.text import printable
from sampler.rocksdb.figure_lines import as_document
from sampler.rocksdb.opening import Opening

EXAMPLES = """
Examples:
  rocktune stats /var/lib/mydb/LOG                     write amplification, and why writes stall
  rocktune stats db_bench.log --out curves             writes CSV, HTML and SVG plots, pgfplots
  rocktune stats db_bench.log --json                   all figures, for a program
  cat LOG.old.* LOG > all; rocktune stats all          all openings of a database
"""


def stats_command(
    log: Annotated[Path, Argument(help="RocksDB LOG or output of db_bench; RocksDB 2.0 to 11.")],
    out: Annotated[
        Path | None, Option(help="Folder for CSV, plots and pgfplots coordinates.")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print all figures as JSON.")] = False,
) -> None:
    """Shows the statistics in a RocksDB LOG or db_bench output: writes, compaction, stalls.

    Figures are by interval, column family and level. A summary says why writes stall, and
    which options to look at.
    """
    openings = read_openings(log)
    written: list[Path] = []
    if out is not None:
        from jobs.interval_report.files import write_interval_files

        written = write_interval_files(out, log.name, openings)
    if as_json:
        print_json(stats_document(str(log), openings))
    else:
        show_openings(openings)
    for path in written:
        sys.stderr.write(f"{path}\n")


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
            f"Only totals are shown for openings 1 to {len(openings) - len(shown)}; "
            "--json and --out have all figures."
        )


def _tables(opening: Opening) -> list[tuple[str, Table]]:
    tables = []
    if counted := _stalls(opening):
        tables.append(("Stalls by reason", _table(counted)))
    if shows_families(opening):
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
