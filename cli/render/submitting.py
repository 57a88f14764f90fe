"""Asking a service for a job, once, also over a connection that breaks."""

import inspect
import time
import uuid
from collections.abc import Callable, Mapping
from functools import update_wrapper
from pathlib import Path
from typing import Annotated, Any, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from typer import Context, Option

from api.schemas.job_schemas import JobPublic
from cli.client.client_errors import LostError, UnavailableError, understood
from cli.client.remote import Remote, Url, opened, require_json, require_service
from cli.options.exits import Exit
from cli.options.job_options import names_of
from cli.render.screen import print_json, say, screen
from db.schema.job_row import JobKind
from jobs.specification.experiments import REQUESTS, sent_experiment
from sampler.common.errors import InputError, refuse_noted, value_problem

# What a restart of the service takes.
_AGAIN_AFTER_SECONDS = (0.5, 1.0, 2.0, 4.0, 8.0)
Submit = Annotated[
    bool, Option("--submit", help="Submit as a job to a service (--url); measure nothing here.")
]
Replace = Annotated[bool, Option("--replace", help="Replace an uploaded workload of this name.")]


def submittable(kind: JobKind, **called: str) -> Callable[[Callable[..., int | None]], Any]:
    """Gives a command --submit, --url and, with a workload, --replace.

    A service measures then, and files go along; other options of the command are refused.

    The command's parameters are named as in the request of the kind, or ``called`` so there. Those
    without an option of their own have that of the request's field: its help, default and bounds.
    """

    def made(command: Callable[..., int | None]) -> Callable[..., int | None]:
        fields = REQUESTS[kind].model_fields
        own = {
            name: _as_in_request(each, fields.get(called.get(name, name)))
            for name, each in inspect.signature(command, eval_str=True).parameters.items()
        }

        def asking(
            ctx: Context,
            submit: Submit = False,
            replace: Replace = False,
            url: Url = None,
            **given: Any,
        ) -> int | None:
            require_submitted(replace, submit)
            _require_bounds(kind, {n: v for n, v in given.items() if own[n].default is not v})
            if not submit:
                return command(**given, **({"url": url} if "url" in own else {}))
            as_json = given.pop("as_json")
            named = {called.get(name, name): value for name, value in given.items()}
            asked = {name: named.pop(name) for name in [*named] if name in fields}
            refuse_noted(
                [
                    InputError(name, "is of runs on this machine, not of --submit")
                    for name in named
                    if (source := ctx.get_parameter_source(name)) and source.name == "COMMANDLINE"
                ]
            )
            return submit_experiment(kind, asked, url=url, as_json=as_json, replace=replace)

        left_out = {"given", *own, *(() if "workload" in fields else ("replace",))}
        added = [
            each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for name, each in inspect.signature(asking).parameters.items()
            if name not in left_out
        ]
        asking.__signature__ = inspect.Signature([*own.values(), *added])  # type: ignore[attr-defined]
        return update_wrapper(asking, command)

    return made


def _as_in_request(own: inspect.Parameter, field: FieldInfo | None) -> inspect.Parameter:
    if field is None or own.default is not own.empty or get_origin(own.annotation) is Annotated:
        return own
    of: Any = own.annotation
    flag = [f"--{own.name.replace('_', '-')}"] if of is bool else []  # without a --no-...
    option = Option(*flag, help=field.description)
    return own.replace(default=field.default, annotation=Annotated[of, option])


def _require_bounds(kind: JobKind, given: Mapping[str, Any]) -> None:
    """Refuses, with an InputError, numbers beyond the bounds of the request's fields."""
    found: list[InputError] = []
    empty = REQUESTS[kind].model_construct()
    for name, value in given.items():
        if type(value) not in (int, float) or name not in type(empty).model_fields:
            continue
        try:
            type(empty).__pydantic_validator__.validate_assignment(empty, name, value)
        except ValidationError as error:
            found.append(InputError(name, value_problem(error.errors()[0])))
    refuse_noted(found)


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
    asked = {n: str(v) if isinstance(v, Path) else v for n, v in given.items()}
    if asked.get("metrics") is not None:
        asked["metrics"] = names_of(asked["metrics"], field="metrics")
    body = sent_experiment({n: v for n, v in asked.items() if v is not None and v is not False})
    for name, value in body.items():
        require_json(name, value)
    with opened(url, None) as remote, remote.unless_refused():
        upload_loads(remote, body, replace=replace)
        job, document = submitted(remote, {"kind": kind.value, **body})
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
