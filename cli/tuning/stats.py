"""`rocktune stats`: what a log of RocksDB or db_bench tells, interval by interval."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.render.screen import print_json
from jobs.interval_report.documents import read_openings

EXAMPLES = """
Examples:
  rocktune stats /var/lib/mydb/LOG                     write amplification, and why writes stall
  rocktune stats db_bench.log --out curves             CSV, HTML and SVG plots, pgfplots
  rocktune stats db_bench.log --json                   every figure of the file, for a program
  cat LOG.old.* LOG > all; rocktune stats all          all openings of a database
"""


def stats_command(
    log: Annotated[
        Path, typer.Argument(help="A RocksDB LOG, or what db_bench printed; RocksDB 2.0 to 11.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="A folder for CSV, plots and pgfplots coordinates.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Every figure as JSON.")] = False,
) -> None:
    """Reads the statistics that RocksDB dumps: writes, compaction and stalls.

    By interval, column family and level. Tells why writes stall and which options to look at.
    """
    openings = read_openings(log)
    written: list[Path] = []
    if out is not None:
        from jobs.interval_report.files import write_interval_files

        written = write_interval_files(out, log.name, openings)
    if as_json:
        from jobs.interval_report.documents import stats_document

        document = stats_document(str(log), openings)
        print_json(document)
    else:
        from cli.render.stats_screen import show_openings

        show_openings(openings)
    for path in written:
        sys.stderr.write(f"{path}\n")
