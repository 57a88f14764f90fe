"""From the body of a request to jobs that are checked as a whole and kept for the worker."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from api.auth.security import Caller
from api.http.problems import (
    FieldProblem,
    field_problems,
    findings_in,
    place_in,
    refused,
)
from api.schemas.job_schemas import JobChange, JobCreate, kind_in
from api.schemas.schedule_schemas import BatchAsked
from api.services.dependencies import KnownBuilds, Service
from api.services.inline_documents import (
    Registry,
    inline_objective,
    inline_space,
    named_workload,
    require_plain,
)
from db.jobs.job_queue import enqueue_job
from db.schema.job_row import JobKind, JobRow, JobState
from db.workloads import find_workload
from jobs.batch.batch_plan import (
    BatchItem,
    BatchPlan,
    batch_items,
    require_measured_here,
    require_small,
)
from jobs.queue import lifecycle
from jobs.specification.experiments import REQUESTS, AnySpecification, ExperimentRequest, job_kind
from jobs.specification.request import JobRequest
from jobs.specification.resolved_job import require_job, resolve
from jobs.specification.specification import (
    Specification,
    asked_for,
    checked,
    on_fitting_build,
    specification_from_document,
    usual_objective,
)
from optimizer.objective.objective_file import load_objective, objective_document
from sampler.bench.builds import DEFAULT_BUILD
from sampler.bench.installed import InstalledDbBench
from sampler.common.documents import parse_toml
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.space.space_file import space_text
from sampler.workload.workload_file import workload_from_document

if TYPE_CHECKING:
    from jobs.experiments.kinds import KnownNames

T = TypeVar("T", bound=JobRequest)
# For a workload that is missing or wrong, so that the rest is checked all the same.
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
        ProblemError: 422, fields are wrong.
        KeyReusedError: The key came with another request.
        QueueFullError: Too many jobs are queued.
    """
    if key is not None:
        key = hashlib.sha256(f"{caller.name or '-'}/{key}".encode()).hexdigest()
    return _submit(service, _checked(service, asked), asked.priority, caller, key, asked)


def take_clone(service: Service, job: JobRow, changes: JobChange, caller: Caller) -> int:
    """Submits a job like another, but for changes; its number.

    Errors as of ``take_job``, and a WrongState where the other was restored and names a program
    that nobody here trusts.
    """
    lifecycle.require_runnable(service.engine, job.id)
    specification = _checked(service, changes, specification_from_document(job.specification))
    priority = changes.priority if "priority" in changes.model_fields_set else job.priority
    return _submit(service, specification, priority, caller)[0]


def _tuning(
    service: Service,
    asked: JobRequest,
    workloads: Registry,
    start: Specification | None = None,
    *,
    fits: bool = True,
) -> Specification:
    """Checks a tuning job; ``start`` is the job that is cloned.

    What was sent with an uploaded workload counts: its OPTIONS file is the baseline where the
    request of a new job says nothing of one, and where it ``fits``, a build is chosen that fits
    the database that it was made of.
    """
    row = None
    if asked.workload not in service.registered:
        row = find_workload(service.engine, asked.workload)
    profile = (row.profile if row else None) or {}
    told = {"baseline", "baseline_options"} & asked.model_fields_set
    if start is None and not told and row is not None and row.baseline_options is not None:
        update = {"baseline_options": row.baseline_options}
        family = profile.get("column_family")
        if family and "column_family" not in asked.model_fields_set:
            update["column_family"] = family  # that the workload was made of
        asked = asked.model_copy(update=update)
    return specification_from(
        asked, workloads, service.installed, start=start, builds=service.builds,
        database=profile.get("rocksdb_version") if fits else None,
    )  # fmt: skip


