"""The workloads that jobs may name: shipped, the operator's, and those that were sent."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from api.auth.security import Caller
from api.http.problems import ProblemError, field_problems, refused
from api.schemas.catalogue_schemas import WorkloadCreate, WorkloadEntry, WorkloadPublic
from api.schemas.job_schemas import public_specification
from api.services.dependencies import Service
from api.services.inline_documents import inline_profile, inline_workload, require_plain
from db.workloads import find_workload, keep_workload
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.options.normal_form import read_user_options
from sampler.workload.workload import load_class
from sampler.workload.workload_file import SHIPPED, workload_from_document


def take_workload(
    service: Service, asked: WorkloadCreate, caller: Caller, *, replace: bool
) -> tuple[str, bool]:
    """Keeps a workload that is sent; its name, and whether that is new.

    Raises:
        ProblemError: 422, something is wrong; 409, the name is that of a registered one.
        WorkloadRefused: The name is that of another one, or there are too many.
    """
    try:
        sent = _checked(asked)
    except InputError as error:
        raise refused(field_problems(error)) from None
    name = sent["document"]["name"]
    if name in service.registered:
        taken = f"{name!r} is the name of a workload that comes with the service"
        raise ProblemError(409, f"{taken}; rename yours")
    new = keep_workload(service.engine, **sent, submitter=caller.name, replace=replace)
    return name, new


def _checked(asked: WorkloadCreate) -> dict[str, Any]:
    found: list[InputError] = []
    sent: dict[str, Any] = {"baseline_options": asked.baseline_options}
    with noting(found):
        sent["document"] = inline_workload(asked.workload)
    if asked.profile is not None:
        with noting(found):
            sent["profile"] = inline_profile(asked.profile)
    if asked.baseline_options is not None:
        with noting(found):
            require_plain(asked.baseline_options, "baseline_options")
            read_user_options(asked.baseline_options, name="baseline_options")
    refuse_noted(found)
    return sent


def workload_entries(service: Service) -> list[WorkloadEntry]:
    """All, those that were sent last."""
    known = service.workloads.items()
    return [WorkloadEntry(**_about(service, name, document)) for name, document in known]


def workload_public(service: Service, name: str) -> WorkloadPublic:
    """One with all that is known of it; a ProblemError, 404, where there is none."""
    if name in service.registered:
        return WorkloadPublic(**_about(service, name, service.registered[name]))
    row = find_workload(service.engine, name)
    if row is None:
        raise ProblemError(404, f"there is no workload {name!r}")
    return WorkloadPublic(**{**vars(row), **_about(service, name, row.document)})


def _about(service: Service, name: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an entry. What the operator's command lines say is shown to nobody."""
    kind, size = None, None
    with suppress(InputError):  # it was sent to another version
        load = workload_from_document(document, stored=True)
        if load.by_db_bench:
            keys = max(load.num, load.prepare.num if load.prepare else 0)
            kind, size = load_class(load), keys * (load.key_size + load.value_size)
    registered = "shipped" if name in SHIPPED else "operator"
    return {
        "name": name,
        "help": document["help"],
        "document": public_specification({"workload": document})["workload"],
        "origin": registered if name in service.registered else "uploaded",
        "load_class": kind,
        "data_bytes": size,
    }
