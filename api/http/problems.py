"""Errors over HTTP: RFC 9457 problem documents, one shape for all, that name every wrong field."""

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from db.schema.job_row import JobKind
from jobs.specification.request import WRITE
from sampler.common.errors import InputError, InputErrors, value_problem

MEDIA_TYPE = "application/problem+json"
_SHOWN = 200


class FieldProblem(BaseModel):
    """One field that is wrong, and how to fix it."""

    field: str = Field(examples=["trials"])
    problem: str = Field(examples=["3 are too few; a job needs at least 12"])
    value: str | None = Field(default=None, description="Given value, shortened.")


class ProblemDocument(BaseModel):
    """RFC 9457."""

    model_config = ConfigDict(title="Problem")

    type: str = "about:blank"
    title: str = Field(examples=["Unprocessable Content"])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["trials: 3 are too few; a job needs at least 12"])
    errors: list[FieldProblem] = Field(default=[], description="All wrong fields.")


class ProblemError(Exception):
    """An answer that is a problem document."""

    def __init__(
        self,
        status: int,
        detail: str,
        errors: Sequence[FieldProblem] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.headers = dict(headers or {})
        self.problem = ProblemDocument(
            title=HTTPStatus(status).phrase,
            status=status,
            detail=safe(detail),
            errors=list(errors),
        )


def answer(error: ProblemError) -> JSONResponse:
    """The error as a response."""
    return JSONResponse(
        error.problem.model_dump(),
        status_code=error.problem.status,
        headers=error.headers,
        media_type=MEDIA_TYPE,
    )


def refused(findings: Sequence[FieldProblem]) -> ProblemError:
    """A 422 that names every field."""
    detail = "; ".join(f"{each.field}: {each.problem}" for each in findings)
    return ProblemError(422, detail, findings)


def field_problems(
    error: InputError, given: Mapping[str, Any] | None = None
) -> list[FieldProblem]:
    """An input error, field by field; ``given`` is the request's body, for the values."""
    values, found = given or {}, []
    for each in error.errors if isinstance(error, InputErrors) else (error,):
        field = safe(each.field)
        value = shortened(values[field]) if field in values else None
        found.append(FieldProblem(field=field, problem=safe(each.problem), value=value))
    return found


def shortened(value: object) -> str:
    """A value as an error repeats it: short, and in plain characters."""
    text = safe(repr(value))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def safe(text: str) -> str:
    """Text that any encoding of the answer can carry."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _finding(found: Any, body: object) -> FieldProblem:
    """Of one of pydantic's errors; its place begins with where the fields were, as ``body``."""
    place, *parts = place_in(found, body)
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    if found["type"] == "union_tag_invalid":
        named = f"{field}.kind".removeprefix(".")
        return FieldProblem(field=safe(named), problem=f"write one of {', '.join(JobKind)}")
    if found["type"] == "json_invalid":
        return FieldProblem(field="body", problem="is not valid JSON")
    given = None if found["type"] == "missing" else shortened(found.get("input"))
    if parts and parts[0] in WRITE:
        return FieldProblem(field=parts[0], problem=WRITE[parts[0]], value=given)
    named = field.removeprefix(".") or str(place)
    return FieldProblem(field=safe(named), problem=safe(value_problem(found)), value=given)


def place_in(found: Any, body: object) -> list[Any]:
    """Where one of pydantic's errors is.

    A kind of job, or one of several types of a value, is no part of that.
    """
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
        each = _finding(error, body)
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


def described(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of a route, for its description in OpenAPI."""
    return {
        status: {
            "description": _MEANING[status],
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in statuses
    }


_MEANING = {
    400: "The body is not JSON",
    401: "A valid token is required",
    403: "The token's role does not allow this",
    404: "Not found",
    406: "No format in Accept is available",
    409: "Not possible in the job's state",
    413: "The body is too large",
    422: "Fields are wrong; each is named with its fix",
    429: "Too many requests or queued jobs; Retry-After says when to try again",
    503: "The database does not answer, a disk of the service is full, or too many requests wait "
    "for models; try again",
}
EVERYWHERE = described(401, 403, 422, 429, 503)
