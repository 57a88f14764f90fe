"""Documents within a request, by name or as they are sent; and the workloads that were sent."""

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from api.auth.security import Caller
from api.http.problems import ProblemError, field_problems, refused, shortened
from api.schemas.catalogue_schemas import WorkloadCreate, WorkloadEntry, WorkloadPublic
from api.schemas.job_schemas import public_specification
from api.services.dependencies import Service
from db.schema.types import safe_text
from db.workloads import find_workload, keep_workload
from jobs.batch.batch_plan import require_name
from optimizer.objective.objective_file import SHIPPED as OBJECTIVES
from optimizer.objective.objective_file import (
    load_objective,
    objective_document,
    objective_from_document,
)
from sampler.common.documents import parse_toml
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.profile.profile import known_profile
from sampler.rocksdb.forms import read_user_options
from sampler.space.space_file import SHIPPED as SPACES
from sampler.space.space_file import space_text
from sampler.workload.workload import load_class
from sampler.workload.workload_file import (
    SHIPPED,
    require_no_place,
    workload_document,
    workload_from_document,
)

_MOST_DEPTH = 8
_MOST_ROWS = 500
Registry = Mapping[str, Mapping[str, Any]]


def named_workload(name: str, workloads: Registry) -> Mapping[str, Any]:
    """The document of a registered workload; an InputError if there is none."""
    if name not in workloads:
        names = ", ".join(workloads)
        raise InputError("workload", f"{name!r} is not registered; choose one of {names}")
    return workloads[name]


def inline_space(given: str | dict[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """A space, named or sent, and whether it came with Rocktune; an InputError if it is none."""
    if isinstance(given, str):
        if given not in SPACES:
            names = ", ".join(SPACES)
            raise InputError("space", f"{given!r} is not one of {names}; or send the space itself")
        return parse_toml(space_text(given), field="space"), True
    _require_shallow(given, "space")
    return given, False


def inline_objective(given: str | dict[str, Any]) -> Mapping[str, Any]:
    """The document of an objective, named or sent; an InputError if it is none."""
    if isinstance(given, str):
        if given not in OBJECTIVES:
            names = ", ".join(OBJECTIVES)
            problem = f"{given!r} is not one of {names}; or send the objective itself"
            raise InputError("objective", problem)
        return objective_document(load_objective(given))
    _require_shallow(given, "objective")
    # In full, as the terminal keeps it: the same job then has the same digest either way.
    return objective_document(objective_from_document(given))


def inline_workload(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The document of a workload that is sent, in full, as the terminal would keep it.

    An InputError if it is none, too large, or names a program or a file.
    """
    _require_small(given, "workload", 64 * 2**10)
    require_name(given.get("name"), "workload.name")
    require_no_place(given)
    return workload_document(workload_from_document(given))


def inline_profile(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is known of a profile that is sent; an InputError if it is none, or too large."""
    _require_small(given, "profile", 256 * 2**10)
    return known_profile(given)


def _require_small(document: Mapping[str, Any], field: str, most_bytes: int) -> None:
    _require_shallow(document, field)
    if len(json.dumps(document, default=str)) > most_bytes:
        raise InputError(field, f"is larger than {most_bytes:,} bytes of JSON")


def _require_shallow(document: Mapping[str, Any], field: str) -> None:
    """Refuses what is nested or repeated beyond any sense, or no database could hold."""
    layer: list[Any] = [document]
    for _ in range(_MOST_DEPTH):
        below: list[Any] = []
        for each in layer:
            parts = list(each.values()) if isinstance(each, dict) else list(each)
            if len(parts) > _MOST_ROWS:
                raise InputError(field, f"has a list of more than {_MOST_ROWS} entries")
            for part in (*parts, *(each if isinstance(each, dict) else ())):
                require_plain(part, field)
            below += [part for part in parts if isinstance(part, dict | list)]
        if not below:
            return
        layer = below
    raise InputError(field, f"is nested more than {_MOST_DEPTH} levels deep")


def require_plain(part: object, field: str) -> None:
    """Refuses, with an InputError, what no database could hold."""
    if isinstance(part, float) and not math.isfinite(part):
        raise InputError(field, f"contains {part}; write finite numbers")
    if isinstance(part, int) and abs(part) >= 2**63:
        raise InputError(field, "contains an integer of more than 64 bits")
    if isinstance(part, str) and safe_text(part) != part:
        raise InputError(field, f"{shortened(part)} has characters that cannot be stored as text")


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
