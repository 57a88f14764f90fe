"""Who asks, and whether they may: bearer tokens with roles, or a browser that is logged in.

A form of a page is read only once it is proved to be one of ours, by the token that each brings.

A session's cookie is ``SameSite=Lax``, not ``Strict``: a link to a job from a chat or a mail
shall open the job. Nothing is changed by a GET, and every POST brings the form's token, which only
a page of ours can read. Behind TLS the cookie is ``Secure`` under a ``__Host-`` name, which no
page of another host or of plain HTTP can set, and one of another name counts for nothing.
"""

import hashlib
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from hmac import compare_digest
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.exc import SQLAlchemyError

from api.http.middleware import JsonRequest
from api.http.problems import ProblemError
from db.access.tokens import Role, find_token, hash_of, token_of_session
from jobs.cluster.listening import is_loopback

_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="token",
    description="Created by `rocktune token make`; `rocktune token show` prints the server's own.",
)
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
FORM_HEADER = "X-Form-Token"
_WHERE = "`rocktune token show` prints a valid one on the server's machine"


@dataclass(frozen=True)
class Caller:
    """Who asks."""

    # The token's; None for the command that runs the application in its own process.
    name: str | None
    role: Role
    by_bearer: bool = False  # the request itself bears the token: no browser adds that by itself
    token_id: str | None = None  # of the token, also where a session stands for it
    session: str | None = None  # the hash of the session's secret
    # The token that a form of theirs must bring along; None: none was given out yet.
    forms: str | None = None


