"""Errors as pages, where a person asks: with the mend, and the log-in where one is needed."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from api.http.problems import ProblemError, answer
from api.pages.page import page
from api.services.dependencies import Service

_NOT_PAGES = ("/v1/", "/openapi.json", "/static/")


def shown(request: Request, error: ProblemError) -> Response:
    """The error as a page where a browser asked for one; else as a problem document."""
    if not _wants_page(request):
        return answer(error)
    problem = error.problem
    if problem.status == 401 and _may_log_in(request):
        query = f"?{request.url.query}" if request.url.query else ""
        back = f"{request.url.path}{query}" if request.method == "GET" else "/"
        return RedirectResponse(f"/login?next={quote(back)}", 303)
    made = page(request, "error.html", caller=None, status=problem.status, problem=problem)
    made.headers.update(error.headers)
    return made


def _may_log_in(request: Request) -> bool:
    """Whether a token would help: else this machine was called by a wrong name."""
    service: Service = request.app.state.service
    return not service.loopback or service.needs_token()


def _wants_page(request: Request) -> bool:
    asked = request.headers.get("accept", "")
    return "text/html" in asked and not request.url.path.startswith(_NOT_PAGES)
