"""What follows the load: random reads with and without filters, and the way to a tidy tree."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from jobs.autotune.asked import Asked
from jobs.autotune.load import key_of, layout_of
from jobs.autotune.store import Store

_POLL_SECONDS = 0.02
_STILL = 3  # looks in a row without work: a compaction that ends may begin the next


@dataclass(frozen=True)
class Reads:
    """Random reads: how many, of them found, bytes of what was found, and how long they took."""

    reads: int
    found: int
    value_bytes: int
    seconds: float


@dataclass(frozen=True)
class Recovery:
    """The way back.

    Attributes:
        seconds: Until no compaction was left; None: not within the time that it was given.
        written: Bytes that flushes and compactions wrote for it.
        live_bytes: Of the table files at its end.
    """

    seconds: float | None
    written: int
    live_bytes: int


def read_randomly(folder: Path, asked: Asked, *, filters: bool) -> Reads:
    """Reads keys of the whole key space, compaction off, from a database opened anew.

    The tables hold filters in any case; without ``filters`` RocksDB is opened without a filter
    policy and does not look at them (table/block_based/block_based_table_reader.cc). So both
    kinds of reads see the same tree.

    Raises:
        InputError: The file system refuses direct reads.
    """
    layout = layout_of(asked, compacting=False, lifted=True)
    draws = random.Random(asked.seed + 1)
    reads = found = size = 0
    with Store(folder, replace(layout, filters=filters, direct_reads=asked.direct_reads)) as store:
        began = time.monotonic()
        while (passed := time.monotonic() - began) < asked.read_seconds:
            value = store.get(key_of(draws.randrange(asked.keys)))
            reads += 1
            if value is not None:
                found, size = found + 1, size + len(value)
    return Reads(reads, found, size, passed)


def recover(
    folder: Path, asked: Asked, *, pause: Callable[[float], None] = time.sleep
) -> Recovery:
    """Turns compaction on, writes nothing, and waits until none is left."""
    with Store(folder, layout_of(asked, compacting=True, lifted=False)) as store:
        began = time.monotonic()
        idle_since, idle = began, 0
        while idle < _STILL and time.monotonic() - began < asked.recovery_seconds:
            if store.busy():
                idle = 0
            else:
                idle_since = time.monotonic() if idle == 0 else idle_since
                idle += 1
            pause(_POLL_SECONDS)
        tickers = store.tickers()
        written = sum(tickers.get(f"{kind}.write.bytes", 0) for kind in ("flush", "compact"))
        seconds = idle_since - began if idle >= _STILL else None
        return Recovery(seconds, written, store.live_bytes())
