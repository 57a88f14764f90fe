"""Asking a service for a job, once, also over a connection that breaks."""

import inspect
import time
import uuid
from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import Annotated, Any

from typer import Context, Option

from api.schemas.job_schemas import JobPublic
from cli.client.client_errors import LostError, UnavailableError, understood
from cli.client.remote import Remote, Url, opened, require_json, require_service
from cli.options.exits import Exit
from cli.options.job_options import request_options
from cli.render.screen import print_json, say, screen
from db.schema.job_row import JobKind
from jobs.specification.experiments import REQUESTS, read_experiment
from jobs.specification.named_files import inlined
from sampler.common.errors import InputError, refuse_noted

# What a restart of the service takes.
_AGAIN_AFTER_SECONDS = (0.5, 1.0, 2.0, 4.0, 8.0)
Submit = Annotated[
    bool, Option("--submit", help="Submit as a job to a service (--url); measure nothing here.")
]
Replace = Annotated[bool, Option("--replace", help="Replace an uploaded workload of this name.")]


def submittable(
    kind: JobKind,
    helps: Mapping[str, str],
    *,
    arguments: Mapping[str, str],
    unasked: Mapping[str, Any] | None = None,
) -> Callable[[Callable[..., int | None]], Any]:
    """Gives a command the fields of a kind's request, --submit, --url and --replace.

    The fields are as ``request_options`` has them, and the command's first parameter receives the
    request. With --submit a service measures, files go along, and the command's own options are
    refused.
    """
    request = REQUESTS[kind]

    def made(command: Callable[..., int | None]) -> Callable[..., int | None]:
        _, *own = inspect.signature(command, eval_str=True).parameters.values()
        names = [each.name for each in own]

        def asking(
            asked: Mapping[str, Any],
            ctx: Context,
            submit: Submit = False,
            replace: Replace = False,
            url: Url = None,
            **given: Any,
        ) -> int | None:
            require_submitted(replace, submit)
            read = read_experiment(kind, asked)
            if not submit:
                return command(read, **given, **({"url": url} if "url" in names else {}))
            refuse_noted(
                [
                    InputError(name, "is of runs on this machine, not of --submit")
                    for name in given.keys() - {"as_json"}
                    if (source := ctx.get_parameter_source(name)) and source.name == "COMMANDLINE"
                ]
            )
            return submit_experiment(
                kind, asked, url=url, as_json=given["as_json"], replace=replace
            )

        left_out = {"given", *names, *(() if "workload" in request.model_fields else ("replace",))}
        first, *added = inspect.signature(asking).parameters.values()
        others = [*own, *(each for each in added if each.name not in left_out)]
        others = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in others]
        asking.__signature__ = inspect.Signature([first, *others])  # type: ignore[attr-defined]
        options = request_options(
            request,
            helps,
            ("kind", "priority"),
            arguments=arguments,
            unasked=unasked,
            first=request.__annotations__,  # before those of the class that it shares with others
        )
        return options(update_wrapper(asking, command))  # type: ignore[no-any-return]

    return made


def require_submitted(replace: bool, submit: bool) -> None:
    """Refuses, with an InputError, --replace without --submit."""
    if replace and not submit:
        raise InputError("--replace", "replaces a workload of a service; give --submit as well")


def submit_experiment(
    kind: JobKind,
    given: Mapping[str, Any],
    *,
    url: str | None,
    as_json: bool,
    replace: bool = False,
) -> int:
    """Asks a service for an experiment, and prints the job's number.

    ``given`` is by the names of the kind's request; what is None or False is left out.
    """
    require_service(url)
    asked = {n: v for n, v in given.items() if v is not None and v is not False}
    body = inlined({"kind": kind.value, **asked})
    for name, value in body.items():
        require_json(name, value)
    with opened(url, None) as remote, remote.unless_refused():
        upload_loads(remote, body, replace=replace)
        job, document = submitted(remote, body)
    return show_submitted(job, document, as_json=as_json)


def upload_loads(remote: Remote, body: dict[str, Any], *, replace: bool) -> None:
    """Uploads the workloads of a job that are documents, and names them in their place."""
    loads = body.get("workload", [])
    several = loads if isinstance(loads, list) else [loads]
    named = [
        remote.upload(each, replace=replace) if isinstance(each, dict) else each
        for each in several
    ]
    if named:
        body["workload"] = named if loads is several else named[0]


def show_submitted(job: JobPublic, document: Any, *, as_json: bool) -> int:
    """Tells that a service has a job; the exit status."""
    if as_json:
        print_json(document)
    else:
        say(screen(), f"job {job.id} is {job.state}: {job.why}")
        say(screen(), f"Watch it with: rocktune show {job.id}")
    return Exit.DONE


def submitted(remote: Remote, body: dict[str, Any]) -> tuple[JobPublic, Any]:
    """The job, made once, and its document; what is sent again has the same key."""
    key, waits, lost = uuid.uuid4().hex, iter(_AGAIN_AFTER_SECONDS), False
    while True:
        try:
            document = remote.post("jobs", body, key=key)
            return understood(JobPublic, document), document
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
