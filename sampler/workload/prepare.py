"""What fills a database before it is measured: a workload's preparing part."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sampler.parameters.parameter import Value
from sampler.workload.db_bench_benchmarks import Run, run_of
from sampler.workload.filled_keys import Fill, Sizes, fills_of, operations_of, threads_of
from sampler.workload.stretched_flags import stretched

# db_bench seeds the generator of each thread with --seed plus the thread's number. With the same
# seed readrandom would ask for the very keys that fillrandom wrote, in that order.
SEED_APART = 2**20

# Flags of the workload that say what keys and values are, and where: both processes need them.
SHARED = (
    "prefix_size", "keys_per_prefix", "num_column_families", "num_hot_column_families",
    "column_family_distribution", "value_size_distribution_type", "value_size_min",
    "value_size_max",
)  # fmt: skip


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
    def runs(self) -> tuple[Run, ...]:
        """The benchmarks, as they are asked for."""
        return tuple(map(run_of, self.benchmarks))

    @property
    def writes(self) -> float:
        """Keys that all threads write or delete."""
        flags = dict(self.flags)
        return float(
            sum(
                run.times
                * operations_of(run.benchmark, self.num, flags)
                * threads_of(run.benchmark, self.threads)
                for run in self.runs
                if run.benchmark.writes and not run.benchmark.beside
            )
        )

    @property
    def fills(self) -> list[Fill]:
        """The keys that it leaves behind."""
        return fills_of(self.runs, self.sizes())

    def sizes(self, *, key_size: int = 16, value_size: int = 1024) -> Sizes:
        """What its process is told of sizes; those of keys and values are the workload's."""
        return Sizes(
            num=self.num,
            key_size=key_size,
            value_size=value_size,
            threads=self.threads,
            flags=dict(self.flags),
        )

    def at_size(self, times: float) -> Prepare:
        """The same with so many times the keys."""
        flags = tuple((name, stretched(name, value, times)) for name, value in self.flags)
        return replace(self, num=max(1, round(self.num * times)), flags=flags)
