"""The documents within a request: by the name of a shipped one, or as they are sent."""

import json
import math
from collections.abc import Mapping
from typing import Any

from api.http.problems import shortened
from db.schema.types import safe_text
from jobs.batch.batch_plan import require_name
from optimizer.objective.objective_file import SHIPPED as OBJECTIVES
from optimizer.objective.objective_file import (
    load_objective,
    objective_document,
    objective_from_document,
)
from sampler.common.documents import parse_toml
from sampler.common.errors import InputError
from sampler.profile.profile import known_profile
from sampler.space.space_file import SHIPPED as SPACES
from sampler.space.space_file import space_text
from sampler.workload.measurable import require_no_place
from sampler.workload.workload_file import workload_document, workload_from_document

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
