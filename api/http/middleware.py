"""Around every request: the rate limit, figures, a line in the log, and safe headers."""

from __future__ import annotations

import time
from typing import Any

import structlog
from limits import RateLimitItem, parse
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.measures import REQUEST_SECONDS, REQUESTS
from api.http.problems import ProblemError
from api.pages.errors import shown
from sampler.common.errors import InputError

_log = structlog.get_logger("api")
_UNLIMITED = {"/healthz", "/readyz"}
_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"x-frame-options", b"DENY")]


def rate_limit(text: str) -> RateLimitItem:
    """Reads ``200/second``.

    Raises:
        InputError: It is no rate.
    """
    try:
        return parse(text)
    except ValueError:
        raise InputError(
            "ROCKTUNE_RATE_LIMIT", f"{text!r} is not a rate; write 200/second or 6000/minute"
        ) from None


class Around:
    """The middleware. Clients are told apart by their address."""

    def __init__(self, app: ASGIApp, *, limit: RateLimitItem) -> None:
        """Wraps an application."""
        self._app, self._limit = app, limit
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 500

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_HEADERS]
                REQUEST_SECONDS.labels(_route(scope)).observe(time.perf_counter() - began)
            await send(message)

        try:
            if self._is_over(scope):
                late = ProblemError(
                    429, f"more than {self._limit}; slow down", headers={"Retry-After": "1"}
                )
                await shown(Request(scope), late)(scope, receive, watched)
            else:
                await self._app(scope, receive, watched)
        finally:
            REQUESTS.labels(scope["method"], _route(scope), str(status)).inc()
            _log.debug(
                "request",
                method=scope["method"],
                path=scope["path"],
                status=status,
                seconds=round(time.perf_counter() - began, 4),
            )

    def _is_over(self, scope: Scope) -> bool:
        if scope["path"] in _UNLIMITED:
            return False
        client = (scope.get("client") or ("unknown",))[0]
        return not self._limiter.hit(self._limit, client)


def _route(scope: Scope) -> str:
    """The route's pattern: numbers of jobs would make a figure of each."""
    route: Any = scope.get("route")
    return str(getattr(route, "path", "none"))
