"""What came of running a configuration once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from sampler.rocksdb.parameters import Value


class TrialState(StrEnum):
    """How a trial stands, or how it ended."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"  # refused or crashed, with the benchmark's own words
    TIMED_OUT = "timed_out"
    CENSORED = "censored"  # cut off as too slow: time is a lower bound, other metrics partial
    INFEASIBLE = "infeasible"  # known bad before it ran
    LOST = "lost"  # its host or controller died; it is run again


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A measurement, or a failure with its reason."""

    state: TrialState
    # ``waf``, ``sa`` (ratios), ``time`` (s), ``rate`` (ops/s) and others, see
    # ``sampler.bench.metrics``. Under ``censored`` only ``time`` (a lower bound) and ``rate`` (an
    # upper bound) may be compared; under a failure empty.
    metrics: Mapping[str, float] = field(default_factory=dict)
    # Raw tickers in bytes or counts, by RocksDB's names without ``rocksdb.``; of db_bench also
    # what compactions wrote to each level, as ``compact.write.bytes.level1``.
    counters: Mapping[str, float] = field(default_factory=dict)
    # The values in effect, read back from the OPTIONS file that RocksDB wrote, full scale; None
    # where it wrote none.
    effective: Mapping[str, Value] | None = None
    failure: str | None = None  # why it is not ``done``, in RocksDB's own words where it said any
    # What the reader of the numbers must know (assertions on, values adjusted).
    warnings: tuple[str, ...] = ()
    bench_seconds: float = 0.0  # how long the benchmark's process lived
    # Whether the failure may be the host's fault rather than the configuration's: its disk was
    # nearly full.
    by_host: bool = False
    waited_seconds: float = 0.0  # for how long the host was another's before it could begin
