"""From the body of a request to a job that is checked as a whole and kept for the worker."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from api.auth.security import Caller
from api.http.problems import ProblemError, field_problems, refused
from api.schemas.job_schemas import JobChange, JobCreate
from api.services.dependencies import Service
from api.services.inline_documents import (
    Registry,
    inline_objective,
    inline_space,
    named_workload,
    require_plain,
)
from api.services.known_builds import KnownBuilds
from db.jobs.job_queue import QueueFullError, enqueue_job
from db.schema.job_row import JobRow, JobState
from db.workloads import find_workload
from jobs.queue import lifecycle
from jobs.specification.experiments import (
    AnySpecification,
    ExperimentRequest,
    ExperimentSpecification,
    kind_of,
)
from jobs.specification.request import JobRequest, parts_of
from jobs.specification.resolved_job import resolve
from jobs.specification.specification import Specification, specification_from_document
from jobs.specification.validation import specification_of, usual_objective
from jobs.specification.warm_start import require_job
from optimizer.objective.objective_file import load_objective, objective_document
from sampler.bench.builds import DEFAULT_BUILD
from sampler.bench.installed import InstalledDbBench
from sampler.common.documents import parse_toml
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.space.space_file import space_text
from sampler.workload.workload_file import workload_from_document

if TYPE_CHECKING:
    from jobs.experiments.kinds import Known

# For a workload that is missing or wrong, so that the rest is checked all the same.
T = TypeVar("T", bound=JobRequest)
_STAND_IN: Mapping[str, Any] = {"name": "none", "external": True}


def take_job(
    service: Service,
    asked: JobCreate | ExperimentRequest,
    caller: Caller,
    *,
    key: str | None = None,
) -> tuple[int, bool]:
    """Submits a job; its number, and whether it is new.

    A request that comes again under a ``key`` of the caller's own makes no second job.

    Raises:
        ProblemError: 422, fields are wrong; 409, the key came with another request; 429, too many
            jobs are queued.
    """
    specification: AnySpecification
    if isinstance(asked, ExperimentRequest):
        specification = _experiment(service, asked)
    else:
        specification = _checked(service, on_own_baseline(service, asked), None)
    if key is not None:
        key = hashlib.sha256(f"{caller.name or '-'}/{key}".encode()).hexdigest()
    return _submit(service, specification, asked.priority, caller, key, _request_digest(asked))


def take_clone(service: Service, job: JobRow, changes: JobChange, caller: Caller) -> int:
    """Submits a job like another, but for changes; its number. Errors as of ``take_job``."""
    start = specification_from_document(job.specification)
    specification = _checked(service, changes, start)
    priority = changes.priority if "priority" in changes.model_fields_set else job.priority
    return _submit(service, specification, priority, caller, None, None)[0]


def on_own_baseline(service: Service, asked: T) -> T:
    """The request, with the OPTIONS file that was sent with its workload as its baseline.

    Only where there is one, and the request says nothing of a baseline.
    """
    told = {"baseline", "baseline_options"} & asked.model_fields_set
    if told or asked.workload in service.registered:
        return asked
    row = find_workload(service.engine, asked.workload)
    if row is None or row.baseline_options is None:
        return asked
    update = {"baseline_options": row.baseline_options}
    family = (row.profile or {}).get("column_family")
    if family and "column_family" not in asked.model_fields_set:
        update["column_family"] = family  # that the workload was made of
    return asked.model_copy(update=update)


def _checked(service: Service, asked: JobChange, start: Specification | None) -> Specification:
    try:
        specification = specification_from(
            asked, service.workloads, service.installed, start=start, builds=service.builds
        )
        require_job(service.store, specification.warm_start, field="warm_start")
    except InputError as error:
        raise refused(field_problems(error, asked.model_dump(exclude_unset=True))) from None
    return specification


def _experiment(service: Service, asked: ExperimentRequest) -> ExperimentSpecification:
    from jobs.experiments.kinds import specified

    try:
        return specified(asked, known_to(service, service.workloads))
    except InputError as error:
        raise refused(field_problems(error, asked.model_dump(exclude_unset=True))) from None


def known_to(service: Service, workloads: Registry) -> Known:
    """What an experiment may name, the workloads among it."""
    from jobs.experiments.kinds import Known

    def tuning(fields: Mapping[str, Any]) -> Specification:
        asked = on_own_baseline(service, JobRequest.model_validate(fields))
        return specification_from(asked, workloads, service.installed, builds=service.builds)

    builds = service.builds
    return Known(
        engine=service.engine,
        workload=lambda name: named_workload(name, workloads),
        uploaded=lambda name: (
            None if name in service.registered else find_workload(service.engine, name)
        ),
        builds={*builds.here, *builds.elsewhere()},
        require_build=builds.find,
        tuning=tuning,
    )


def _request_digest(asked: JobCreate | ExperimentRequest) -> str:
    """The same for the same request, however its fields are ordered."""
    text = json.dumps(asked.model_dump(mode="json", exclude_unset=True), sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _submit(
    service: Service,
    specification: AnySpecification,
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
            kind=kind_of(specification),
            state=JobState.RUNNING if external else JobState.QUEUED,
            why=lifecycle.TOLD if external else lifecycle.WAITS,
            priority=priority,
            by_service=not external,
            submitter=caller.name,
            key=key,
            request_digest=digest if key else None,
            most_queued=None if external else service.settings.most_queued,
        )
    except QueueFullError as error:
        raise ProblemError(429, str(error), headers={"Retry-After": "60"}) from None


def specification_from(
    asked: JobRequest,
    workloads: Registry,
    installed: InstalledDbBench | None,
    *,
    start: Specification | None = None,
    builds: KnownBuilds | None = None,
) -> Specification:
    """Checks all that is asked for at once; an InputError tells all that is wrong.

    ``workloads`` and ``builds`` are what may be named, ``installed`` is the db_bench that will
    measure, where they are known. ``start`` is the job that is cloned: what is not asked for stays
    as there.
    """
    found: list[InputError] = []
    asked = _with_plain_limits(asked, found)
    parts = _usual() if start is None else start.document()
    parts |= _documents(asked, workloads, start, found)
    parts |= parts_of(asked, found, search=parts.get("search"))
    named = parts.get("db_bench")
    if named not in (None, DEFAULT_BUILD):
        # Also in a clone of a job that a terminal made with a path.
        parts["db_bench"] = None  # what is wrong with it is told once
        with noting(found):
            installed = (builds or KnownBuilds()).find(named)
            parts["db_bench"] = named
    known = parts["workload"] is not _STAND_IN
    if known and parts["workload"].get("external") and parts.get("minutes") is not None:
        found.append(InputError("minutes", "your own runner keeps its time; give trials"))
    built: Specification | None = None
    with noting(found):
        built = specification_of(**parts)
    if built is not None and not found:
        with noting(found):
            by_db_bench = not {"command", "external"} & parts["workload"].keys()
            resolve(built, installed if by_db_bench else None)
    refuse_noted(found)
    assert built is not None
    return built


def _usual() -> dict[str, Any]:
    """What holds where nothing is asked for."""
    return {
        "workload": _STAND_IN,
        "space": parse_toml(space_text("default"), field="space"),
        "objective": objective_document(load_objective("paper")),
        "shipped_space": True,
    }


def _documents(
    asked: JobRequest, workloads: Registry, start: Specification | None, found: list[InputError]
) -> dict[str, Any]:
    """Workload, space and objective, as far as they are given."""
    given = {name: getattr(asked, name) for name in asked.model_fields_set}
    sent: dict[str, Any] = {}
    if "workload" in given:
        with noting(found):
            sent["workload"] = named_workload(given["workload"], workloads)
            if start is None:
                serves = usual_objective(workload_from_document(sent["workload"]))
                sent["objective"] = objective_document(load_objective(serves))
    if given.get("space") is not None:
        with noting(found):
            sent["space"], sent["shipped_space"] = inline_space(given["space"])
    if given.get("objective") is not None:
        with noting(found):
            sent["objective"] = inline_objective(given["objective"])
    elif start is not None and "limits" in given:  # they stand instead of all that it has
        sent["objective"] = {k: v for k, v in start.objective.items() if k != "limit"}
    return sent


def _with_plain_limits(asked: JobRequest, found: list[InputError]) -> JobRequest:
    """The request without limits that no database could hold."""
    plain: list[str] = []
    for text in asked.limits or ():
        with noting(found):
            require_plain(text, "limits")
            plain.append(text)
    return asked.model_copy(update={"limits": plain}) if asked.limits else asked