def _checked(
    service: Service, asked: JobChange | ExperimentRequest, start: Specification | None = None
) -> AnySpecification:
    try:
        if isinstance(asked, ExperimentRequest):
            from jobs.experiments.kinds import specified

            return specified(asked, _known_to(service, service.workloads))
        specification = _tuning(service, asked, service.workloads, start)
        require_job(service.store, specification.warm_start, field="warm_start")
    except InputError as error:
        raise refused(field_problems(error, asked.model_dump(exclude_unset=True))) from None
    return specification


def _known_to(service: Service, workloads: Registry) -> KnownNames:
    """What an experiment may name, the workloads among it."""
    from jobs.experiments.kinds import KnownNames
    from jobs.experiments.sides import Side, side_named, side_of_job

    def tuning(fields: Mapping[str, Any]) -> Specification:
        return _tuning(service, JobRequest.model_validate(fields), workloads, fits=False)

    def side(text: str, field: str) -> Side:
        names = {*builds.here, *builds.elsewhere()}
        of_job = partial(side_of_job, service.engine)
        return side_named(text, names, of_job, field=field, files=False)

    builds = service.builds
    return KnownNames(
        engine=service.engine,
        workload=lambda name: named_workload(name, workloads),
        uploaded=lambda name: (
            None if name in service.registered else find_workload(service.engine, name)
        ),
        side=side,
        require_build=builds.find,
        tuning=tuning,
    )


def _submit(
    service: Service,
    specification: AnySpecification,
    priority: int,
    caller: Caller,
    key: str | None = None,
    asked: JobCreate | ExperimentRequest | None = None,
) -> tuple[int, bool]:
    """Queues a job; the ``key`` came with the request ``asked``."""
    external, digest = bool(specification.workload.get("external")), None
    if key is not None and asked is not None:
        # The same for the same request, however its fields are ordered.
        text = json.dumps(asked.model_dump(mode="json", exclude_unset=True), sort_keys=True)
        digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
    return enqueue_job(
        service.engine,
        specification.document(),
        specification.digest(),
        kind=job_kind(specification),
        state=JobState.RUNNING if external else JobState.QUEUED,
        why=lifecycle.TOLD if external else lifecycle.WAITS,
        priority=priority,
        by_service=not external,
        submitter=caller.name,
        key=key,
        request_digest=digest,
        most_queued=None if external else service.settings.most_queued,
    )


def specification_from(
    asked: JobRequest,
    workloads: Registry,
    installed: InstalledDbBench | None,
    *,
    start: Specification | None = None,
    builds: KnownBuilds | None = None,
    database: str | None = None,
) -> Specification:
    """Checks all that is asked for at once; an InputError tells all that is wrong.

    ``workloads`` and ``builds`` are what may be named, ``installed`` is the db_bench that will
    measure, where they are known; ``database`` is the version of the database that the workload
    was made of, by which a build is chosen where none is named. ``start`` is the job that is
    cloned: what is not asked for stays as there.
    """
    found: list[InputError] = []
    asked = _with_plain_limits(asked, found)
    draft = start or _usual()
    draft = draft.model_copy(update=_documents(asked, workloads, start, found))
    draft, limits = asked_for(asked, draft, found)
    builds = builds or KnownBuilds()
    named, chosen_for = draft.db_bench, draft.chosen_for
    if chosen_for and "db_bench" not in asked.model_fields_set:
        named = None  # chosen again, for the options and the builds of now
        if "workload" not in asked.model_fields_set:
            database = database or chosen_for
    sound = named
    if named not in (None, DEFAULT_BUILD):
        # Also in a clone of a job that a terminal made with a path.
        sound = None  # what is wrong with it is told once
        with noting(found):
            installed, sound = builds.find(named), named
    draft = draft.model_copy(update={"db_bench": sound, "chosen_for": None})
    load = draft.workload
    if load is not _STAND_IN and load.get("external") and draft.minutes is not None:
        found.append(InputError("minutes", "does not apply to an external runner; give trials"))
    built: Specification | None = None
    with noting(found):
        built = checked(draft, limits)
    if built is not None and named is None:
        built = on_fitting_build(built, lambda: builds.versions, database)
        installed = builds.here[built.db_bench] if built.db_bench else installed
    if built is not None and not found:
        with noting(found):
            by_db_bench = not {"command", "external"} & load.keys()
            resolve(built, installed if by_db_bench else None)
    refuse_noted(found)
    assert built is not None
    return built


