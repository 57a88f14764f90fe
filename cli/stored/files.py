"""`rocktune options` and `report`: the files of a finished job."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.client.client_errors import NotFoundError
from cli.client.following import job_of
from cli.client.remote import Remote
from cli.client.where import Db, JobId, Url, opened
from cli.options.exits import Exit, complain
from sampler.common.atomic_write import write_output
from sampler.common.errors import InputError
from sampler.options.forms import FORMS

OPTIONS_EXAMPLES = """
Examples:
  rocktune options 12                      to standard output
  rocktune options 12 --out OPTIONS.ini    to a file, whole or not at all
  rocktune options 12 --minimal            the fewest changes that are as good
  rocktune options 12 --fullest            the candidate that it was simplified from
  rocktune options 12 --format setoptions  the calls that change a running database
  rocktune options 12 --format string      option strings, as MyRocks takes them
"""


def options_command(
    job_id: JobId,
    out: Annotated[
        Path | None, typer.Option(help="Receives it; else standard output does.")
    ] = None,
    minimal: Annotated[
        bool, typer.Option("--minimal", help="The one with the fewest changes, by models.")
    ] = False,
    fullest: Annotated[
        bool, typer.Option("--fullest", help="The candidate with most changes, not proven.")
    ] = False,
    form: Annotated[str, typer.Option("--format", help=f"The form: {', '.join(FORMS)}.")] = "ini",
    url: Url = None,
    db: Db = None,
) -> int:
    """Writes the OPTIONS file of what a job has proven better, or another form of it.

    Exit status: 0 written, 3 the job found nothing better (or has no file with fewer
    changes for --minimal, with more for --fullest), 2 bad input.
    """
    if minimal and fullest:
        raise InputError("--fullest", "give it or --minimal, not both")
    if form not in FORMS:
        raise InputError("--format", f"is one of {', '.join(FORMS)}, not {form!r}")
    which = "minimal" if minimal else "fullest" if fullest else None
    with opened(url, db) as remote:
        text = _options(remote, job_id, which, form)
    if text is None:
        why = "found nothing better than its baseline"
        if minimal:
            why += ", or no change of it can be left out"
        if fullest:
            why += ", or no candidate has more changes"
        complain(f"job {job_id} {why}; there is no file")
        return Exit.ANSWER_IS_NO
    if out is not None:
        write_output(out, text.encode())
    elif sys.stdout.isatty():
        from sampler.common.untrusted_text import printable

        sys.stdout.write("".join(f"{printable(line)}\n" for line in text.splitlines()))
    else:
        sys.stdout.write(text)
    return Exit.DONE


def _options(remote: Remote, job_id: int, which: str | None, form: str) -> str | None:
    """The file's text; None where nothing was better."""
    try:
        # ``minimal`` is what services of earlier versions know.
        minimal = "true" if which == "minimal" else None
        more = which if which == "fullest" else None
        asked = {"minimal": minimal, "which": more, "format": None if form == "ini" else form}
        if form == "json":
            return json.dumps(remote.get(f"jobs/{job_id}/options", **asked), indent=1) + "\n"
        return remote.text(f"jobs/{job_id}/options", **asked)
    except NotFoundError:
        # There is no file, or not even a job: then this is not found either.
        if job_of(remote, job_id)[0].state.value != "done":
            raise
        return None


REPORT_EXAMPLES = """
Examples:
  rocktune report 12                        writes report-12.html
  rocktune report 12 --out /tmp/load.html   writes it there, whole or not at all
  rocktune report 12 --db /tmp/other.db     of a job in another database
"""


def report_command(
    job_id: JobId,
    out: Annotated[
        Path | None, typer.Option(help="Receives the page; report-ID.html by default.")
    ] = None,
    url: Url = None,
    db: Db = None,
) -> None:
    """Writes the report of a finished job: one HTML file that opens without a network.

    Where an earlier version of Rocktune made it, it is made anew from the stored trials.

    Exit status: 0 written, 2 bad input, such as a job that has not ended.
    """
    path = Path(f"report-{job_id}.html") if out is None else out
    with opened(url, db) as remote:
        page = remote.page(f"jobs/{job_id}/report")
    write_output(path, page)
    typer.echo(f"Written to {path}")
