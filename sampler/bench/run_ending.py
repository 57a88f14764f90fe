"""How a run of db_bench ends: well, or with a reason."""

import signal
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from sampler.bench.db_bench_output import complaint
from sampler.bench.rocksdb_log import RocksdbLog
from sampler.runner.outcome import TrialState
from sampler.runner.process import EndedProcess, Ending
from sampler.workload.db_bench_benchmarks import BenchmarkRun

# Output beyond this is of no use to the parser; a trial that floods is ended sooner anyway.
_READ_BYTES = 32 * 2**20
_UNREPLAYED = "Replay failed."
_CLOCK_SECONDS = 0.1


def expected_lines(runs: Iterable[BenchmarkRun]) -> Counter[str]:
    """The lines that db_bench prints for benchmarks: how many of each name."""
    expected: Counter[str] = Counter()
    for run in runs:
        expected[run.benchmark.printed] += run.times
    return expected


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


def read_text(path: Path, *, most_bytes: int = _READ_BYTES) -> str:
    """The text of a file, its end if it is too long; empty if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - most_bytes))
            return file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
