"""Errors over HTTP: RFC 9457 problem documents, one shape for all."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from sampler.common.errors import InputError, InputErrors

MEDIA_TYPE = "application/problem+json"
_SHOWN = 200


class FieldProblem(BaseModel):
    """One field that is wrong, and the mend."""

    field: str = Field(examples=["trials"])
    problem: str = Field(examples=["3 are too few; a job needs at least 12"])
    value: str | None = Field(default=None, description="What was given, shortened.")


class ProblemDocument(BaseModel):
    """RFC 9457."""

    model_config = ConfigDict(title="Problem")

    type: str = "about:blank"
    title: str = Field(examples=["Unprocessable Content"])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["trials: 3 are too few; a job needs at least 12"])
    errors: list[FieldProblem] = Field(default=[], description="Every field that is wrong.")


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
    """What an input error says, field by field, as a client named them.

    ``given`` is the request's body, for the values.
    """
    errors = error.errors if isinstance(error, InputErrors) else (error,)
    values, named = given or {}, [(_over_http(each.field), safe(each.problem)) for each in errors]
    return [
        FieldProblem(
            field=field,
            problem=problem,
            value=shortened(values[field]) if field in values else None,
        )
        for field, problem in named
    ]


def _over_http(field: str) -> str:
    """The field as the client wrote it: the document that it is in goes before it."""
    name = field.removeprefix("--")
    if name != field:
        option, space, rest = name.partition(" ")
        name = _RENAMED.get(option, option.replace("-", "_")) + space + rest
    if name == "baseline" or name.startswith("baseline "):
        return "baseline_options"  # what else baseline may be is checked before
    for document, starts in _DOCUMENTS.items():
        if name.startswith(starts):
            return safe(f"{document}.{name}")
    return safe(name)


_RENAMED = {"limit": "limits"}  # given again and again there, a list here
_DOCUMENTS = {
    "space": ("parameter", "fixed."),
    "objective": ("metric[", "limit["),
    "workload": ("command.", "flags.", "prepare."),
}


def shortened(value: object) -> str:
    """A value as an error repeats it: short, and in plain characters."""
    text = safe(repr(value))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def safe(text: str) -> str:
    """Text that any encoding of the answer can carry."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


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
    400: "The body is no JSON",
    401: "A token is needed, and none that is valid was given",
    403: "The token's role does not allow it",
    404: "There is none",
    406: "None of the formats that Accept names is offered",
    409: "The job is in a state in which this cannot be done",
    413: "The body is too large",
    422: "Fields are wrong; each is named with its mend",
    429: "Too many requests, or too many queued jobs; Retry-After says when to come again",
    503: "The database does not answer, or too many wait for models; try again",
}
EVERYWHERE = described(401, 403, 422, 429, 503)
