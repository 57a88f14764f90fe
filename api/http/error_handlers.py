"""Whatever goes wrong becomes a problem document, or a page; what is ours to mend is logged."""

from __future__ import annotations

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoConnection
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from api.http.findings import finding
from api.http.more_findings import more_findings
from api.http.problems import ProblemError, field_problems, refused
from api.pages.errors import shown as as_asked
from db.leases.lease import LeaseHeld
from jobs.external.open_jobs import NotAsked
from jobs.queue.lifecycle import WrongState
from optimizer.run.ports import LeaseLost
from sampler.common.errors import InputError

_OLD = ("42P01", "42703")  # PostgreSQL: no such table, no such column
_log = structlog.get_logger("api")


def add_handlers(app: FastAPI) -> None:
    """Makes every error of the application a problem document."""

    @app.exception_handler(ProblemError)
    def _problem(request: Request, error: ProblemError) -> Response:
        return as_asked(request, error)

    @app.exception_handler(InputError)
    def _input(request: Request, error: InputError) -> Response:
        return as_asked(request, refused(field_problems(error)))

    @app.exception_handler(WrongState)
    @app.exception_handler(NotAsked)
    @app.exception_handler(LeaseHeld)
    @app.exception_handler(LeaseLost)
    def _conflict(request: Request, error: Exception) -> Response:
        return as_asked(request, ProblemError(409, str(error)))

    @app.exception_handler(RequestValidationError)
    def _invalid(request: Request, error: RequestValidationError) -> Response:
        findings = [finding(found) for found in error.errors()]
        findings += more_findings(request, error)
        # Of a value that may be of several types, each type has its own say.
        return as_asked(request, refused(list({each.field: each for each in findings}.values())))

    @app.exception_handler(HTTPException)
    def _http(request: Request, error: HTTPException) -> Response:
        headers = dict(error.headers or {})
        if error.status_code == 405:
            # Pages are not in the description: of theirs the framework's word must do.
            headers["Allow"] = _methods(app, request.url.path) or headers.get("Allow", "")
        said = ProblemError(error.status_code, str(error.detail), headers=headers)
        return as_asked(request, said)

    @app.exception_handler(SQLAlchemyError)
    def _database(request: Request, error: SQLAlchemyError) -> Response:
        if isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) in _OLD:
            _log.error("the database's tables are not of this version; upgrade them")
            old = ProblemError(503, "the database's tables are not of this version")
            return as_asked(request, old)
        if isinstance(error, OperationalError | NoConnection) or (
            isinstance(error, DBAPIError) and error.connection_invalidated
        ):
            _log.error("the database does not answer", kind=type(error).__name__)
            late = ProblemError(
                503, "the database does not answer; try again", headers={"Retry-After": "5"}
            )
            return as_asked(request, late)
        return _unexpected(request, error)

    @app.exception_handler(Exception)
    def _unexpected(request: Request, error: Exception) -> Response:
        _log.error("a request failed", path=request.url.path, exc_info=error)
        return as_asked(request, ProblemError(500, "Rocktune failed; its log says why"))


def _methods(app: FastAPI, path: str) -> str:
    """All that may be done at a place; the framework would name those of one of its routes."""
    described = app.openapi()["paths"].items()
    here = [methods for place, methods in described if compile_path(place)[0].match(path)]
    return ", ".join(sorted({method.upper() for methods in here for method in methods}))