def identified(
    request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> Caller:
    """Who asks: every request proves it, wherever it comes from.

    Neither the peer's address nor ``Host`` tells anything: a proxy on this machine may stand
    between, and nothing in the request need show it.

    Raises:
        ProblemError: 401, nobody that is known; 403, a page of another site.
    """
    # A request with a body has proved it before the body was read: see ``GuardedRoute``.
    caller: Caller | None = getattr(request.state, "caller", None)
    if caller is None:
        caller = request.state.caller = _identified(request, given)
    return caller


def caller_of_error(request: Request, *, ask: bool) -> Caller | None:
    """Who asked for what failed, so that its page has their navigation; None: nobody known.

    With ``ask`` the database is asked where that was not found out before the request failed.
    """
    found: Caller | None = getattr(request.state, "caller", None)
    if found is None and ask:
        with suppress(ProblemError, SQLAlchemyError):
            found = _identified(request, None)
    return found


def _identified(request: Request, given: HTTPAuthorizationCredentials | None) -> Caller:
    service = request.app.state.service
    if given is not None:
        found = find_token(service.engine, given.credentials)
        if found is not None:
            return Caller(found.name, found.role, by_bearer=True, token_id=found.id)
        raise _unknown(f"the token is unknown or revoked; {_WHERE}")
    if "authorization" in request.headers:
        raise _unknown(f"write Authorization: Bearer TOKEN; {_WHERE}")
    secret = session_secret(request)
    found = token_of_session(service.engine, secret) if secret else None
    if secret is not None and found is not None:
        origin = request.headers.get("origin")
        # A page of another site, or of another port, does not act for who is logged in.
        if origin is not None and not same_origin(request, origin):
            raise ProblemError(403, "requests from other sites' pages are refused")
        return Caller(
            found.name,
            found.role,
            token_id=found.id,
            session=hash_of(secret),
            forms=form_token(secret),
        )
    if not service.trusted:
        raise _unknown(f"a token is required, as Authorization: Bearer TOKEN; {_WHERE}")
    return Caller(None, Role.ADMIN)


CallerDep = Annotated[Caller, Depends(identified)]


def _caller(request: Request, caller: CallerDep) -> Caller:
    """Of the interface: a browser that is logged in proves that one of our pages asks."""
    logged_in = caller.name is not None and not caller.by_bearer
    if logged_in and request.method not in _SAFE:
        require_form_token(caller, request.headers.get(FORM_HEADER, ""))
    return caller


def require_form_token(caller: Caller, given: str) -> None:
    """Refuses with 403 a form that is not of a page of this session."""
    if not caller.by_bearer and not same_token(caller.forms, given):
        raise ProblemError(403, "the form belongs to an ended session; load its page again")


def same_origin(request: Request, origin: str) -> bool:
    """Whether a page is of the host that the request names, by whatever scheme."""
    host = request.headers.get("host", "").lower()
    return bool(host) and origin.lower().partition("://")[2] == host


def _unknown(why: str) -> ProblemError:
    return ProblemError(401, why, headers={"WWW-Authenticate": "Bearer"})


def requires(role: Role, who: Callable[..., Caller] = _caller) -> Any:
    """A dependency that lets only callers of a role through, and gives them to the route."""
    proved = Depends(who)

    async def allowed(caller: Caller = proved) -> Caller:
        return _require(role, caller)

    def admitted(request: Request, given: HTTPAuthorizationCredentials | None) -> None:
        caller = identified(request, given)
        _require(role, _caller(request, caller) if who is _caller else caller)

    _admissions[allowed] = admitted
    return Depends(allowed)


def _require(role: Role, caller: Caller) -> Caller:
    if not caller.role.may(role):
        lacking = f"this needs the role {role.value}; the token has {caller.role.value}"
        raise ProblemError(403, lacking)
    return caller


_Admission = Callable[[Request, HTTPAuthorizationCredentials | None], None]
_admissions: dict[Callable[..., Any], _Admission] = {}  # by what ``requires`` made


class GuardedRoute(APIRoute):
    """A route that reads no body of a caller who may not send it.

    FastAPI reads and parses the body before it resolves the dependencies that say who may ask.
    Here they are asked first, and a large JSON body is parsed beside the event loop.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's hook: what answers a request of this route."""
        answer = super().get_route_handler()
        admissions = [_admissions[each] for each in _calls(self.dependant) if each in _admissions]

        async def guarded(request: Request) -> Response:
            if request.method not in _SAFE:
                given = await _bearer(request)
                for admitted in admissions:
                    await run_in_threadpool(admitted, request, given)
            return await answer(JsonRequest(request.scope, request.receive))

        return guarded


def _calls(dependant: Dependant) -> Iterator[Callable[..., Any]]:
    for each in dependant.dependencies:
        if each.call is not None:
            yield each.call
        yield from _calls(each)


READS, SUBMITS, ADMINISTERS = map(requires, (Role.READ, Role.SUBMIT, Role.ADMIN))


_MOST_FIELDS = 200
_MEDIA_TYPE = "application/x-www-form-urlencoded"
FORM_TOKEN = "form_token"


async def form_fields(request: Request) -> Mapping[str, str]:
    """The fields of a form as text, the last of each name; 415, 400 or 413 if it is none."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if body and kind != _MEDIA_TYPE:
        raise ProblemError(415, f"send the form as {_MEDIA_TYPE}")
    try:
        # A browser sends line ends as CRLF.
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:
        raise ProblemError(400, "the form cannot be decoded; send it again") from None
    return {name: value.replace("\r\n", "\n") for name, value in pairs}


FieldsDep = Annotated[Mapping[str, str], Depends(form_fields)]


async def _proved(fields: FieldsDep, caller: CallerDep) -> Mapping[str, str]:
    require_form_token(caller, fields.get(FORM_TOKEN, ""))
    return {name: value for name, value in fields.items() if name != FORM_TOKEN}


FormDep = Annotated[Mapping[str, str], Depends(_proved)]
"""The fields of a form that brought the right token."""


_SESSION = "rocktune"
_SAFE_PREFIX = "__Host-"
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


def session_secret(request: Request) -> str | None:
    """What the session's cookie holds; None without one that could be ours."""
    value = request.cookies.get(_name(request, by_tls=is_by_tls(request)), "")
    return value if _SECRET.fullmatch(value) else None


def is_by_tls(request: Request) -> bool:
    """Whether the browser sees us behind TLS; a proxy before us may have taken it off.

    Told by a proxy's header, a form's origin, the operator (``ROCKTUNE_BEHIND_TLS``), or by the
    browser: ``Sec-Fetch-Site`` goes to loopback and over TLS alone (Fetch Metadata, section 2).
    Loopback itself is also used without. Whoever makes one up shuts out their own browser alone.
    """
    host = request.headers.get("host", "").lower()
    if "https" in (request.scope["scheme"], request.headers.get("x-forwarded-proto", "")):
        return True
    if request.headers.get("origin", "").lower() == f"https://{host}":
        return True
    told = request.app.state.service.settings.behind_tls or "sec-fetch-site" in request.headers
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    # The second as browsers take such a name.
    return bool(told) and not (is_loopback(name) or name.endswith(".localhost"))


def set_session(response: Response, request: Request, secret: str, *, lives: timedelta) -> None:
    """Gives the browser that asks a session."""
    cookie = _cookie(request, by_tls=is_by_tls(request))
    response.set_cookie(**cookie, value=secret, max_age=int(lives.total_seconds()))


def clear_session(response: Response, request: Request) -> None:
    """Takes it from the browser."""
    for by_tls in (False, True):
        response.delete_cookie(**_cookie(request, by_tls=by_tls))


def _cookie(request: Request, *, by_tls: bool) -> dict[str, Any]:
    name = _name(request, by_tls=by_tls)
    return {"key": name, "path": "/", "secure": by_tls, "httponly": True, "samesite": "lax"}


def form_token(secret: str) -> str:
    """The token of all forms of a session: made of its secret, and no way back to it."""
    return hashlib.sha256(f"form {secret}".encode()).hexdigest()


def same_token(expected: str | None, given: str) -> bool:
    """Whether a form brought the right token, in constant time."""
    return expected is not None and compare_digest(expected.encode(), given.encode())


def _name(request: Request, *, by_tls: bool) -> str:
    # A `__Host-` cookie is of the whole host, which may have services below several paths.
    below: str = request.app.state.service.settings.root_path
    return (_SAFE_PREFIX if by_tls else "") + _SESSION + below.replace("/", "-")
