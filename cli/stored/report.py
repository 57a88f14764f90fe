"""`rocktune report`: the report of a finished job, as one file that needs nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.client.where import Db, JobId, Url, opened
from cli.options.exits import Exit
from sampler.common.atomic_write import write_output

EXAMPLES = """
Examples:

  rocktune report 12                        writes report-12.html

  rocktune report 12 --out /tmp/load.html   writes it there, whole or not at all

  rocktune report 12 --db /tmp/other.db     of a job in another database
"""


def report(
    job_id: JobId,
    out: Annotated[
        Path | None, typer.Option(help="Receives the page; report-ID.html by default.")
    ] = None,
    url: Url = None,
    db: Db = None,
) -> int:
    """Writes the report of a finished job: one HTML file that opens without a network.

    Where an earlier version of Rocktune made it, it is made anew from the stored trials.

    Exit status: 0 written, 2 bad input, such as a job that has not ended.
    """
    path = Path(f"report-{job_id}.html") if out is None else out
    with opened(url, db) as remote:
        page = remote.page(f"jobs/{job_id}/report")
    write_output(path, page)
    typer.echo(f"Written to {path}")
    return Exit.DONE
