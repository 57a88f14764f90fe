"""What the check of a request's types found, as the problem of a field."""

from __future__ import annotations

from typing import Any

from api.http.problems import FieldProblem, safe, shown


def finding(found: Any) -> FieldProblem:
    """Of one of pydantic's errors; its place begins with where the fields were, as ``body``."""
    place, *parts = found["loc"]
    if found["type"] == "json_invalid":
        return FieldProblem(field="body", problem="is not JSON")
    given = None if found["type"] == "missing" else shown(found.get("input"))
    if parts and parts[0] in _EITHER:
        return FieldProblem(field=parts[0], problem=_EITHER[parts[0]], value=given)
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    named = field.removeprefix(".") or str(place)
    return FieldProblem(field=safe(named), problem=safe(str(found["msg"])), value=given)


_EITHER = {
    "space": "write a shipped name, or the space itself as an object",
    "objective": "write a shipped name, or the objective itself as an object",
    "detect": "write a change such as 5% or rate=5%",
    "warm_start": "write auto, none, or the number of a job",
    "memory": f"write bytes, a whole number of at most {2**60}, or a text like 512MiB",
}
