"""Writes the wave, and switches compaction between two writes as the policy says."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from jobs.autotune.database import DatabaseLayout, LevelFiles, TunedDatabase
from jobs.autotune.policy import SWITCHING, first_switch, next_switch
from jobs.autotune.request import AutotuneRequest
from jobs.charts.curves import Span

# A writer that was held up may make up for so many seconds, not for more: RocksDB's rate limiter,
# which db_bench paces its writes with, refills every tenth of a second.
_SLACK = 0.1


@dataclass(frozen=True)
class Pace:
    """When the next write is due."""

    rate: Callable[[float], float]  # bytes/s at a time since the beginning
    due: float = 0.0  # seconds since the beginning

    def wait(self, now: float) -> float:
        """Seconds until the next write may begin; 0 or less: at once."""
        return self.due - now

    def wrote(self, size: int, now: float) -> Pace:
        """The pace after a write of so many bytes that was begun at ``now``."""
        begun = max(self.due, now - _SLACK)
        return Pace(self.rate, begun + size / self.rate(now))


_POINTS = 100  # of the curve
_BLOCK = 4 * 2**20  # random bytes that values are cut from


@dataclass(frozen=True)
class Point:
    """What was counted at a moment of the load: seconds and bytes since its beginning."""

    at: float
    written: int
    background: int
    stalled: float


@dataclass(frozen=True)
class Loaded:
    """What a load came to."""

    seconds: float  # how long it took; more than asked where the last write stalled
    writes: int  # how many pairs were written
    distinct: int  # how many different keys
    points: tuple[Point, ...]  # the curve, by time
    off: tuple[Span, ...]  # when compaction was off
    flips: int  # how often it was switched
    flip_seconds: float  # how long the switching took: SetOptions writes and syncs an OPTIONS file
    tickers: dict[str, int]  # RocksDB's counters at its end
    levels: tuple[LevelFiles, ...]  # the tree after the memtables were flushed
    live_bytes: int  # of its table files


def database_layout(asked: AutotuneRequest, **more: bool) -> DatabaseLayout:
    """How the database is opened for a part of the run."""
    return DatabaseLayout(factor=asked.factor, rate_limit=asked.rate_limit, **more)


def load(
    folder: Path,
    asked: AutotuneRequest,
    *,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> Loaded:
    """Fills a new database in the folder; an InputError where the binding is not installed.

    All policies but ``on`` never hold writes back for what compaction has not done.
    """
    layout = database_layout(asked, compacting=asked.policy != "off", lifted=asked.policy != "on")
    with TunedDatabase(folder, layout) as store:
        return _Load(store, asked, clock, pause).run()


class _Load:
    def __init__(
        self,
        store: TunedDatabase,
        asked: AutotuneRequest,
        clock: Callable[[], float],
        pause: Callable[[float], None],
    ) -> None:
        self._store, self._asked, self._pause = store, asked, pause
        self._draws = random.Random(asked.seed)
        self._block = self._draws.randbytes(_BLOCK + asked.value_size)
        self._written, self._writes = bytearray(asked.keys), 0
        began = clock()
        self._now: Callable[[], float] = lambda: clock() - began

    def run(self) -> Loaded:
        asked, shape, store = self._asked, self._asked.shape, self._store
        switch = first_switch(asked.policy, store.reading(0.0))
        flips: list[tuple[float, bool]] = [(0.0, switch.on)]
        flip_seconds = 0.0
        points = [Point(0.0, 0, switch.last.background, 0.0)]
        pace = Pace(shape.rate)
        switching = asked.policy in SWITCHING
        tick = asked.marks.tick(asked.policy)
        look = tick if switching else shape.seconds
        step = shape.seconds / _POINTS
        while (now := self._now()) < shape.seconds:
            if now >= look:
                after = next_switch(asked.policy, asked.marks, switch, store.reading(now))
                if after.on != switch.on:
                    store.compact(after.on)
                    flips.append((self._now(), after.on))
                    flip_seconds += flips[-1][0] - now
                switch, look = after, now + tick
            if now - points[-1].at >= step:
                points.append(self._point(now))
            wait = pace.wait(now)
            if wait > 0:
                self._pause(min(wait, max(shape.seconds - now, 0.0), max(look - now, 0.0)))
                continue
            self._write()
            pace = pace.wrote(asked.pair_bytes, now)
        end = self._now()
        points.append(self._point(end))
        tickers = dict(store.tickers())
        store.compact(False)  # so that the tree is told as the load left it
        store.flush()
        return Loaded(
            seconds=end,
            writes=self._writes,
            distinct=sum(self._written),
            points=tuple(points),
            off=off_spans(flips, end),
            flips=len(flips) - 1,
            flip_seconds=flip_seconds,
            tickers=tickers,
            levels=tuple(store.levels()),
            live_bytes=store.live_bytes(),
        )

    def _write(self) -> None:
        number = self._draws.randrange(self._asked.keys)
        start = self._draws.randrange(_BLOCK)
        self._store.put(key_of(number), self._block[start : start + self._asked.value_size])
        self._written[number] = 1
        self._writes += 1

    def _point(self, now: float) -> Point:
        stalled = self._store.tickers().get("stall.micros", 0) / 1e6
        written = self._writes * self._asked.pair_bytes
        return Point(now, written, self._store.reading(now).background, stalled)


def key_of(number: int) -> bytes:
    """A key of 16 bytes, as db_bench makes them: the number, and zeros."""
    return number.to_bytes(8, "big") + b"0" * 8


def off_spans(flips: list[tuple[float, bool]], end: float) -> tuple[Span, ...]:
    """When compaction was off, up to the end of the load.

    ``flips``: when it was switched on (True) or off, the first at the beginning.
    """
    ends = [*(at for at, _ in flips[1:]), end]
    return tuple(Span(at, to) for (at, on), to in zip(flips, ends, strict=True) if not on)
