"""How a process and a trial ended: what it used, a measurement, or a failure with its reason."""

import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from sampler.bench.output import RocksdbLog, complaint
from sampler.rocksdb.parameters import Value

_UNREPLAYED = "Replay failed."
_CLOCK_SECONDS = 0.1


class Ending(StrEnum):
    """Why a process is no more."""

    EXIT = "exit"
    TIMEOUT = "timeout"
    CUTOFF = "cutoff"
    DISK_FULL = "disk_full"
    FLOOD = "flood"
    CANCELLED = "cancelled"


@dataclass(frozen=True, kw_only=True)
class EndedProcess:
    """How a process ended and what it used."""

    ending: Ending
    status: int  # exit status; negative: the signal that killed it
    began: float  # seconds since the epoch
    wall_seconds: float
    cpu_seconds: float
    peak_rss: int  # bytes, as last seen while it ran; 0 if it was too short to be seen
    device_bytes: int  # bytes that the kernel says were written to a block device for it
    device_read_bytes: int = 0  # the same of what was read from one
    processors: int | None = None  # how many it could run on; None: nobody knows
    # Seconds by which the machine's clock was set while it ran, or by which the machine slept.
    clock_set_by: float = 0.0
    # Seconds since the epoch when it was at rest, and its output went on; None: it never was.
    rested_at: float | None = None


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


def clock_problem(ended: EndedProcess) -> str | None:
    """Why the seconds of a run cannot be trusted; None: they can.

    db_bench and RocksDB's LOG take them from the clock on the wall. What slews that slews the
    clock that nobody can set as well; whoever sets it, or lets the machine sleep, parts the two.
    """
    if abs(ended.clock_set_by) <= _CLOCK_SECONDS:
        return None
    return f"the host's clock jumped by {ended.clock_set_by:+,.1f} s, or the host slept"


def unrest(ended: EndedProcess, log: RocksdbLog) -> tuple[TrialState, str] | None:
    """The state and the reason of a run that ended before its tree was at rest; None: it was.

    Whoever lets it end sees what RocksDB has written of its LOG by then; here is all of it. Where
    a script that starts db_bench keeps its output back, it may have gone on unseen.
    """
    if ended.rested_at is None or (log.closed is not None and log.closed < ended.rested_at):
        return TrialState.FAILED, "db_bench exited before its tree was seen at rest"
    if log.working or (log.work_ended or 0.0) > ended.rested_at:
        return TrialState.LOST, "RocksDB flushed or compacted after its tree had seemed at rest"
    return None


def ending_problem(
    ended: EndedProcess, said: str, log: RocksdbLog | None = None
) -> tuple[TrialState, str] | None:
    """The state and the reason of a run that did not end well; None for one that did."""
    match ended.ending:
        case Ending.TIMEOUT:
            settling = " while settling" if log and log.load_ended else ""
            return TrialState.TIMED_OUT, f"timed out after {ended.wall_seconds:.0f} s{settling}"
        case Ending.DISK_FULL:
            return TrialState.FAILED, "stopped: the disk of the bench folder was nearly full"
        case Ending.FLOOD:
            return TrialState.FAILED, "stopped: it printed too much"
        case Ending.CANCELLED:
            return TrialState.LOST, "cancelled"
    if ended.status == 0:
        return None
    words = complaint(said)
    if ended.status < 0:
        try:
            name = signal.Signals(-ended.status).name
        except ValueError:
            name = f"signal {-ended.status}"
        return TrialState.FAILED, f"killed by {name}: {words}".rstrip(": ")
    return TrialState.FAILED, words or f"exit status {ended.status}, no error message"


def unreplayed(said: str) -> tuple[TrialState, str] | None:
    """The state and the reason of a replay that stopped; None: it did not.

    db_bench says so and exits with 0 (``Benchmark::Replay``, 7.8.3).
    """
    line = next((each for each in said.splitlines() if each.startswith(_UNREPLAYED)), None)
    return None if line is None else (TrialState.FAILED, line[:2000])
