"""A body that is too large is refused, whether it says how large it is or not."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.problems import ProblemError
from api.pages.errors import shown


class BodyLimit:
    """The middleware. The framework's own limit would answer in plain text."""

    def __init__(self, app: ASGIApp, *, most_bytes: int) -> None:
        """Wraps an application."""
        self._app, self._most = app, most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        total, begun = 0, False
        over = self._says_more(scope)

        async def counted() -> Message:
            nonlocal total, over
            message = await receive()
            total += len(message.get("body", b""))
            if total <= self._most:
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
            large = ProblemError(413, f"the body is larger than {self._most} bytes")
            await shown(Request(scope), large)(scope, receive, send)

    def _says_more(self, scope: Scope) -> bool:
        said = Headers(scope=scope).get("content-length", "")
        return said.isascii() and said.isdecimal() and int(said[:20]) > self._most
