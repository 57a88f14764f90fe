"""`rocktune options` and `report`: the files of a finished job."""

import json
import sys
from pathlib import Path
from typing import Annotated

from typer import Option, echo

from cli.client.remote import Db, JobId, Remote, Url, asking, opened
from cli.stored.jobs import answer_may_be_no
from sampler.common.atomic_write import write_output
from sampler.common.errors import InputError
from sampler.common.untrusted_text import printable
from sampler.options.forms import FORMS

OPTIONS_EXAMPLES = """
Examples:
  rocktune options 12                      prints the file
  rocktune options 12 --out OPTIONS.ini    writes it to a file
  rocktune options 12 --minimal            the fewest changes that keep the gain, by models
  rocktune options 12 --fullest            the candidate before it was simplified
  rocktune options 12 --format setoptions   the calls that change a running database
  rocktune options 12 --format string      option strings, for MyRocks
"""


def options_command(
    job_id: JobId,
    out: Annotated[Path | None, Option(help="File to write. Default: standard output.")] = None,
    minimal: Annotated[
        bool, Option("--minimal", help="File with the fewest changes, according to models.")
    ] = False,
    fullest: Annotated[
        bool, Option("--fullest", help="File of the candidate with the most changes, not proven.")
    ] = False,
    form: Annotated[str, Option("--format", help=f"Format: {', '.join(FORMS)}.")] = "ini",
    url: Url = None,
    db: Db = None,
) -> None:
    """Writes the OPTIONS file of a job's winner, or the same in another format.

    Exit status: 0 written, 3 nothing was proven (or there is no file with fewer
    changes for --minimal, with more for --fullest), 2 bad input.
    """
    if minimal and fullest:
        raise InputError("--fullest", "give either --fullest or --minimal")
    if form not in FORMS:
        raise InputError("--format", f"{form!r} is not one of {', '.join(FORMS)}")
    why = f"job {job_id} found nothing better than its baseline"
    why += ", or none of its changes can be left out" if minimal else ""
    why += ", or no candidate has more changes" if fullest else ""
    asked = {
        "minimal": "true" if minimal else None,  # what services of earlier versions know
        "which": "fullest" if fullest else None,
        "format": None if form == "ini" else form,
    }
    path = f"jobs/{job_id}/options"
    with opened(url, db) as remote, answer_may_be_no(remote, job_id, f"{why}; there is no file"):
        if form == "json":
            text = json.dumps(remote.get(path, **asked), indent=1) + "\n"
        else:
            text = remote.file(path, "text/plain", **asked).text
    if out is not None:
        write_output(out, text.encode())
    elif sys.stdout.isatty():
        sys.stdout.write("".join(f"{printable(line)}\n" for line in text.splitlines()))
    else:
        sys.stdout.write(text)


REPORT_EXAMPLES = """
Examples:
  rocktune report 12                        writes report-12.html
  rocktune report 12 --out /tmp/load.html   writes /tmp/load.html
  rocktune report 12 --db /tmp/other.db     a job in another database
"""


@asking()
def report_command(
    remote: Remote,
    job_id: JobId,
    out: Annotated[
        Path | None, Option(help="HTML file to write. Default: report-ID.html.")
    ] = None,
) -> None:
    """Writes the report of a finished job: one HTML file that opens offline.

    A report by an earlier version of Rocktune is made anew from the stored trials.

    Exit status: 0 written, 2 bad input, such as a job that has not ended.
    """
    path = Path(f"report-{job_id}.html") if out is None else out
    write_output(path, remote.file(f"jobs/{job_id}/report", "text/html").content)
    echo(f"Written to {path}")
