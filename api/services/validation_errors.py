"""What is wrong with a request whose types are wrong: every field of it, not the first alone."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from api.http.problems import FieldProblem, field_problems, safe, shortened
from api.schemas.job_schemas import JobChange, kind_in
from api.services.inline_documents import Registry
from api.services.submission import specification_from
from db.schema.job_row import JobKind
from jobs.specification.request import WRITE
from jobs.specification.specification import Specification
from sampler.common.errors import InputError, value_problem


def finding_of(found: Any, body: object) -> FieldProblem:
    """Of one of pydantic's errors; its place begins with where the fields were, as ``body``."""
    place, *parts = _place(found, body)
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    if found["type"] == "union_tag_invalid":
        named = f"{field}.kind".removeprefix(".")
        return FieldProblem(field=safe(named), problem=f"write one of {', '.join(JobKind)}")
    if found["type"] == "json_invalid":
        return FieldProblem(field="body", problem="is not JSON")
    given = None if found["type"] == "missing" else shortened(found.get("input"))
    if parts and parts[0] in WRITE:
        return FieldProblem(field=parts[0], problem=WRITE[parts[0]], value=given)
    named = field.removeprefix(".") or str(place)
    return FieldProblem(field=safe(named), problem=safe(value_problem(found)), value=given)


def _place(found: Any, body: object) -> list[Any]:
    """Where it is. A kind of job, or one of several types of a value, is no part of that."""
    place, *parts = found["loc"]
    if place != "body":
        return [place, *parts]
    there, value = [place], body
    for at, part in enumerate(parts, start=1):
        within = value if isinstance(value, Mapping) else ()
        if part in within or (isinstance(part, int) and isinstance(value, list)):
            value = value[part]  # type: ignore[index]
            there.append(part)
        elif found["type"] == "missing" and at == len(parts):
            there.append(part)
    return there


def findings(errors: Iterable[Any], body: object) -> list[FieldProblem]:
    """Pydantic's errors in a body, each field once.

    Of a value that may be of several types, each type has its say, in one sentence; where a part
    of it is wrong, that alone is told.
    """
    found: dict[str, FieldProblem] = {}
    for error in errors:
        each = finding_of(error, body)
        before = found.setdefault(each.field, each)
        if each.problem not in before.problem:
            more = each.problem.removeprefix(safe(f"{error['input']!r:.80} "))
            both = f"{before.problem}, and {more}"
            found[each.field] = before.model_copy(update={"problem": both})
    parts = tuple(found)
    return [
        each
        for field, each in found.items()
        if not any(part.startswith((f"{field}.", f"{field}[")) for part in parts)
    ]


def findings_in(error: ValidationError, body: object) -> list[FieldProblem]:
    """The same of a body that is checked here."""
    return findings([{**each, "loc": ("body", *each["loc"])} for each in error.errors()], body)


def findings_of_job(request: Request, error: RequestValidationError) -> list[FieldProblem]:
    """What else is wrong with a job of which some fields are not even of the right type."""
    body = error.body
    if request.method != "POST" or request.url.path != "/v1/jobs" or not isinstance(body, dict):
        return []
    if kind_in(body) != JobKind.TUNE:
        return []
    body = {name: value for name, value in body.items() if name != "kind"}
    wrong = {place[1] for each in error.errors() if len(place := _place(each, body)) > 1}
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
