"""What fills a database before it is measured: a workload's preparing part."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sampler.filled_keys import RANDOM_WRITES, SEQUENTIAL_FILLS, Fill, operations_of
from sampler.parameter import Value
from sampler.stretched_flags import stretched

# Begin with an empty database, so db_bench skips them beside --use_existing_db
# (db_bench_tool.cc 7.8.3, Run(): fresh_db).
FRESH = frozenset({
    "fillseq", "fillrandom", "filluniquerandom", "fillbatch", "fillsync", "fill100K",
    "fillanddeleteuniquerandom", "fillseqdeterministic", "filluniquerandomdeterministic",
})  # fmt: skip
# db_bench seeds the generator of each thread with --seed plus the thread's number. With the same
# seed readrandom would ask for the very keys that fillrandom wrote, in that order.
SEED_APART = 2**20


@dataclass(frozen=True, kw_only=True)
class Prepare:
    """Benchmarks that fill the database, in a db_bench process of their own.

    Keys, values and their compressibility are the workload's. It always ends flushed and with no
    compaction left, and it counts as time of the benchmark but not in the metrics.

    Attributes:
        benchmarks: db_bench's benchmarks, run one after the other.
        num: Size of the key space, and operations per thread of each benchmark.
        threads: Client threads.
        flags: Further db_bench flags, by name.
        share: Whether a database may be copied that was prepared under equal options before.
    """

    benchmarks: tuple[str, ...]
    num: int
    threads: int = 1
    flags: tuple[tuple[str, Value], ...] = ()
    share: bool = True

    @property
    def writes(self) -> float:
        """Keys that all threads write."""
        return float(self._written(SEQUENTIAL_FILLS) + self._written(RANDOM_WRITES))

    @property
    def fills(self) -> list[Fill]:
        """The keys that it leaves behind."""
        found = [Fill(self.num, float(self._written(RANDOM_WRITES)))]
        whole = [self._operations(each) for each in self.benchmarks if each in SEQUENTIAL_FILLS]
        if whole:
            found.append(Fill(min(self.num, max(whole)), 0.0, whole=True))
        return found

    def _written(self, known: frozenset[str]) -> int:
        """Keys that all threads write in those of the benchmarks that are among the known."""
        counts = [self._operations(each) for each in self.benchmarks if each in known]
        return self.threads * sum(counts)

    def _operations(self, benchmark: str) -> int:
        return operations_of(benchmark, self.num, dict(self.flags))

    def at_size(self, times: float) -> Prepare:
        """The same with so many times the keys."""
        flags = tuple((name, stretched(name, value, times)) for name, value in self.flags)
        return replace(self, num=max(1, round(self.num * times)), flags=flags)
