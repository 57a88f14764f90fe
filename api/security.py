"""Who asks, and whether they may: bearer tokens with roles."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy import Engine

from api.problems import ProblemError
from db.tokens import Role, any_token, find_token

_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="token",
    description="Made by `rocktune token make`. On loopback, while none was made, none is needed.",
)
_LOCAL = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?", re.ASCII)


@dataclass(frozen=True)
class Caller:
    """Who asks: a token's name, or None for anyone on this machine."""

    name: str | None
    role: Role


def _caller(
    request: Request,
    given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Caller:
    service = request.app.state.service
    if given is not None:
        found = find_token(service.engine, given.credentials)
        if found is not None:
            return Caller(found.name, found.role)
        raise _unknown("the token is unknown or revoked")
    if "authorization" in request.headers:
        raise _unknown("write Authorization: Bearer TOKEN")
    if not service.loopback or service.needs_token():
        raise _unknown("a token is needed: Authorization: Bearer TOKEN")
    _refuse_pages_of_others(request)
    return Caller(None, Role.ADMIN)


def _refuse_pages_of_others(request: Request) -> None:
    """A page on the web can make a browser on this machine ask; without a token it must not.

    It asks under a name of its own that leads here, or sends a form, which needs nobody's leave.
    """
    # As it was sent: a name that cannot be read would otherwise be taken for the server's own.
    host = request.headers.get("host", "").lower()
    if not _LOCAL.fullmatch(host):
        raise _unknown("without a token only localhost is answered; make a token")
    origin = request.headers.get("origin")
    if origin is not None and origin.lower().partition("://")[2] != host:
        raise _unknown("without a token pages of other sites are not answered; make a token")


def _unknown(why: str) -> ProblemError:
    return ProblemError(401, why, headers={"WWW-Authenticate": "Bearer"})


def requires(role: Role) -> Any:
    """A dependency that lets only callers of a role through, and gives them to the route."""

    async def allowed(caller: Annotated[Caller, Depends(_caller)]) -> Caller:
        if not caller.role.may(role):
            raise ProblemError(
                403, f"this needs the role {role.value}; the token has {caller.role.value}"
            )
        return caller

    return Depends(allowed)


class TokensEverMade:
    """Remembers that a token was made: from then on the question need not be asked again."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._made = engine, False

    def __call__(self) -> bool:
        """Whether a token was ever made."""
        self._made = self._made or any_token(self._engine)
        return self._made
