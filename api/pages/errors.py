"""How errors are answered: a page where a person asks, else a problem document.

Each names its mend; what is ours to mend is logged.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import structlog
from anyio import to_thread
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoConnection
from starlette.exceptions import HTTPException
from starlette.routing import compile_path
from starlette.types import ASGIApp, Receive, Scope, Send

from api.auth.security import caller_of_error
from api.http.problems import ProblemError, answer, field_problems, findings, refused
from api.services.dependencies import NotModifiedError
from api.services.submission import findings_of_job
from db.connection.engine import full_disk
from db.jobs.job_queue import KeyReusedError, QueueFullError
from db.leases import LeaseHeld
from db.schema.job_row import NoSuchJob
from db.workloads import WorkloadRefused
from jobs.queue.lifecycle import NotAsked, WrongState
from jobs.schedule import BatchGoesOn, ScheduleTaken
from optimizer.run.ports import LeaseLost
from sampler.common.errors import InputError

_NOT_PAGES = ("/v1/", "/openapi.json", "/static/")


def error_answer(request: Request, error: ProblemError, *, ask: bool = False) -> Response:
    """The error as a page where a browser asked for one; else as a problem document.

    ``ask``: whether the database is asked who is logged in, where that is not known. Not on the
    event loop, nor for whoever asks too often.
    """
    url, wants = request.url, request.headers.get("accept", "")
    if "text/html" not in wants or url.path.startswith(_NOT_PAGES):
        return answer(error)
    problem = error.problem
    if problem.status == 401:
        if "token" in request.query_params:  # that somebody put there: it goes no further
            url = url.remove_query_params("token")
        query = f"?{url.query}" if url.query else ""
        back = f"{url.path}{query}" if request.method == "GET" else "/"
        return RedirectResponse(f"/login?next={quote(back)}", 303)
    from api.pages.page import page

    caller = caller_of_error(request, ask=ask)
    made = page(request, "error.html", caller=caller, status=problem.status, problem=problem)
    made.headers.update(error.headers)
    return made


def error_app(request: Request, error: ProblemError) -> ASGIApp:
    """The same from the event loop, where it is not known who is logged in: a thread asks."""

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        made = await to_thread.run_sync(_answered, request, error)
        await made(scope, receive, send)

    return answered


def _answered(request: Request, error: ProblemError) -> Response:
    return error_answer(request, error, ask=True)


_CONFLICTS = (
    WrongState, NotAsked, LeaseHeld, LeaseLost, KeyReusedError, ScheduleTaken, BatchGoesOn,
    WorkloadRefused,
)  # fmt: skip
_PROBLEMS: dict[type[Exception], Callable[[Any], ProblemError]] = {
    ProblemError: lambda error: error,
    InputError: lambda error: refused(field_problems(error)),
    NoSuchJob: lambda error: ProblemError(404, error.args[0]),
    QueueFullError: lambda error: ProblemError(429, str(error), headers={"Retry-After": "60"}),
    **dict.fromkeys(_CONFLICTS, lambda error: ProblemError(409, str(error))),
}
_LATER = {"Retry-After": "60"}
_OLD = ("42P01", "42703")  # PostgreSQL: no such table, no such column
_log = structlog.get_logger("api")


def add_handlers(app: FastAPI) -> None:
    """Makes every error of the application a problem document."""
    for kind, problem_of in _PROBLEMS.items():
        app.exception_handler(kind)(
            lambda request, error, problem_of=problem_of: _answered(request, problem_of(error))
        )

    @app.exception_handler(RequestValidationError)
    def _invalid(request: Request, error: RequestValidationError) -> Response:
        found = [*findings(error.errors(), error.body), *findings_of_job(request, error)]
        return _answered(request, refused(found))

    @app.exception_handler(HTTPException)
    def _http(request: Request, error: HTTPException) -> Response:
        headers = dict(error.headers or {})
        if error.status_code == 405:
            # Pages are not in the description: of theirs the framework's word must do.
            headers["Allow"] = _methods(app, request.url.path) or headers.get("Allow", "")
        said = ProblemError(error.status_code, str(error.detail), headers=headers)
        return _answered(request, said)

    @app.exception_handler(NotModifiedError)
    def _not_modified(_: Request, known: NotModifiedError) -> Response:
        return Response(status_code=304, headers=known.headers)

    @app.exception_handler(SQLAlchemyError)
    @app.exception_handler(Exception)
    def _failed(request: Request, error: Exception) -> Response:
        service = app.state.service
        full = full_disk(error, service.engine.url)
        invalidated = isinstance(error, DBAPIError) and error.connection_invalidated
        if full is not None:
            _log.error(full)
            # Which folder that is concerns who runs the service.
            there = "a disk of the service is full; free space on it (its log says which)"
            told = ProblemError(
                503, f"{full if service.trusted else there}, then try again", headers=_LATER
            )
        elif isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) in _OLD:
            told = ProblemError(503, "the database's tables do not fit this version; upgrade them")
            _log.error(told.problem.detail)
        elif invalidated or isinstance(error, OperationalError | NoConnection):
            _log.error("the database does not answer", kind=type(error).__name__)
            told = ProblemError(
                503, "the database does not answer; try again", headers={"Retry-After": "5"}
            )
        else:
            _log.error("request failed", path=request.url.path, exc_info=error)
            told = ProblemError(500, "internal error; see the server's log")
        return error_answer(request, told)


def _methods(app: FastAPI, path: str) -> str:
    """All that may be done at a place; the framework would name those of one of its routes."""
    described = app.openapi()["paths"].items()
    here = [methods for place, methods in described if compile_path(place)[0].match(path)]
    return ", ".join(sorted({method.upper() for methods in here for method in methods}))
