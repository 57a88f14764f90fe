"""JSON bodies: how many values one may have, and large ones parsed beside the event loop."""

from json import loads
from typing import Any

from anyio import CapacityLimiter, to_thread
from fastapi import HTTPException, Request

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
