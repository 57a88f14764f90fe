"""`rocktune submit`: asks a service for a job."""

from collections.abc import Mapping
from typing import Annotated, Any

from typer import Option

from cli.client.remote import Url, opened, require_json, require_service
from cli.options.job_options import job_options
from cli.render.screen import json_alone, say, screen
from cli.render.submitting import Replace, show_submitted, submitted
from cli.stored.jobs import print_job
from jobs.specification.named_files import inlined
from sampler.common.errors import InputError, noting, refuse_noted

EXAMPLES = """
Examples:
  export ROCKTUNE_URL=http://bench:8080 ROCKTUNE_TOKEN=...
  rocktune submit --workload load --trials 400     prints the job's number
  rocktune submit --space mine.toml --watch        follows the job to its end
  rocktune submit --workload my-db.toml            uploads the workload
  rocktune submit --baseline /etc/my/OPTIONS       your OPTIONS file as the baseline
"""


@job_options(at_a_service=True)
def submit_command(
    asked: Mapping[str, Any],
    watch: Annotated[bool, Option("--watch", help="Follow the job to its end.")] = False,
    replace: Replace = False,
    as_json: Annotated[bool, json_alone("the job as JSON")] = False,
    url: Url = None,
) -> int:
    """Submits a tuning job to a service, and prints the job's number.

    For other jobs give --submit to `compare`, `upgrade-check`, `explain` or `profile`.

    Exit status: 0 submitted, 2 bad input, 1 the service failed or cannot be
    reached; with --watch that of `rocktune show`.
    """
    require_service(url)
    found: list[InputError] = []
    body: dict[str, Any] = {}
    with noting(found):
        body = inlined(asked)
    for name, value in {**asked, **body}.items():
        with noting(found):
            require_json(name, value)
    refuse_noted(found)
    with opened(url, None) as remote:
        with remote.unless_refused():
            named = None
            if isinstance(body.get("workload"), dict):
                named = body["workload"] = remote.upload(body["workload"], replace=replace)
            job, document = submitted(remote, body)
        if named is not None:
            say(screen(stderr=True), f"uploaded your file as workload {named}")
        if watch:
            say(screen(stderr=as_json), f"job {job.id} is {job.state}: {job.why}")
            return print_job(remote, job.id, follow=True, as_json=as_json)
    return show_submitted(job, document, as_json=as_json)
