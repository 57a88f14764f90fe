"""Who asks, and whether they may: bearer tokens with roles, or a browser that is logged in.

A form of a page is read only once it is proved to be one of ours.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.exc import SQLAlchemyError

from api.auth.cookies import form_token, same_token, session_secret
from api.http.problems import ProblemError
from db.access.tokens import Role, find_token, token_of_session

_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="token",
    description="Made by `rocktune token make`; `rocktune token show` prints the server's own.",
)
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
FORM_HEADER = "X-Form-Token"
_WHERE = "`rocktune token show` prints one, on the server's machine"


@dataclass(frozen=True)
class Caller:
    """Who asks."""

    # The token's; None for the command that runs the application in its own process.
    name: str | None
    role: Role
    by_bearer: bool = False  # the request itself bears the token: no browser adds that by itself
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
    caller = _identified(request, given)
    request.state.caller = caller
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
            return Caller(found.name, found.role, by_bearer=True)
        raise _unknown(f"the token is unknown or revoked; {_WHERE}")
    if "authorization" in request.headers:
        raise _unknown(f"write Authorization: Bearer TOKEN; {_WHERE}")
    secret = session_secret(request)
    found = token_of_session(service.engine, secret) if secret else None
    if secret is not None and found is not None:
        origin = request.headers.get("origin")
        # A page of another site, or of another port, does not act for who is logged in.
        if origin is not None and not same_origin(request, origin):
            raise ProblemError(403, "pages of other sites are not answered")
        return Caller(found.name, found.role, forms=form_token(secret))
    if not service.trusted:
        raise _unknown(f"a token is needed: Authorization: Bearer TOKEN; {_WHERE}")
    return Caller(None, Role.ADMIN)


CallerDep = Annotated[Caller, Depends(identified)]


def still_known(
    request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> Callable[[], bool]:
    """Asks the same again, for what is answered for long: was the token revoked meanwhile?"""

    def known() -> bool:
        try:
            identified(request, given)
        except ProblemError:
            return False
        return True

    return known


StillKnownDep = Annotated[Callable[[], bool], Depends(still_known)]


def _caller(request: Request, caller: CallerDep) -> Caller:
    """Of the interface: a browser that is logged in proves that one of our pages asks."""
    logged_in = caller.name is not None and not caller.by_bearer
    if logged_in and request.method not in _SAFE:
        require_form_token(caller, request.headers.get(FORM_HEADER, ""))
    return caller


def require_form_token(caller: Caller, given: str) -> None:
    """Refuses with 403 a form that is not of a page of this session."""
    if not caller.by_bearer and not same_token(caller.forms, given):
        raise ProblemError(403, "the form is not of this session any more; load its page again")


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
        if not caller.role.may(role):
            lacking = f"this needs the role {role.value}; the token has {caller.role.value}"
            raise ProblemError(403, lacking)
        return caller

    return Depends(allowed)


READS, SUBMITS, ADMINISTERS = map(requires, (Role.READ, Role.SUBMIT, Role.ADMIN))


_MOST_FIELDS = 200
_MEDIA_TYPE = "application/x-www-form-urlencoded"
FORM_TOKEN = "form_token"


async def form_fields(request: Request) -> Mapping[str, str]:
    """The fields of a form as text, the last of each name; 415, 400 or 413 if it is none."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if body and kind != _MEDIA_TYPE:
        raise ProblemError(415, f"send a form as {_MEDIA_TYPE}")
    try:
        # A browser sends line ends as CRLF.
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:
        raise ProblemError(400, "the form cannot be read") from None
    return {name: value.replace("\r\n", "\n") for name, value in pairs}


FieldsDep = Annotated[Mapping[str, str], Depends(form_fields)]


async def _proved(fields: FieldsDep, caller: CallerDep) -> Mapping[str, str]:
    require_form_token(caller, fields.get(FORM_TOKEN, ""))
    return {name: value for name, value in fields.items() if name != FORM_TOKEN}


FormDep = Annotated[Mapping[str, str], Depends(_proved)]
"""The fields of a form that brought the right token."""
