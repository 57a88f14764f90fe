"""Errors over HTTP: RFC 9457 problem documents, one shape for all."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from sampler.errors import InputError

MEDIA_TYPE = "application/problem+json"


class FieldProblem(BaseModel):
    """One field that is wrong, and the mend."""

    field: str
    problem: str


class Problem(BaseModel):
    """RFC 9457."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[FieldProblem] = []


class ProblemError(Exception):
    """An answer that is a problem document."""

    def __init__(self, status: int, detail: str, errors: Sequence[FieldProblem] = ()) -> None:
        super().__init__(detail)
        self.problem = Problem(
            title=HTTPStatus(status).phrase, status=status, detail=detail, errors=list(errors)
        )


def add_handlers(app: FastAPI) -> None:
    """Makes every error of the application a problem document."""

    @app.exception_handler(ProblemError)
    def _problem(_: Request, error: ProblemError) -> JSONResponse:
        return _answer(error.problem)

    @app.exception_handler(InputError)
    def _input(_: Request, error: InputError) -> JSONResponse:
        field = FieldProblem(field=error.field.removeprefix("--"), problem=error.problem)
        return _answer(ProblemError(422, str(error), [field]).problem)

    @app.exception_handler(RequestValidationError)
    def _invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        errors = [
            FieldProblem(
                field=".".join(str(part) for part in found["loc"][1:]) or str(found["loc"][0]),
                problem=f"{found['msg']}, not {str(found.get('input'))[:200]!r}",
            )
            for found in error.errors()
        ]
        return _answer(ProblemError(422, "some fields are wrong", errors).problem)

    @app.exception_handler(HTTPException)
    def _http(_: Request, error: HTTPException) -> JSONResponse:
        response = _answer(ProblemError(error.status_code, str(error.detail)).problem)
        response.headers.update(error.headers or {})
        return response


def _answer(problem: Problem) -> JSONResponse:
    return JSONResponse(problem.model_dump(), status_code=problem.status, media_type=MEDIA_TYPE)


RESPONSES: dict[int | str, dict[str, Any]] = {
    404: {"model": Problem, "description": "There is none"},
    422: {"model": Problem, "description": "A field is wrong; each is named with its mend"},
}
