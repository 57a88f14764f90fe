"""What the benchmark does: operations, sizes, threads, and what is paid before counting."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from sampler.filled_keys import MIXED, SEQUENTIAL_FILLS, WRITES, Fill, distinct_keys, operations_of
from sampler.parameter import Value
from sampler.prepare import Prepare
from sampler.stretched_flags import stretched

Settle = Literal["wait", "flush", "none"]

# Benchmarks that write nothing (db_bench_tool.cc, 7.8.3).
READS = frozenset({
    "readrandom", "readseq", "readreverse", "readmissing", "readhot", "readrandomfast",
    "readtocache", "readtorowcache", "multireadrandom", "newiterator", "seekrandom",
    "approximatesizerandom",
})  # fmt: skip
MOST_SECONDS = 1e7  # of a time limit


@dataclass(frozen=True, kw_only=True)
class Command:
    """A benchmark of the user's own, instead of db_bench."""

    argv: tuple[str, ...]
    timeout_seconds: float


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A load that is never tuned.

    Attributes:
        benchmarks: db_bench's benchmarks, run one after the other in one process.
        measured: Those of them that ``rate`` and latencies are taken from.
        num: Size of the key space, and operations per thread of each benchmark.
        settle: What is paid before counting: ``wait`` flushes and waits until no compaction is
            left, ``flush`` flushes, ``none`` stops where the load stops (as the paper did).
        scale: The divisor of byte-sized options while measuring.
        flags: Further db_bench flags, by name.
        timeout_seconds: After it a trial is ``timed_out``.
        command: The user's own benchmark; then the other fields are unused.
        external: The user's own runner measures, anywhere, and tells the service.
        prepare: What fills the database before, in a process of its own; None: nothing, the
            benchmarks begin with an empty one.
    """

    name: str
    help: str = ""
    benchmarks: tuple[str, ...] = ("fillrandom",)
    measured: tuple[str, ...] = ("fillrandom",)
    num: int = 100_000
    key_size: int = 16
    value_size: int = 1024
    threads: int = 1
    compression_ratio: float = 0.5
    settle: Settle = "wait"
    scale: int = 64
    seed: int = 42
    flags: tuple[tuple[str, Value], ...] = ()
    timeout_seconds: float = 600.0
    command: Command | None = None
    external: bool = False
    prepare: Prepare | None = None

    @property
    def by_db_bench(self) -> bool:
        """Whether db_bench runs it, and not something of the user's own."""
        return self.command is None and not self.external

    @property
    def only_reads(self) -> bool:
        """Whether nothing is written while it is measured: then there is no ``waf`` either."""
        return self.prepare is not None and READS.issuperset(self.benchmarks)

    @property
    def owes(self) -> Settle:
        """How the measured process settles: one that wrote nothing owes nothing."""
        return "none" if self.only_reads else self.settle

    def threads_of(self, configuration: Mapping[str, Value]) -> int:
        """Client threads; the ``paper`` space draws them."""
        return int(configuration.get("threads", self.threads))

    def at_scale(self, scale: int) -> Workload:
        """The same load at another scale: as many times more keys as options are larger.

        So the tree keeps its shape. A trial is given as many times more time; of ``flags`` those
        that count operations grow alike, and a sine wave is stretched with the load, at the same
        rates.
        """
        times = self.scale / scale
        flags = tuple((name, stretched(name, value, times)) for name, value in self.flags)
        seconds = min(self.timeout_seconds * max(times, 1.0), MOST_SECONDS - 1)
        num = max(1, round(self.num * times))
        prepare = self.prepare.at_size(times) if self.prepare else None
        return replace(
            self,
            num=num,
            scale=scale,
            timeout_seconds=seconds,
            flags=flags,
            prepare=prepare,
        )

    def user_bytes(self) -> int:
        """Bytes of keys and values that one thread writes."""
        writes = sum(self._writes(benchmark) for benchmark in self.benchmarks)
        return int(writes * (self.key_size + self.value_size))

    def loaded_bytes(self) -> int:
        """Bytes of keys and values that all threads write, those that prepare among them."""
        prepared = self.prepare.writes * (self.key_size + self.value_size) if self.prepare else 0
        return self.user_bytes() * self.threads + int(prepared)

    def operations(self, threads: int) -> float | None:
        """Operations of its benchmark, where there is one and their number is set; or None."""
        flags = dict(self.flags)
        if len(self.benchmarks) != 1 or flags.get("duration"):
            return None
        if self.benchmarks[0] in WRITES:
            return float(operations_of(self.benchmarks[0], self.num, flags) * threads)
        reads = int(flags.get("reads", -1))
        return float((reads if reads >= 0 else self.num) * threads)

    def distinct_keys(self, threads: int, written: float | None = None) -> float:
        """Expected number of distinct keys that the load leaves.

        Random writes draw keys uniformly with replacement, so after w writes of n keys an
        expected n (1 - (1 - 1/n)^w) are there; a sequential fill leaves those that it writes,
        all n unless the flag ``writes`` says less.

        Args:
            threads: Client threads of the measured benchmarks.
            written: Keys that the measured process wrote, where that was counted. It is asked of
                a load that is prepared, and where how many are written is not known before:
                with the flag ``duration``, or of a benchmark like ``readwhilewriting``.
        """
        if self.prepare is not None:
            counted = threads * sum(map(self._writes, self.benchmarks))
            mine = Fill(self.num, counted if written is None else written)
            return distinct_keys([*self.prepare.fills, mine])
        filled = [self._writes(each) for each in self.benchmarks if each in SEQUENTIAL_FILLS]
        there = min(max(filled, default=0.0), float(self.num))
        writes = self._scattered(threads, written)
        if self.num == 1:
            return max(there, min(writes, 1.0))
        share = -math.expm1(writes * math.log1p(-1 / self.num)) if writes else 0.0
        return there + (self.num - there) * share

    def distinct_user_bytes(self, threads: int, written: float | None = None) -> float:
        """Bytes of distinct live keys and values that the load leaves (expected)."""
        return self.distinct_keys(threads, written) * (self.key_size + self.value_size)

    def _scattered(self, threads: int, written: float | None) -> float:
        """Keys that all threads write, but not in a sequential fill."""
        scattered = [b for b in self.benchmarks if b not in SEQUENTIAL_FILLS]
        timed = bool(dict(self.flags).get("duration"))
        deleting = any("delete" in each for each in scattered)  # counted as if they wrote
        if written is None or deleting or not (timed or set(scattered) - WRITES - READS):
            return threads * sum(map(self._writes, scattered))
        # db_bench gives a fill of unique keys one thread, whatever is asked for.
        filled = sum(
            self._writes(each) * (1 if each == "filluniquerandom" else threads)
            for each in self.benchmarks
            if each in SEQUENTIAL_FILLS
        )
        return max(0.0, written - filled)

    def _writes(self, benchmark: str) -> float:
        flags = dict(self.flags)
        if benchmark not in WRITES:
            return 0.0
        # readrandomwriterandom writes (100 - readwritepercent) of its operations.
        reads = int(flags.get("readwritepercent", 90)) if benchmark == MIXED else 0
        return operations_of(benchmark, self.num, flags) * (100 - reads) / 100


def least_user_bytes(memtable_bytes: int, scale: int) -> int:
    """The least load that measures anything: 16 times the write buffers at their scale.

    A smaller one stays largely in memory, and looks cheap because it was never written.
    """
    return 16 * (memtable_bytes // scale)
