"""The body of a request for a job: what the user's files hold goes in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from optimizer.objective.objective_file import SHIPPED as OBJECTIVES
from optimizer.objective.objective_file import objective_text
from sampler.common.documents import read_document
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.space.space_file import SHIPPED as SPACES
from sampler.space.space_file import space_text


def request_body(
    *, workload: str, space: str, objective: str | None, baseline: str | None, **more: Any
) -> dict[str, Any]:
    """What ``POST /v1/jobs`` takes; what is not asked for is left out.

    Args:
        workload: The name of one that the service knows.
        space: A shipped name, or a TOML file.
        objective: The same; None for what is usual with the workload.
        baseline: ``library``, ``db_bench`` or an OPTIONS file.
        more: The rest, as the interface names it.

    Raises:
        InputError: A file cannot be read, or JSON cannot carry what is asked for.
        InputErrors: Several of that.
    """
    found: list[InputError] = []
    asked: dict[str, Any] = {}
    with noting(found):
        asked["workload"] = _workload(workload)
    with noting(found):
        asked["space"] = _named("--space", space, SPACES, space_text)
    with noting(found):
        if objective is not None:
            asked["objective"] = _named("--objective", objective, OBJECTIVES, objective_text)
    with noting(found):
        asked |= _baseline(baseline)
    asked |= {name: value for name, value in more.items() if value is not None}
    for name, value in asked.items():
        with noting(found):
            require_json(f"--{name.replace('_', '-')}", value)
    refuse_noted(found)
    return asked


def _workload(given: str) -> str:
    if given.endswith(".toml"):
        raise InputError(
            "--workload",
            "a service runs only workloads that it knows by name; "
            "its operator puts files into ROCKTUNE_WORKLOADS_DIR",
        )
    return given


def _named(
    field: str, given: str, shipped: tuple[str, ...], text: Callable[[str], str]
) -> str | dict[str, Any]:
    return given if given in shipped else read_document(text(given), field=f"{field} {given}")


def _baseline(given: str | None) -> dict[str, str]:
    if given is None:
        return {}
    if given in ("library", "db_bench"):
        return {"baseline": given}
    try:
        return {"baseline_options": Path(given).read_text(encoding="utf-8")}
    except (OSError, UnicodeDecodeError, ValueError):
        raise InputError(
            "--baseline", f"{given!r} is neither library, db_bench nor an OPTIONS file to read"
        ) from None


def require_json(field: str, value: object) -> None:
    """Refuses dates and infinities, which TOML and the terminal know and JSON does not.

    Raises:
        InputError: There is one.
    """
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        raise InputError(field, "nan and inf cannot be asked for over HTTP") from None
    except TypeError:
        raise InputError(field, "holds a date or a time; write it as a text") from None
