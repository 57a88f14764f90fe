"""A benchmark that gives its place up at the idle end of a run.

Another run may work in that time. Whether this one really did no more is looked at afterwards, in
its LOG. When the bake-offs of docs/methods.md were made, three quarters of the 5.3 s of a run of a
small load were no work; since 2026-11-26 it is a fraction of a second.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from sampler.bench.db_bench_output import parse_output
from sampler.bench.rocksdb_log import read_log
from sampler.bench.run_ending import read_text
from sampler.runner.benchmark import Benchmark
from sampler.runner.outcome import Outcome
from sampler.runner.process import EndedProcess, Ending
from sampler.space.space import Configuration
from studies.real_search.place import Place
from studies.wrapped_benchmark import WrappedBenchmark

# The counters that RocksDB dumps each second take a few milliseconds. A compaction takes a whole
# CPU, or has a thread that wants one or waits for the disk.
_LOOK_SECONDS = 0.12
_IDLE_TICKS = 2
_NEWS_SECONDS = 2.0


class IdleEnd(WrappedBenchmark):
    """A benchmark whose run gives its place up. For one trial and one thread.

    Attributes:
        worked_on: Whether it had more to do after it had left its place, or nobody can tell: it
            must be made again. What worked beside it meanwhile is kept, and cannot be told.
    """

    def __init__(
        self, benchmark: Benchmark, benchmarks: Collection[str], place: Place, *, gives_up: bool
    ) -> None:
        """The place is its own when the trial begins, and again when it has ended.

        Args:
            benchmark: What runs.
            benchmarks: What db_bench must have ended before it can be idle.
            place: Where it works.
            gives_up: Whether it ever gives the place up.
        """
        super().__init__(benchmark)
        self._benchmarks, self._place = benchmarks, place
        self._may = gives_up
        self._left_at: float | None = None
        self._waited = 0.0
        self._log_bytes, self._grown = 0, -math.inf
        self.worked_on = False

    @property
    def has_place(self) -> bool:
        """Whether it holds the place now."""
        return self._left_at is None or not self._may

    def settled(self, folder: Path) -> bool:
        """Whether the work is done and known to be; the place is its own again then."""
        if not self.has_place and not self._news(folder / "db" / "LOG"):
            return False  # a look is dear to whoever works
        if super().settled(folder):
            asked = time.monotonic()
            self._take_back()
            self._waited += time.monotonic() - asked  # within the life of the process
            return True
        if self._may and self._left_at is None and self._is_idle(folder):
            self._left_at = time.time()
            self._place.leave()
        return False

    def harvest(
        self, configuration: Configuration, folder: Path, ended: EndedProcess, began: float
    ) -> Outcome:
        """What the run came to; what it waited for the place is not its time."""
        self._take_back()
        own = replace(ended, wall_seconds=ended.wall_seconds - self._waited)
        outcome = super().harvest(configuration, folder, own, began)
        if self._left_at is not None:
            # What was killed has not written all of its LOG.
            known = ended.ending is Ending.EXIT
            worked = read_log(folder / "db" / "LOG").work_ended
            self.worked_on = not known or (worked is not None and worked > self._left_at)
        return outcome

    def _take_back(self) -> None:
        if not self.has_place:
            self._place.take()
            self._may = False

    def _news(self, log: Path) -> bool:
        """Whether its LOG has grown, or did a moment ago: rest is known when it has lasted."""
        now, size = time.monotonic(), log.stat().st_size if log.exists() else 0
        if size != self._log_bytes:
            self._log_bytes, self._grown = size, now
        return now - self._grown < _NEWS_SECONDS

    def _is_idle(self, folder: Path) -> bool:
        """Whether the load is over, and for a moment next to nothing is computed."""
        ended = {line.name for line in parse_output(read_text(folder / "stdout")).lines}
        if not ended.issuperset(self._benchmarks):
            return False
        before, _ = _children()
        time.sleep(_LOOK_SECONDS)
        after, works = _children()
        return not works and after - before <= _IDLE_TICKS


def _children() -> tuple[int, bool]:
    """What the processes do that this thread has started and that still run (proc(5)).

    Returns:
        Their CPU time in ticks, and whether a thread of theirs runs or waits for a CPU or a disk.
    """
    ticks, works = 0, False
    for pid in Path("/proc/thread-self/children").read_text(encoding="ascii").split():
        fields = _fields(Path(f"/proc/{pid}/stat"))
        ticks += int(fields[11]) + int(fields[12])
        works = works or any(
            _fields(thread)[0] in ("R", "D") for thread in Path(f"/proc/{pid}/task").glob("*/stat")
        )
    return ticks, works


def _fields(stat: Path) -> list[str]:
    """Those after the name; of a thread that is gone meanwhile those of an idle one."""
    try:
        text = stat.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ") S" + " 0" * 20
    return text.rpartition(")")[2].split()