def _usual() -> Specification:
    """What holds where nothing is asked for."""
    return Specification.model_construct(
        workload=_STAND_IN,
        space=parse_toml(space_text("default"), field="space"),
        objective=objective_document(load_objective("paper")),
        shipped_space=True,
    )


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


def findings_of_job(request: Request, error: RequestValidationError) -> list[FieldProblem]:
    """What else is wrong with a job of which some fields are not even of the right type."""
    body = error.body
    if request.method != "POST" or request.url.path != "/v1/jobs" or not isinstance(body, dict):
        return []
    if kind_in(body) != JobKind.TUNE:
        return []
    body = {name: value for name, value in body.items() if name != "kind"}
    wrong = {place[1] for each in error.errors() if len(place := place_in(each, body)) > 1}
    return findings_of_rest(body, wrong, request.app.state.service.workloads)


def findings_of_rest(
    body: Mapping[str, Any],
    wrong: Collection[str],
    workloads: Registry,
    start: Specification | None = None,
) -> list[FieldProblem]:
    """What is wrong with the fields of a job beside those whose type is wrong already."""
    rest = {name: value for name, value in body.items() if name not in wrong}
    try:
        specification_from(JobChange.model_validate(rest), workloads, None, start=start)
    except InputError as more:
        return field_problems(more, rest)
    except ValidationError:
        pass
    return []


def plan_from(asked: BatchAsked, name: str, service: Service) -> BatchPlan:
    """Checks all jobs of a batch at once; ``name`` is for a batch without one.

    Raises:
        ProblemError: Something is wrong; each finding names the job and the field.
        InputError: It is too large.
    """
    # As a TOML file would hold it, which has no null.
    document = asked.model_dump(exclude_unset=True, exclude_none=True)
    given_name = document.pop("name", None)
    noted: list[InputError] = []
    settings = frozenset(JobChange.model_fields)
    listed = batch_items(document, known=settings, found=noted, field="batch")
    # Before each is read for its own sake, which takes its time.
    require_small(each.settings for each in listed)
    found = [finding for each in noted for finding in field_problems(each)]
    items, workloads = [], service.workloads
    known = cache(lambda: _known_to(service, workloads))  # tuning jobs alone do without
    for each in listed:
        try:
            items.append(_item(each.name, dict(each.settings), service, workloads, known))
        except InputError as error:
            for finding in field_problems(error):
                finding.field = f"{each.name}: {finding.field}"
                found.append(finding)
    if found:
        raise refused(found)
    if len(items) > (most := service.settings.most_queued):
        many = f"has {len(items)} jobs, and the queue takes {most} (ROCKTUNE_MOST_QUEUED)"
        raise InputError("batch", f"{many}; split it")
    plan = BatchPlan(given_name or name, tuple(items))
    require_small(plan.document()["items"])
    return plan


def _item(
    name: str,
    settings: dict[str, Any],
    service: Service,
    workloads: Registry,
    known: Callable[[], KnownNames],
) -> BatchItem:
    try:
        if "kind" in settings:  # of an experiment
            from jobs.experiments.kinds import specified

            experiment = REQUESTS[JobKind(settings["kind"])].model_validate(settings)
            return BatchItem(name, specified(experiment, known()), experiment.priority)
        asked = JobChange.model_validate(settings)
    except ValidationError as error:
        refuse_noted([InputError(e.field, e.problem) for e in findings_in(error, settings)])
        raise
    specification = _tuning(service, asked, workloads)
    require_measured_here(specification)
    return BatchItem(name, specification, asked.priority)
