"""`rocktune stats`: what a log of RocksDB or db_bench tells, interval by interval."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """
Examples:

  rocktune stats /var/lib/mydb/LOG                     rates and stalls since the last opening

  rocktune stats db_bench.log --out curves             CSV, HTML and SVG plots, pgfplots

  rocktune stats db_bench.log --json                   every interval, for a program
"""


def stats(
    log: Annotated[Path, typer.Argument(help="A RocksDB LOG, or what db_bench printed.")],
    out: Annotated[
        Path | None, typer.Option(help="A folder for CSV, plots and pgfplots coordinates.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Every interval as JSON.")] = False,
) -> int:
    """Reads the statistics that RocksDB dumps: writes, compaction and stalls by interval."""
    from rich.table import Table

    from cli.exits import Exit
    from cli.screen import screen
    from jobs.interval_report.reading import read_intervals
    from jobs.interval_report.table import rows, summary

    openings = read_intervals(log)
    written: list[Path] = []
    if out is not None:
        from jobs.interval_report.files import write_files

        written = write_files(out, log.name, openings)
    if as_json:
        document = {
            "schema": 1,
            "log": str(log),
            "openings": [summary(opening) for opening in openings],
            "intervals": rows(openings),
        }
        sys.stdout.write(json.dumps(document, allow_nan=False) + "\n")
    else:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("", no_wrap=True)
        for number in range(1, len(openings) + 1):
            table.add_column(f"opening {number}" if len(openings) > 1 else "", justify="right")
        columns = [summary(opening) for opening in openings]
        for name in columns[0]:
            table.add_row(_WORDS[name], *(_cell(column[name]) for column in columns))
        screen().print(table)
    for path in written:
        sys.stderr.write(f"{path}\n")
    return Exit.DONE


_WORDS = {
    "intervals": "intervals",
    "seconds": "seconds",
    "writes_gib": "came in, GiB",
    "writes_mib_s": "came in, MiB/s",
    "compaction_gib": "flushed and compacted, GiB",
    "compaction_mib_s": "flushed and compacted, MiB/s",
    "write_amplification": "write amplification",
    "stall_percent": "stalled, %",
    "highest_writes_mib_s": "highest interval writes, MiB/s",
    "highest_compaction_mib_s": "highest interval compaction, MiB/s",
    "highest_stall_percent": "highest interval stall, %",
}


def _cell(value: float | None) -> str:
    return "n/a" if value is None else f"{value:,.5g}"
