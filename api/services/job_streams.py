"""The event streams of a server: how many there may be, and one reading of what changed for all.

While any stream is open, one task asks the database every half second, in at most three
statements: which of the watched jobs have changed, which tokens and which sessions are still
valid. It wakes the streams concerned. An idle stream itself asks nothing. Streams that stand at
the same place of the same job share what is then read.

All of it runs on the event loop, so nothing is locked.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

import structlog
from fastapi.concurrency import run_in_threadpool
from sqlalchemy import Engine

from api.auth.security import Caller
from api.http.problems import ProblemError
from db.access.tokens import open_sessions, valid_tokens
from db.jobs.job_store import JobStore, Version, job_versions
from db.schema.job_row import JobRow
from optimizer.trials.trial import Trial

LOOK_SECONDS = 0.5
PAGE = 200
_AGAIN_SECONDS = 10
_log = structlog.get_logger("api")

Seen = tuple[datetime | None, int]
"""The last trial that a stream has told: when it ended, and its number."""
News = tuple[JobRow | None, list[Trial]]
"""A job, None when it is gone, and the trials that ended after ``Seen``."""


@dataclass(eq=False)
class Stream:
    """One open event stream."""

    job_id: int
    caller: Caller
    version: Version | None = None  # of the job as it was last read for this stream
    ends: bool = False  # the token is no longer valid, the server stops, or cannot ask
    news: asyncio.Event = field(default_factory=asyncio.Event)


class JobStreams:
    """Those of one server."""

    def __init__(self, engine: Engine, *, most: int, stopping: Callable[[], bool]) -> None:
        """Binds them to a database.

        ``most`` may be open at a time, a quarter of them by one token.
        """
        self._engine, self._store = engine, JobStore(engine)
        self._most, self._most_of_one = most, max(1, most // 4)
        self._stopping = stopping
        self._open: set[Stream] = set()
        self._asking: asyncio.Task[None] | None = None
        self._reading: dict[tuple[int, Seen], asyncio.Future[News]] = {}

    @asynccontextmanager
    async def opened(self, job_id: int, caller: Caller) -> AsyncIterator[Stream]:
        """A stream, counted until the block ends; a ProblemError, 429, beyond the limits."""
        of_token = Counter(each.caller.token_id for each in self._open)[caller.token_id]
        for count, most, whose in (
            (of_token, self._most_of_one, "this token has"),
            (len(self._open), self._most, "the server has"),
        ):
            if count >= most:
                told = f"{whose} {most} open event streams, the limit; close one"
                raise ProblemError(429, told, headers={"Retry-After": str(_AGAIN_SECONDS)})
        stream = Stream(job_id, caller)
        self._open.add(stream)
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_on())
        try:
            yield stream
        finally:
            self._open.discard(stream)

    async def read(self, stream: Stream, seen: Seen) -> News:
        """A stream's job as it stands, and a page of the trials that ended after ``seen``."""
        stream.news.clear()
        place = (stream.job_id, seen)
        found = self._reading.get(place)
        if found is None:
            found = asyncio.ensure_future(run_in_threadpool(self._read, *place))
            self._reading[place] = found
            found.add_done_callback(lambda _: self._reading.pop(place, None))
        # Whoever began it may leave: the others still wait for it.
        row, trials = await asyncio.shield(found)
        stream.version = None if row is None else (row.state, row.run, row.updated_at)
        return row, trials

    def _read(self, job_id: int, seen: Seen) -> News:
        try:
            # The row first: what it says has ended is then among the trials.
            row = self._store.job(job_id)
        except KeyError:
            return None, []
        after, number = seen
        return row, self._store.trials_ended(job_id, after=after, number=number, limit=PAGE)

    async def _ask_on(self) -> None:
        # It ends by itself: cancelled, it would leave a thread behind that asks the database.
        while self._open:
            await asyncio.sleep(LOOK_SECONDS)
            streams = list(self._open)
            if not streams:
                return
            try:
                told = await run_in_threadpool(self._ask, streams)
            except Exception as error:  # whoever watches comes back, and is told why
                _log.error("cannot ask for event streams; they end", kind=type(error).__name__)
                told = {}
            for stream in streams:
                version = told.get(stream)
                stream.ends = stream.ends or stream not in told or self._stopping()
                if stream.ends or version != stream.version:
                    stream.news.set()

    def _ask(self, streams: list[Stream]) -> dict[Stream, Version | None]:
        """The present version of each stream's job, without streams that are no longer allowed."""
        callers = [stream.caller for stream in streams]
        versions = job_versions(self._engine, {stream.job_id for stream in streams})
        tokens = valid_tokens(self._engine, {c.token_id for c in callers if c.token_id})
        sessions = open_sessions(self._engine, {c.session for c in callers if c.session})
        return {
            stream: versions.get(stream.job_id)
            for stream in streams
            if (stream.caller.token_id is None or stream.caller.token_id in tokens)
            and (stream.caller.session is None or stream.caller.session in sessions)
        }
