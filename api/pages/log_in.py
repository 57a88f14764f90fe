"""Log-in by token, and log-out."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from api.auth.cookies import clear_session, session_secret, set_session
from api.auth.forms import FieldsDep, FormDep
from api.auth.security import page_requires, same_origin
from api.http.problems import ProblemError
from api.pages.page import page
from api.services.dependencies import Service, ServiceDep
from db.access.sessions import close_session, open_session
from db.access.tokens import Role, find_token

router = APIRouter(include_in_schema=False)
# A path of ours alone: `//host` and `/\host` would lead elsewhere.
_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]*", re.ASCII)
Wanted = Annotated[str, Query(alias="next", max_length=2000)]


@router.get("/login")
def log_in_page(request: Request, service: ServiceDep, wanted: Wanted = "/") -> Response:
    """Asks for a token; where none is needed, leads on."""
    if service.loopback and not service.needs_token():
        return RedirectResponse(safe_path(wanted), 303)
    return page(request, "log_in.html", caller=None, wanted=safe_path(wanted), problem=None)


@router.post("/login")
def log_in(request: Request, service: ServiceDep, fields: FieldsDep) -> Response:
    """Gives the browser a session of its own, whatever it had before."""
    _require_own_page(request)
    wanted = safe_path(fields.get("next", ""))
    token = find_token(service.engine, fields.get("token", "").strip())
    if token is None:
        problem = "This token is unknown or revoked. `rocktune token list` shows the valid ones."
        return page(
            request, "log_in.html", caller=None, status=401, wanted=wanted, problem=problem
        )
    _end_session(request, service)
    lives = timedelta(hours=service.settings.session_hours)
    secret = open_session(service.engine, token.id, lives=lives)
    answer = RedirectResponse(wanted, 303)
    set_session(answer, secret, lives=lives, tls=_by_tls(request))
    return answer


@router.post("/logout", dependencies=[page_requires(Role.READ)])
def log_out(request: Request, service: ServiceDep, _form: FormDep) -> Response:
    """Ends the session on the server, and takes its cookie from the browser."""
    _end_session(request, service)
    answer = RedirectResponse("/login", 303)
    clear_session(answer)
    return answer


def safe_path(wanted: str) -> str:
    """Where to go on after the log-in: a path of this server, or the first page."""
    return wanted if _PATH.fullmatch(wanted) else "/"


def _require_own_page(request: Request) -> None:
    """Nobody is logged in by a page of another site: the first form has no session to prove it by.

    Every browser says where a form comes from; what says nothing is none, and sends no cookie on.

    Raises:
        ProblemError: 403.
    """
    origin = request.headers.get("origin")
    foreign = request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
    if foreign or (origin is not None and not same_origin(request, origin)):
        why = "log in from this server's own page; a proxy in between must pass on the Host header"
        raise ProblemError(403, why)


def _by_tls(request: Request) -> bool:
    """Whether the browser sees us behind TLS; a proxy before us may have taken it off."""
    origin = request.headers.get("origin", "")
    return request.url.scheme == "https" or origin.lower().startswith("https://")


def _end_session(request: Request, service: Service) -> None:
    secret = session_secret(request)
    if secret is not None:
        close_session(service.engine, secret)
