"""`rocktune submit`: asks a service for a job."""

import time
import uuid
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from api.schemas.job_schemas import JobPublic
from cli.client.client_errors import LostError, UnavailableError, understood
from cli.client.remote import Remote, require_json
from cli.client.where import Url, opened, require_service
from cli.options.exits import Exit
from cli.options.job_options import job_options
from cli.render.screen import json_alone, print_json, say, screen
from cli.stored.show import print_job
from jobs.specification.named_files import inlined
from jobs.specification.request import option_of
from sampler.common.errors import InputError, noting, refuse_noted

EXAMPLES = """
Examples:
  export ROCKTUNE_URL=http://bench:8080 ROCKTUNE_TOKEN=...
  rocktune submit --workload load --trials 400     prints the job's number
  rocktune submit --space mine.toml --watch        and shows how it goes
  rocktune submit --workload my-db.toml            uploads it; later jobs name it
  rocktune submit --baseline /etc/my/OPTIONS       to beat what you run today
"""
# What a restart of the service takes.
_AGAIN_AFTER_SECONDS = (0.5, 1.0, 2.0, 4.0, 8.0)


@job_options(at_a_service=True)
def submit_command(
    asked: Mapping[str, Any],
    watch: Annotated[bool, typer.Option("--watch", help="Show how it goes, to its end.")] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the service's workload by your file.")
    ] = False,
    as_json: Annotated[bool, json_alone("The job's document")] = False,
    url: Url = None,
) -> int:
    """Asks a service for a tuning job, and prints the job's number.

    Exit status: 0 the service has it, 2 bad input, 1 the service failed or
    cannot be reached; with --watch that of `rocktune show`.
    """
    require_service(url)
    found: list[InputError] = []
    body: dict[str, Any] = {}
    with noting(found):
        body = inlined(asked)
    for name, value in {**asked, **body}.items():
        with noting(found):
            require_json(option_of(name), value)
    refuse_noted(found)
    with opened(url, None) as remote:
        if isinstance(body.get("workload"), dict):
            body["workload"] = remote.upload(body["workload"], replace=replace)
            known = f"the service has your file as its workload {body['workload']}"
            say(screen(stderr=True), known)
        document = _submitted(remote, body)
        return _tell(remote, document, watch=watch, as_json=as_json)


def _submitted(remote: Remote, body: dict[str, Any]) -> Any:
    """The job, made once: what is sent again has the same key."""
    key = uuid.uuid4().hex
    waits = iter(_AGAIN_AFTER_SECONDS)
    lost = False
    while True:
        try:
            return remote.post("jobs", body, key=key)
        except UnavailableError as error:
            # Before anything was sent there is nothing to make good.
            lost = lost or isinstance(error, LostError)
            wait = next(waits, None)
            if not lost:
                raise
            if wait is None:
                said = f"{error}; `rocktune jobs` tells whether the job was made"
                raise UnavailableError(said) from None
            time.sleep(wait)


def _tell(remote: Remote, document: Any, *, watch: bool, as_json: bool) -> int:
    job = understood(JobPublic, document)
    if as_json and not watch:
        print_json(document)
        return Exit.DONE
    console = screen(stderr=as_json)
    say(console, f"job {job.id} is {job.state}: {job.why}")
    if watch:
        return print_job(remote, job.id, follow=True, as_json=as_json)
    say(console, f"Watch it with: rocktune show {job.id}")
    return Exit.DONE
