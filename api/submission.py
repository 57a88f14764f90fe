"""From the body of a request to a specification that is checked as a whole."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from api.job_schemas import JobChange, JobCreate, StartFile
from api.known_builds import KnownBuilds
from api.problems import FieldProblem, field_problems, shown
from db.types import safe_text
from jobs.frame import frame
from jobs.measured_metrics import usual_objective
from jobs.specification import Specification, specification_of
from jobs.warm_start_text import parse_warm_start
from optimizer.detect_text import parse_detect
from optimizer.limit_text import parse_limit
from optimizer.objective import Limit
from optimizer.objective_file import SHIPPED as OBJECTIVES
from optimizer.objective_file import (
    load_objective,
    objective_document,
    objective_from_document,
)
from optimizer.problem import SearchSettings
from sampler.builds import DEFAULT_BUILD
from sampler.byte_size import parse_bytes
from sampler.documents import read_document
from sampler.errors import InputError, noting, refuse_noted
from sampler.installed import InstalledDbBench
from sampler.space_file import SHIPPED as SPACES
from sampler.space_file import space_text
from sampler.workload_file import workload_from_document

_MOST_DEPTH = 8
_MOST_ROWS = 500
_SEARCH = ("samples", "top", "over", "generations", "fitness", "stop_early", "cutoff")
# For a workload that is missing or wrong, so that the rest is checked all the same.
_STAND_IN: Mapping[str, Any] = {"name": "none", "external": True}
Registry = Mapping[str, Mapping[str, Any]]


def specification_from(
    asked: JobChange,
    workloads: Registry,
    installed: InstalledDbBench | None,
    *,
    start: Specification | None = None,
    builds: KnownBuilds | None = None,
) -> Specification:
    """Checks all that is asked for at once.

    Args:
        asked: The request.
        workloads: Those that may be named, with their documents.
        installed: The db_bench that will measure, where it is known.
        start: The job that is cloned; what is not asked for stays as it is there.
        builds: Further builds that may be named, where they are known.

    Raises:
        InputError: Something is wrong.
        InputErrors: Several things are.
    """
    parts = _parts(start)
    found: list[InputError] = []
    given = {name: getattr(asked, name) for name in asked.model_fields_set}
    if "workload" in given:
        with noting(found):
            parts["workload"] = _workload(given["workload"], workloads)
            if start is None:
                serves = usual_objective(workload_from_document(parts["workload"]))
                parts["objective"] = objective_document(load_objective(serves))
    if given.get("space") is not None:
        with noting(found):
            parts["space"], parts["shipped_space"] = _space(given["space"])
    if given.get("objective") is not None:
        with noting(found):
            parts["objective"] = _objective(given["objective"])
    if "limits" in given:
        with noting(found):
            parts["limits"] = _limits(given["limits"] or ())
        if start is not None and given.get("objective") is None:
            parts["objective"] = {k: v for k, v in parts["objective"].items() if k != "limit"}
    if given.get("memory") is not None:
        with noting(found):
            parts["memory"] = parse_bytes(str(given["memory"]), field="memory")
    if given.get("baseline") is not None or given.get("baseline_options") is not None:
        parts |= {"baseline": None, "baseline_options": None}
    for name in ("strategy", "baseline", "baseline_options", "scale", "seed"):
        if given.get(name) is not None:
            parts[name] = given[name]
    if given.get("trials") is not None or given.get("minutes") is not None:
        parts |= {"trials": given.get("trials"), "minutes": given.get("minutes")}
    if given.get("baseline") is not None and given.get("baseline_options") is not None:
        found.append(InputError("baseline_options", "give baseline or baseline_options, not both"))
    # In a clone null takes a setting back.
    taken_back = ("db_bench", "host_kind", "confirm_scale")
    parts |= {name: given[name] for name in taken_back if name in given}
    if parts.get("db_bench") not in (None, DEFAULT_BUILD):
        # Also in a clone of a job that a terminal made with a path.
        named, parts["db_bench"] = parts["db_bench"], None  # what is wrong with it is told once
        with noting(found):
            installed = (builds or KnownBuilds()).find(named)
            parts["db_bench"] = named
    usual = SearchSettings().document()
    search = {
        name: usual[name] if given[name] is None else given[name]
        for name in _SEARCH
        if name in given
    }
    if "detect" in given and given["detect"] is None:
        search |= {"detect": None, "detect_metric": None}
    elif "detect" in given:
        with noting(found):
            change, metric = parse_detect(str(given["detect"]), field="detect")
            search |= {"detect": change, "detect_metric": metric}
    parts["search"] = SearchSettings.of({**parts["search"], **search})
    if "start_from" in given:
        rows = given["start_from"]
        parts["start_from"] = None if rows is None else [_start(each) for each in rows]
    if "warm_start" in given:
        with noting(found):
            parts["warm_start"] = parse_warm_start(given["warm_start"], field="warm_start")
    known = parts["workload"] is not _STAND_IN
    if known and parts["workload"].get("external") and parts["minutes"] is not None:
        found.append(InputError("minutes", "your own runner keeps its time; give trials"))
    built: Specification | None = None
    with noting(found):
        built = specification_of(**parts)
    if built is not None and not found:
        with noting(found):
            by_db_bench = not {"command", "external"} & parts["workload"].keys()
            frame(built, installed if by_db_bench else None)
    refuse_noted(found)
    assert built is not None
    return built


def _parts(start: Specification | None) -> dict[str, Any]:
    if start is not None:
        return start.document()
    return {
        "workload": _STAND_IN,
        "space": read_document(space_text("default"), field="space"),
        "objective": objective_document(load_objective("paper")),
        "shipped_space": True,
        "trials": None,
        "minutes": None,
        "search": {},
    }


def _workload(name: str, workloads: Registry) -> Mapping[str, Any]:
    if name not in workloads:
        names = ", ".join(workloads)
        raise InputError("workload", f"{name!r} is not registered; known are {names}")
    return workloads[name]


def _space(given: str | dict[str, Any]) -> tuple[Mapping[str, Any], bool]:
    if isinstance(given, str):
        if given not in SPACES:
            names = ", ".join(SPACES)
            raise InputError("space", f"{given!r} is not one of {names}; or send the space itself")
        return read_document(space_text(given), field="space"), True
    _limit(given, "space")
    return given, False


def _objective(given: str | dict[str, Any]) -> Mapping[str, Any]:
    if isinstance(given, str):
        if given not in OBJECTIVES:
            names = ", ".join(OBJECTIVES)
            problem = f"{given!r} is not one of {names}; or send the objective itself"
            raise InputError("objective", problem)
        return objective_document(load_objective(given))
    _limit(given, "objective")
    # In full, as the terminal keeps it: the same job then has the same digest either way.
    return objective_document(objective_from_document(given))


def _start(given: str | StartFile) -> dict[str, Any]:
    return {"name": given} if isinstance(given, str) else given.model_dump()


def _limits(texts: Sequence[str]) -> list[Limit]:
    found: list[InputError] = []
    limits: list[Limit] = []
    for text in texts:
        with noting(found):
            _require_plain(text, "limits")
            limits.append(parse_limit(text, field="limits"))
    refuse_noted(found)
    return limits


def _limit(document: Mapping[str, Any], field: str) -> None:
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


def more_findings(request: Request, error: RequestValidationError) -> list[FieldProblem]:
    """What else is wrong with a job of which some fields are not even of the right type."""
    body = error.body
    if request.method != "POST" or request.url.path != "/v1/jobs" or not isinstance(body, dict):
        return []
    wrong = {found["loc"][1] for found in error.errors() if len(found["loc"]) > 1}
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
        asked = JobChange.model_validate(rest)
        specification_from(asked, workloads, None, start=start)
    except InputError as more:
        return field_problems(more, rest)
    except ValidationError:
        return []
    return []


def request_digest(asked: JobCreate) -> str:
    """The same for the same request, however its fields are ordered."""
    text = json.dumps(asked.model_dump(mode="json", exclude_unset=True), sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
