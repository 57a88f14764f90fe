"""Long answers: a few at a time, and closed as soon as the client has gone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from fastapi.concurrency import run_in_threadpool

from api.http.problems import ProblemError

MOST = 4  # each holds a connection to the database for as long as its client reads


class Exports:
    """Lets so many exports run at a time."""

    def __init__(self, most: int = MOST) -> None:
        """``most``: how many."""
        self._most, self._running = most, 0

    def begin(self, chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
        """The chunks, to be sent.

        Raises:
            ProblemError: 429, others are being sent.
        """
        if self._running >= self._most:
            late = "other exports are being sent; try again when they are done"
            raise ProblemError(429, late, headers={"Retry-After": "10"})
        return self._sent(chunks)

    async def _sent(self, chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
        # Counted from the first chunk on: an answer that is never begun is never ended either.
        self._running += 1
        try:
            while (chunk := await run_in_threadpool(next, chunks, None)) is not None:
                yield chunk
        finally:
            self._running -= 1
            # Not awaited: the client that has gone has cancelled this task.
            close = getattr(chunks, "close", None)
            if close is not None:
                close()
