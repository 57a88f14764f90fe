"""The cookies of the dashboard, and the token that each of its forms brings along.

A session's cookie is ``SameSite=Lax``, not ``Strict``: a link to a job from a chat or a mail
shall open the job. Nothing is changed by a GET, and every POST brings the form's token, which only
a page of ours can read. Behind TLS the cookie is ``Secure`` under a ``__Host-`` name, which no
page of another host or of plain HTTP can set.
"""

from __future__ import annotations

import hashlib
import re
from datetime import timedelta
from hmac import compare_digest

from starlette.requests import Request
from starlette.responses import Response

_SESSION = "rocktune"
_SAFE_PREFIX = "__Host-"
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


def session_secret(request: Request) -> str | None:
    """What the session's cookie holds; None without one that could be ours."""
    return _held(request, _SAFE_PREFIX + _SESSION) or _held(request, _SESSION)


def set_session(response: Response, secret: str, *, lives: timedelta, tls: bool) -> None:
    """Gives the browser a session."""
    response.set_cookie(
        (_SAFE_PREFIX if tls else "") + _SESSION,
        secret,
        max_age=int(lives.total_seconds()),
        path="/",
        secure=tls,
        httponly=True,
        samesite="lax",
    )


def clear_session(response: Response) -> None:
    """Takes it from the browser."""
    for name in (_SESSION, _SAFE_PREFIX + _SESSION):
        secure = name.startswith(_SAFE_PREFIX)
        response.delete_cookie(name, path="/", secure=secure, httponly=True, samesite="lax")


def form_token(secret: str) -> str:
    """The token of all forms of a session: made of its secret, and no way back to it."""
    return hashlib.sha256(f"form {secret}".encode()).hexdigest()


def same_token(expected: str | None, given: str) -> bool:
    """Whether a form brought the right token, in constant time."""
    return expected is not None and compare_digest(expected.encode(), given.encode())


def _held(request: Request, name: str) -> str | None:
    value = request.cookies.get(name, "")
    return value if _SECRET.fullmatch(value) else None
