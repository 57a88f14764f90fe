"""How answers leave: in the format that the client accepts, exports in turn."""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from fastapi.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from api.http.problems import ProblemError

_QUALITY = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?", re.ASCII)


def accepted(header: str | None, offered: Sequence[str]) -> str:
    """The best of what is offered (RFC 9110, 12.5.1), the first of equals; 406 for none."""
    ranges = [_range(part) for part in (header or "*/*").split(",") if part.strip()]
    best = max(offered, key=lambda kind: (_quality(kind, ranges), -offered.index(kind)))
    if _quality(best, ranges) <= 0:
        raise ProblemError(406, f"Accept must allow one of {', '.join(offered)}")
    return best


def _range(part: str) -> tuple[str, float]:
    kind, *parameters = (each.strip() for each in part.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            return kind.lower(), float(value) if _QUALITY.fullmatch(value.strip()) else 0.0
    return kind.lower(), 1.0


def _quality(kind: str, ranges: Sequence[tuple[str, float]]) -> float:
    """Of the ranges that match, the most specific one decides."""
    wide = f"{kind.partition('/')[0]}/*"
    for wanted in (kind, wide, "*/*"):
        found = [quality for each, quality in ranges if each == wanted]
        if found:
            return max(found)
    return 0.0


def answers_with(header: str, what: str, *, status: int) -> dict[int | str, dict[str, Any]]:
    """A header of the answer of a route, for its description in OpenAPI."""
    return {status: {"headers": {header: {"description": what, "schema": {"type": "string"}}}}}


def created(what: str) -> dict[int | str, dict[str, Any]]:
    """The answer 201 of a route that makes something: ``what`` its Location is, for OpenAPI."""
    return answers_with("Location", what, status=201)


MOST = 8  # each holds a connection to the database for as long as its client reads
MOST_OF_ONE = 4


class Exports:
    """Lets so many exports run at a time; each is closed as soon as its client has gone.

    A client that does not read loses its connection after a while: see ``api.server``.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        # An answer that is dropped before it is sent leaves it, too.
        self._running = WeakKeyDictionary[_Export, str | None]()

    def begin(self, chunks: Iterator[bytes], whose: str | None, **about: Any) -> StreamingResponse:
        """The answer that sends the chunks; ``about`` is what a ``StreamingResponse`` takes.

        ``whose`` is the id of the caller's token.

        Raises:
            ProblemError: 429, too many exports of the token or of all are being sent.
        """
        with self._lock:
            of_token = [*self._running.values()].count(whose)
            for count, most, of in (
                (of_token, MOST_OF_ONE, "this token's"),
                (len(self._running), MOST, "the server's"),
            ):
                if count >= most:
                    late = f"{most} of {of} exports are in progress, the limit; try again"
                    raise ProblemError(429, late, headers={"Retry-After": "10"})
            answer = _Export(_sent(chunks), **about)
            answer.running, self._running[answer] = self._running, whose
            return answer


class _Export(StreamingResponse):
    running: WeakKeyDictionary["_Export", str | None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.running.pop(self, None)


async def _sent(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    try:
        while (chunk := await run_in_threadpool(next, chunks, None)) is not None:
            yield chunk
    finally:
        # Not awaited: the client that has gone has cancelled this task.
        close = getattr(chunks, "close", None)
        if close is not None:
            close()
