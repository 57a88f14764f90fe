"""Around every request: limits of rate and size, large JSON, figures, the log, safe headers."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from json import loads
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import structlog
from anyio import CapacityLimiter, to_thread
from fastapi import HTTPException, Request
from prometheus_client import Counter, Histogram
from sqlalchemy import Engine, event
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.problems import ProblemError
from sampler.common.errors import InputError

if TYPE_CHECKING:
    from limits import RateLimitItem
    from limits.strategies import RateLimiter


_log = structlog.get_logger("api")
_UNLIMITED = {"/healthz", "/readyz"}
_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"x-frame-options", b"DENY")]
Refusal = Callable[[Request, ProblemError], ASGIApp]
"""How an error is answered, as ``api.pages.errors.error_answer`` does."""

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
REQUESTS = Counter(
    "rocktune_http_requests", "Requests answered.", ["method", "route", "status"], registry=None
)
REQUEST_SECONDS = Histogram(
    "rocktune_http_request_seconds",
    "Time to the first byte of the response, in seconds.",
    ["route"],
    buckets=_SECONDS,
    registry=None,
)
DATABASE_SECONDS = Histogram(
    "rocktune_database_seconds", "Seconds of a statement.", buckets=_SECONDS, registry=None
)


_RATE = re.compile(
    r"\s*\d+\s*(/|per)\s*\d*\s*(second|minute|hour|day|month|year)s?\s*", re.ASCII | re.IGNORECASE
)


def require_rate(text: str) -> str:
    """Refuses, with an InputError, what is not as ``200/second``, before its reader is loaded."""
    if not _RATE.fullmatch(text):
        raise InputError(
            "ROCKTUNE_RATE_LIMIT", f"{text!r} is not a rate; write 200/second or 6000/minute"
        )
    return text


class Around:
    """Keeps the rate, and tells of each request. Clients are told apart by their address."""

    def __init__(self, app: ASGIApp, *, limit: str, refusal: Refusal, root_path: str = "") -> None:
        """Puts it around an application.

        A proxy serves it below ``root_path``. The application itself knows its own paths alone: a
        prefix that the proxy has left is taken off, and redirects and other ``Location`` headers
        get it.
        """
        self._app, self._limit, self._refusal = app, limit, refusal
        self._root = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = self._own(scope)
        began = time.perf_counter()
        status = 500

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*map(self._led, message["headers"]), *_HEADERS]
                REQUEST_SECONDS.labels(_route(scope)).observe(time.perf_counter() - began)
            await send(message)

        try:
            client = (scope.get("client") or ("unknown",))[0]
            if scope["path"] not in _UNLIMITED and not self._limiter.hit(self._rate, client):
                told = f"more than {self._rate}; send fewer requests"
                late = ProblemError(429, told, headers={"Retry-After": "1"})
                await self._refusal(Request(scope), late)(scope, receive, watched)
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

    def _own(self, scope: Scope) -> Scope:
        path, root = scope["path"], self._root
        if not root or not f"{path}/".startswith(f"{root}/"):
            return scope
        raw = scope.get("raw_path") or path.encode()
        return {
            **scope,
            "path": path.removeprefix(root) or "/",
            "raw_path": raw.removeprefix(root.encode()) or b"/",
        }

    def _led(self, header: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
        name, value = header
        ours = name.lower() == b"location" and value.startswith(b"/")
        return (name, self._root.encode() + value) if ours else header

    # Both are loaded for the first request that counts: a check of health does without.
    @cached_property
    def _rate(self) -> RateLimitItem:
        from limits import parse

        return parse(self._limit)

    @cached_property
    def _limiter(self) -> RateLimiter:
        from limits.storage import MemoryStorage
        from limits.strategies import SlidingWindowCounterRateLimiter

        return SlidingWindowCounterRateLimiter(MemoryStorage())


def _route(scope: Scope) -> str:
    """The route's pattern: numbers of jobs would make a figure of each."""
    route: Any = scope.get("route")
    return str(getattr(route, "path", "none"))


class BodyLimit:
    """Refuses a body that is too large, whether it says how large it is or not.

    The framework's own limit would answer in plain text.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        most_bytes: int,
        refusal: Refusal,
        smaller: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Puts it around an application; ``smaller`` are lower limits by path."""
        self._app, self._most, self._refusal = app, most_bytes, refusal
        self._smaller = smaller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        total, begun = 0, False
        most = min(self._most, self._smaller.get(scope["path"], self._most))
        said = Headers(scope=scope).get("content-length", "")
        over = said.isascii() and said.isdecimal() and int(said[:20]) > most

        async def counted() -> Message:
            nonlocal total, over
            message = await receive()
            total += len(message.get("body", b""))
            if total <= most:
                return message
            over = True
            return {"type": "http.disconnect"}

        async def unless_over(message: Message) -> None:
            nonlocal begun
            if begun or not over:
                begun = True
                await send(message)

        if not over:
            await self._app(scope, counted, unless_over)
        if over and not begun:
            large = ProblemError(413, f"the body is larger than {most:,} bytes")
            await self._refusal(Request(scope), large)(scope, receive, send)


MOST_VALUES = 300_000
"""About those of 1,000 trials with 30 parameters and all metrics and counters."""

_SMALL_BYTES = 64 * 2**10
# The parser lets no other thread run: two at once would make a check of health wait for both.
_PARSING = CapacityLimiter(1)


class JsonRequest(Request):
    """A request whose JSON neither holds up the event loop nor takes more than a moment."""

    async def json(self) -> Any:
        """The body as JSON.

        Raises:
            HTTPException: 413, it has more than ``MOST_VALUES`` values.
            ValueError: It is not JSON.
        """
        if hasattr(self, "_json"):
            return self._json
        body = await self.body()
        if len(body) <= _SMALL_BYTES:
            return await super().json()
        if _has_too_many(body):
            told = f"the body has more than {MOST_VALUES:,} values; send it in several requests"
            raise HTTPException(413, told)
        self._json = await to_thread.run_sync(loads, body, limiter=_PARSING)
        return self._json


def _has_too_many(body: bytes) -> bool:
    """Whether it has more than ``MOST_VALUES`` values; it is looked at no further than that.

    Each value but the first of a list or an object follows a comma. A comma in a text counts as
    well: no text that is sent here has so many.
    """
    found = 0
    for start in range(0, len(body), _SMALL_BYTES):
        part = body[start : start + _SMALL_BYTES]
        found += sum(map(part.count, (b",", b"[", b"{")))
        if found > MOST_VALUES:
            return True
    return False


def time_statements(engine: Engine) -> None:
    """Measures every statement of an engine."""

    def before(_c: Any, _cursor: Any, _s: Any, _p: Any, context: Any, _many: Any) -> None:
        context.rocktune_began = time.perf_counter()

    def after(_c: Any, _cursor: Any, _s: Any, _p: Any, context: Any, _many: Any) -> None:
        DATABASE_SECONDS.observe(time.perf_counter() - context.rocktune_began)

    event.listen(engine, "before_cursor_execute", before)
    event.listen(engine, "after_cursor_execute", after)
