"""The cookies of the dashboard, and the token that each of its forms brings along.

A session's cookie is ``SameSite=Lax``, not ``Strict``: a link to a job from a chat or a mail
shall open the job. Nothing is changed by a GET, and every POST brings the form's token, which only
a page of ours can read. Behind TLS the cookie is ``Secure`` under a ``__Host-`` name, which no
page of another host or of plain HTTP can set, and one of another name counts for nothing.
"""

import hashlib
import re
from datetime import timedelta
from hmac import compare_digest
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from jobs.cluster.listening import is_loopback

_SESSION = "rocktune"
_SAFE_PREFIX = "__Host-"
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


def session_secret(request: Request) -> str | None:
    """What the session's cookie holds; None without one that could be ours."""
    value = request.cookies.get(_name(by_tls=is_by_tls(request)), "")
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


def set_session(response: Response, secret: str, *, lives: timedelta, by_tls: bool) -> None:
    """Gives the browser a session."""
    response.set_cookie(**_cookie(by_tls), value=secret, max_age=int(lives.total_seconds()))


def clear_session(response: Response) -> None:
    """Takes it from the browser."""
    for by_tls in (False, True):
        response.delete_cookie(**_cookie(by_tls))


def _cookie(by_tls: bool) -> dict[str, Any]:
    name = _name(by_tls=by_tls)
    return {"key": name, "path": "/", "secure": by_tls, "httponly": True, "samesite": "lax"}


def form_token(secret: str) -> str:
    """The token of all forms of a session: made of its secret, and no way back to it."""
    return hashlib.sha256(f"form {secret}".encode()).hexdigest()


def same_token(expected: str | None, given: str) -> bool:
    """Whether a form brought the right token, in constant time."""
    return expected is not None and compare_digest(expected.encode(), given.encode())


def _name(*, by_tls: bool) -> str:
    return (_SAFE_PREFIX if by_tls else "") + _SESSION
