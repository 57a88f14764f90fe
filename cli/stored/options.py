"""`rocktune options`: the OPTIONS file of what was proven better."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.client.answers import NotFoundError
from cli.client.where import Db, JobId, Url, opened
from cli.options.exits import Exit, complain
from sampler.common.atomic_write import write_output

if TYPE_CHECKING:
    from cli.client.remote import Remote

EXAMPLES = """
Examples:

  rocktune options 12                      to standard output

  rocktune options 12 --out OPTIONS.ini    to a file, whole or not at all

  rocktune options 12 --minimal            the fewest changes that are as good
"""


def options(
    job_id: JobId,
    out: Annotated[
        Path | None, typer.Option(help="Receives it; else standard output does.")
    ] = None,
    minimal: Annotated[
        bool, typer.Option("--minimal", help="The one with the fewest changes, by models.")
    ] = False,
    url: Url = None,
    db: Db = None,
) -> int:
    """Writes the OPTIONS file of what a job has proven better.

    Exit status: 0 written, 3 the job found nothing better (or, with --minimal, no
    change can be left out), 2 bad input.
    """
    with opened(url, db) as remote:
        text = _options(remote, job_id, minimal=minimal)
    if text is None:
        why = "found nothing better than its baseline"
        if minimal:
            why += ", or no change of it can be left out"
        complain(f"job {job_id} {why}; there is no file")
        return Exit.ANSWER_IS_NO
    if out is not None:
        write_output(out, text.encode())
    elif sys.stdout.isatty():
        from cli.render.screen import plain

        sys.stdout.write("".join(f"{plain(line)}\n" for line in text.splitlines()))
    else:
        sys.stdout.write(text)
    return Exit.DONE


def _options(remote: Remote, job_id: int, *, minimal: bool) -> str | None:
    """The file's text; None where nothing was better."""
    from cli.client.following import job_of

    try:
        return remote.text(f"jobs/{job_id}/options", minimal="true" if minimal else None)
    except NotFoundError:
        # There is no file, or not even a job: then this is not found either.
        if job_of(remote, job_id)[0].state.value != "done":
            raise
        return None
