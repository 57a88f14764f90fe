"""Jobs taken from outside: each checked as a whole, then kept for the worker."""

from __future__ import annotations

import hashlib
import json

from api.auth.security import Caller
from api.http.problems import ProblemError, field_problems, refused
from api.schemas.job_schemas import JobChange, JobCreate
from api.services.dependencies import Service
from api.services.submission import specification_from
from db.jobs.job_queue import KeyReusedError, QueueFullError, enqueue_job
from db.schema.job_row import JobRow, JobState
from jobs.queue import lifecycle
from jobs.specification.specification import Specification, specification_from_document
from jobs.specification.warm_start import require_job
from sampler.common.errors import InputError


def take_job(
    service: Service, asked: JobCreate, caller: Caller, *, key: str | None = None
) -> tuple[int, bool]:
    """Submits a job.

    Args:
        service: Where.
        asked: What is asked for.
        caller: Who asks.
        key: The caller's own; a request that comes again under it makes no second job.

    Returns:
        The job's number, and whether it is new.

    Raises:
        ProblemError: 422, fields are wrong; 409, the key came with another request; 429, too many
            jobs are queued.
    """
    specification = _checked(service, asked, None)
    if key is not None:
        key = hashlib.sha256(f"{caller.name or '-'}/{key}".encode()).hexdigest()
    return _submit(service, specification, asked.priority, caller, key, _request_digest(asked))


def take_clone(service: Service, job: JobRow, changes: JobChange, caller: Caller) -> int:
    """Submits a job like another, but for what is changed.

    Returns:
        The new job's number.

    Raises:
        ProblemError: As ``take_job``.
    """
    start = specification_from_document(job.specification)
    specification = _checked(service, changes, start)
    priority = changes.priority if "priority" in changes.model_fields_set else job.priority
    return _submit(service, specification, priority, caller, None, None)[0]


def _checked(service: Service, asked: JobChange, start: Specification | None) -> Specification:
    try:
        specification = specification_from(
            asked, service.workloads, service.installed, start=start, builds=service.builds
        )
        require_job(service.store, specification.warm_start, field="warm_start")
    except InputError as error:
        raise refused(field_problems(error, asked.model_dump(exclude_unset=True))) from None
    return specification


def _request_digest(asked: JobCreate) -> str:
    """The same for the same request, however its fields are ordered."""
    text = json.dumps(asked.model_dump(mode="json", exclude_unset=True), sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _submit(
    service: Service,
    specification: Specification,
    priority: int,
    caller: Caller,
    key: str | None,
    digest: str | None,
) -> tuple[int, bool]:
    external = bool(specification.workload.get("external"))
    try:
        return enqueue_job(
            service.engine,
            specification.document(),
            specification.digest(),
            state=JobState.RUNNING if external else JobState.QUEUED,
            why=lifecycle.TOLD if external else lifecycle.WAITS,
            priority=priority,
            by_service=not external,
            submitter=caller.name,
            key=key,
            request_digest=digest if key else None,
            most_queued=None if external else service.settings.most_queued,
        )
    except KeyReusedError as error:
        raise ProblemError(409, str(error)) from None
    except QueueFullError as error:
        raise ProblemError(429, str(error), headers={"Retry-After": "60"}) from None
