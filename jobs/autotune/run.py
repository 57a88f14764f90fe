"""One run, from an empty folder to figures: the wave is written, read, and recovered from.

While the wave comes in, compaction is switched between two writes as the policy says.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jobs.autotune.database import LevelFiles, TunedDatabase, rocksdb_version
from jobs.autotune.request import SWITCHING, AutotuneRequest, first_switch, next_switch
from jobs.charts.curves import Span

_POLL_SECONDS = 0.02
_STILL = 3  # looks in a row without work: a compaction that ends may begin the next
_POINTS = 100  # of the curve
_BLOCK = 4 * 2**20  # random bytes that values are cut from
# A writer that was held up may make up for so many seconds, not for more: RocksDB's rate limiter,
# which db_bench paces its writes with, refills every tenth of a second.
_SLACK = 0.1


@dataclass(frozen=True)
class Pace:
    """When the next write is due."""

    rate: Callable[[float], float]  # bytes/s at a time since the beginning
    due: float = 0.0  # seconds since the beginning

    def wrote(self, size: int, now: float) -> Pace:
        """The pace after a write of so many bytes that was begun at ``now``."""
        begun = max(self.due, now - _SLACK)
        return Pace(self.rate, begun + size / self.rate(now))


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


def _opened(folder: Path, asked: AutotuneRequest, **how: bool) -> TunedDatabase:
    return TunedDatabase(folder, factor=asked.factor, rate_limit=asked.rate_limit, **how)


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
    compacting, lifted = asked.policy != "off", asked.policy != "on"
    with _opened(folder, asked, compacting=compacting, lifted=lifted) as store:
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
            if (wait := pace.due - now) > 0:
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


@dataclass(frozen=True)
class Reads:
    """Random reads: how many, of them found, bytes of what was found, and how long they took."""

    reads: int
    found: int
    value_bytes: int
    seconds: float


@dataclass(frozen=True)
class Recovery:
    """The way back."""

    # until no compaction was left; None: not within the time that it was given
    seconds: float | None
    written: int  # bytes that flushes and compactions wrote for it
    live_bytes: int  # of the table files at its end


def read_randomly(folder: Path, asked: AutotuneRequest, *, filters: bool) -> Reads:
    """Reads keys of the whole key space, compaction off, from a database opened anew.

    The tables hold filters in any case; without ``filters`` RocksDB is opened without a filter
    policy and does not look at them (table/block_based/block_based_table_reader.cc). So both kinds
    of reads see the same tree. A file system that refuses direct reads is an InputError.
    """
    how = {"compacting": False, "lifted": True, "direct_reads": asked.direct_reads}
    draws = random.Random(asked.seed + 1)
    reads = found = size = 0
    with _opened(folder, asked, **how, filters=filters) as store:
        began = time.monotonic()
        while (passed := time.monotonic() - began) < asked.read_seconds:
            value = store.get(key_of(draws.randrange(asked.keys)))
            reads += 1
            if value is not None:
                found, size = found + 1, size + len(value)
    return Reads(reads, found, size, passed)


def recover(folder: Path, asked: AutotuneRequest) -> Recovery:
    """Turns compaction on, writes nothing, and waits until none is left."""
    with _opened(folder, asked) as store:
        began = time.monotonic()
        idle_since, idle = began, 0
        while idle < _STILL and time.monotonic() - began < asked.recovery_seconds:
            if store.busy():
                idle = 0
            else:
                idle_since = time.monotonic() if idle == 0 else idle_since
                idle += 1
            time.sleep(_POLL_SECONDS)
        seconds = idle_since - began if idle >= _STILL else None
        return Recovery(seconds, _stored(store.tickers()), store.live_bytes())


@dataclass(frozen=True)
class AutotuneRun:
    """All that was measured of one policy."""

    asked: AutotuneRequest
    loaded: Loaded
    filtered: Reads | None  # reads with bloom filters; None where none were asked for
    unfiltered: Reads | None  # reads of the same tree without
    recovery: Recovery
    rocksdb: str | None


def measure_policy(
    asked: AutotuneRequest,
    folder: Path,
    *,
    told: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> AutotuneRun:
    """Loads, reads and recovers in an empty folder, which the caller removes.

    ``told`` hears what is being done; clock and pause are those of the load. Errors as of ``load``
    and ``read_randomly``.
    """
    database = folder / "db"
    told(f"{asked.policy}: writing for {asked.shape.seconds:g} s")
    loaded = load(database, asked, clock=clock, pause=pause)
    filtered = unfiltered = None
    if asked.read_seconds:
        told(f"{asked.policy}: reading with and without filters")
        filtered = read_randomly(database, asked, filters=True)
        unfiltered = read_randomly(database, asked, filters=False)
    told(f"{asked.policy}: waiting for compaction to catch up")
    recovery = recover(database, asked)
    return AutotuneRun(asked, loaded, filtered, unfiltered, recovery, rocksdb_version(database))


def figures(run: AutotuneRun) -> dict[str, float | None]:
    """The comparison's figures; rates in bytes/s, None for what was not measured.

    ``write_amplification`` is that of the load alone: bytes of flushes and compactions over bytes
    written by the user. ``settled_write_amplification`` has the recovery's in it, so that what a
    policy puts off is counted. ``reached`` is the share of the planned bytes that came in.
    """
    loaded, recovery = run.loaded, run.recovery
    stored = _stored(loaded.tickers)
    user = loaded.writes * run.asked.pair_bytes
    live = loaded.distinct * run.asked.pair_bytes
    return {
        "writes": float(loaded.writes),
        "reached": user / run.asked.shape.planned_bytes,
        "insertion_rate": user / loaded.seconds,
        "compaction_rate": stored / loaded.seconds,
        "write_amplification": stored / user if user else None,
        "settled_write_amplification": (stored + recovery.written) / user if user else None,
        "space_amplification": loaded.live_bytes / live if live else None,
        "settled_space_amplification": recovery.live_bytes / live if live else None,
        "database_bytes": float(loaded.live_bytes),
        "level0_files": float(sum(level.files for level in loaded.levels if level.number == 0)),
        "read_rate": _read_rate(run.filtered),
        "read_rate_without_filters": _read_rate(run.unfiltered),
        "recovery_seconds": recovery.seconds,
        "recovery_bytes": float(recovery.written),
        "stalled_share": loaded.points[-1].stalled / loaded.seconds,
        "off_share": sum(span.end - span.begin for span in loaded.off) / loaded.seconds,
        "switched": float(loaded.flips),
        "switching_share": loaded.flip_seconds / loaded.seconds,
        "load_seconds": loaded.seconds,
    }


def command_metrics(run: AutotuneRun) -> dict[str, float] | None:
    """What a ``[command]`` workload prints; None where the tree did not recover in its time.

    ``waf`` and ``sa`` are those after recovery, ``time`` holds it, ``rate`` counts writes of the
    load alone and ``read_rate`` MB/s of reads with filters before it.
    """
    found = figures(run)
    seconds, waf = run.recovery.seconds, found["settled_write_amplification"]
    sa, reads = found["settled_space_amplification"], found["read_rate"]
    if seconds is None or waf is None or sa is None:
        return None
    kept = {
        "waf": waf,
        "sa": sa,
        "time": run.loaded.seconds + seconds,
        "rate": run.loaded.writes / run.loaded.seconds,
    }
    return kept if reads is None else kept | {"read_rate": reads / 1e6}


def document(run: AutotuneRun) -> dict[str, Any]:
    """The run as JSON, with its curve."""
    return {
        "schema": 1,
        "asked": asdict(run.asked),
        "rocksdb": run.rocksdb,
        "figures": figures(run),
        "levels": [asdict(level) for level in run.loaded.levels],
        "reads": {
            name: None if reads is None else asdict(reads)
            for name, reads in (("filters", run.filtered), ("no_filters", run.unfiltered))
        },
        "off": [asdict(span) for span in run.loaded.off],
        "curve": [
            [round(p.at, 4), p.written, p.background, round(p.stalled, 4)]
            for p in run.loaded.points
        ],
    }


def _stored(tickers: Mapping[str, int]) -> int:
    return sum(tickers.get(f"{kind}.write.bytes", 0) for kind in ("flush", "compact"))


def _read_rate(reads: Reads | None) -> float | None:
    return None if reads is None else reads.value_bytes / reads.seconds
