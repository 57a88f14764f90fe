"""The documents within a request: by the name of a shipped one, or as they are sent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from api.http.problems import shown
from api.schemas.job_schemas import StartFile
from db.schema.types import safe_text
from optimizer.objective.limits import parse_limit
from optimizer.objective.objective import Limit
from optimizer.objective.objective_file import SHIPPED as OBJECTIVES
from optimizer.objective.objective_file import (
    load_objective,
    objective_document,
    objective_from_document,
)
from sampler.common.documents import read_document
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.space.space_file import SHIPPED as SPACES
from sampler.space.space_file import space_text

_MOST_DEPTH = 8
_MOST_ROWS = 500
Registry = Mapping[str, Mapping[str, Any]]


def sent_workload(name: str, workloads: Registry) -> Mapping[str, Any]:
    """The document of a registered workload.

    Raises:
        InputError: There is no such workload.
    """
    if name not in workloads:
        names = ", ".join(workloads)
        raise InputError("workload", f"{name!r} is not registered; known are {names}")
    return workloads[name]


def sent_space(given: str | dict[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """The document of a space, and whether it came with Rocktune.

    Args:
        given: A shipped space's name, or the space itself.

    Raises:
        InputError: There is no such space, or it is nothing to keep.
    """
    if isinstance(given, str):
        if given not in SPACES:
            names = ", ".join(SPACES)
            raise InputError("space", f"{given!r} is not one of {names}; or send the space itself")
        return read_document(space_text(given), field="space"), True
    _require_shallow(given, "space")
    return given, False


def sent_objective(given: str | dict[str, Any]) -> Mapping[str, Any]:
    """The document of an objective.

    Args:
        given: A shipped objective's name, or the objective itself.

    Raises:
        InputError: There is no such objective, or it is none.
    """
    if isinstance(given, str):
        if given not in OBJECTIVES:
            names = ", ".join(OBJECTIVES)
            problem = f"{given!r} is not one of {names}; or send the objective itself"
            raise InputError("objective", problem)
        return objective_document(load_objective(given))
    _require_shallow(given, "objective")
    # In full, as the terminal keeps it: the same job then has the same digest either way.
    return objective_document(objective_from_document(given))


def sent_start(given: str | StartFile) -> dict[str, Any]:
    """Where a search shall begin: a shipped point, or a file's name and text."""
    return {"name": given} if isinstance(given, str) else given.model_dump()


def sent_limits(texts: Sequence[str]) -> list[Limit]:
    """The limits that the winner must keep beside those of the objective.

    Raises:
        InputError: One is none.
        InputErrors: Several are none.
    """
    found: list[InputError] = []
    limits: list[Limit] = []
    for text in texts:
        with noting(found):
            _require_plain(text, "limits")
            limits.append(parse_limit(text, field="limits"))
    refuse_noted(found)
    return limits


def _require_shallow(document: Mapping[str, Any], field: str) -> None:
    """Refuses what is nested or repeated beyond any sense, or no database could hold."""
    layer: list[Any] = [document]
    for _ in range(_MOST_DEPTH):
        below: list[Any] = []
        for each in layer:
            parts = list(each.values()) if isinstance(each, dict) else list(each)
            if len(parts) > _MOST_ROWS:
                raise InputError(field, f"lists more than {_MOST_ROWS} of something")
            for part in (*parts, *(each if isinstance(each, dict) else ())):
                _require_plain(part, field)
            below += [part for part in parts if isinstance(part, dict | list)]
        if not below:
            return
        layer = below
    raise InputError(field, f"is nested deeper than {_MOST_DEPTH}")


def _require_plain(part: object, field: str) -> None:
    if isinstance(part, float) and not math.isfinite(part):
        raise InputError(field, f"holds {part}; write finite numbers")
    if isinstance(part, int) and abs(part) >= 2**63:
        raise InputError(field, "holds a whole number of more than 64 bits")
    if isinstance(part, str) and safe_text(part) != part:
        raise InputError(field, f"holds {shown(part)}, which has characters that are no text")
