"""Asking a service for a job, once, also over a connection that breaks."""

import time
import uuid
from collections.abc import Mapping
from typing import Any

from api.schemas.job_schemas import JobPublic
from cli.client.client_errors import LostError, UnavailableError, understood
from cli.client.remote import Remote, require_json
from cli.client.where import opened, require_service
from db.schema.job_row import JobKind
from jobs.specification.experiments import sent_experiment
from jobs.specification.request import option_of

# What a restart of the service takes.
_AGAIN_AFTER_SECONDS = (0.5, 1.0, 2.0, 4.0, 8.0)


def submit_experiment(
    kind: JobKind, asked: Mapping[str, Any], *, url: str | None
) -> tuple[JobPublic, Any]:
    """Asks a service for an experiment, files go along; the job, and the document that says so.

    ``asked`` is by the names of the kind's request; what is None or False is left out.
    """
    require_service(url)
    given = {n: v for n, v in asked.items() if v is not None and v is not False}
    body = sent_experiment(given)
    for name, value in body.items():
        require_json(option_of(name), value)
    loads = body.get("workload", [])
    with opened(url, None) as remote:
        named = [
            remote.upload(each) if isinstance(each, dict) else each
            for each in (loads if isinstance(loads, list) else [loads])
        ]
        if named:
            body["workload"] = named if isinstance(loads, list) else named[0]
        document = submitted(remote, {"kind": kind.value, **body})
    return understood(JobPublic, document), document


def submitted(remote: Remote, body: dict[str, Any]) -> Any:
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
