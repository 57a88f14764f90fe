"""Log-in by token, and log-out.

The link that ``rocktune serve`` prints holds the token: one click logs in, where the browser says
that no other site's page leads here. It says so on loopback and over TLS (Fetch Metadata, section
2). Over plain HTTP it says nothing, so that page might log somebody in as its author: there the
link is answered by a page that names the token and asks, and the log-in is a form of ours.

Else the answer is a redirect to an address without the token, also where it is wrong. The page
that asks takes it out of its address, and no browser sends it on as ``Referer``. Our log has paths
alone. A proxy's log may have it: from elsewhere, use the form.
"""

import re
from datetime import timedelta
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from api.auth.security import (
    FieldsDep,
    FormDep,
    GuardedRoute,
    clear_session,
    same_origin,
    session_secret,
    set_session,
)
from api.http.problems import ProblemError
from api.pages.page import Reader, page
from api.services.dependencies import Service, ServiceDep
from db.access.tokens import close_session, find_token, open_session

router = APIRouter(include_in_schema=False, route_class=GuardedRoute)
_SITE = "sec-fetch-site"
# A path of ours alone: `//host` and `/\host` would lead elsewhere.
_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]*", re.ASCII)
_REFUSED = {
    "unknown": "This token is unknown or revoked. For a valid one, run `rocktune token show` "
    "on the server's machine.",
    "foreign": "Opened from another site. Paste the link in the address bar, or the token below.",
}
Wanted = Annotated[str, Query(alias="next", max_length=2000)]


@router.get("/login")
def log_in_page(
    request: Request,
    service: ServiceDep,
    wanted: Wanted = "/",
    linked: Annotated[str | None, Query(alias="token")] = None,
    refused: Annotated[str, Query(max_length=20)] = "",
) -> Response:
    """Asks for a token; a link that holds one logs in and leads on, or asks whether it shall."""
    path = safe_path(wanted)
    if linked is None:
        problem = _REFUSED.get(refused)
        return page(request, "log_in.html", caller=None, wanted=path, problem=problem)
    if _is_foreign(request):
        return _clean(f"/login?next={quote(path)}&refused=foreign")
    again = f"/login?next={quote(path)}&refused=unknown"
    if _SITE in request.headers:
        return _logged_in(request, service, linked, path) or _clean(again)
    token = find_token(service.engine, linked)
    if token is None:
        return _clean(again)
    shown = page(
        request,
        "log_in.html",
        caller=None,
        wanted=path,
        problem=None,
        linked=linked,
        token=token,
    )
    # The form's `Origin` is sent all the same, which it is not with no-referrer.
    shown.headers["Referrer-Policy"] = "strict-origin"
    return shown


@router.post("/login")
def log_in(request: Request, service: ServiceDep, fields: FieldsDep) -> Response:
    """Gives the browser a session of its own, whatever it had before.

    Every browser says where a form comes from; what says nothing is none, and sends no cookie on.
    """
    origin = request.headers.get("origin")
    if _is_foreign(request) or (origin is not None and not same_origin(request, origin)):
        # The first form has no session to prove it by.
        why = "log in from this server's own page; a proxy in between must forward the Host header"
        raise ProblemError(403, why)
    wanted = safe_path(fields.get("next", ""))
    shown = {"wanted": wanted, "problem": _REFUSED["unknown"]}
    answer = _logged_in(request, service, fields.get("token", "").strip(), wanted)
    return answer or page(request, "log_in.html", caller=None, status=401, **shown)


def _logged_in(request: Request, service: Service, given: str, wanted: str) -> Response | None:
    """Leads on with a session of its own, whatever the browser had; None: the token is none."""
    token = find_token(service.engine, given)
    if token is None:
        return None
    _end_session(request, service)
    lives = timedelta(hours=service.settings.session_hours)
    secret = open_session(service.engine, token.id, lives=lives)
    answer = _clean(wanted)
    set_session(answer, request, secret, lives=lives)
    return answer


def _clean(path: str) -> Response:
    headers = {"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}
    return RedirectResponse(path, 303, headers=headers)


@router.post("/logout")
def log_out(visit: Reader, _form: FormDep) -> Response:
    """Ends the session on the server, and takes its cookie from the browser."""
    _end_session(visit.request, visit.service)
    answer = RedirectResponse("/login", 303)
    clear_session(answer, visit.request)
    return answer


def safe_path(wanted: str) -> str:
    """Where to go on after the log-in: a path of this server, or the first page."""
    return wanted if _PATH.fullmatch(wanted) else "/"


def _is_foreign(request: Request) -> bool:
    """Whether a browser says that a page of another site leads here."""
    said = request.headers.get(_SITE, "same-origin")
    return said not in ("same-origin", "none")


def _end_session(request: Request, service: Service) -> None:
    secret = session_secret(request)
    if secret is not None:
        close_session(service.engine, secret)
