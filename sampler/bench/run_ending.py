"""How a run of db_bench ends: at rest, well, or with a reason."""

import signal
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from sampler.bench.db_bench_output import DbBenchOutput, complaint, parse_output
from sampler.bench.rocksdb_log import LogReader, RocksdbLog
from sampler.runner.outcome import TrialState
from sampler.runner.process import EndedProcess, Ending
from sampler.workload.db_bench_benchmarks import BenchmarkRun, run_of

# Output beyond this is of no use to the parser; a trial that floods is ended sooner anyway.
_READ_BYTES = 32 * 2**20
_REST_SECONDS = 1.0
_CLOCK_SECONDS = 0.1


def is_at_rest(printed: Path, reader: LogReader, benchmarks: Iterable[str]) -> bool:
    """Whether the load is over, the tree at rest and its counters written to the LOG.

    db_bench 7.8 sleeps 5 s before it looks at the compactions and 10 s between looks, and with
    universal compaction it may never end (RocksDB issue 9275). RocksDB itself begins the next
    compaction within milliseconds of the last one's end, so a second without any is enough.
    ``printed`` is db_bench's standard output; the ``benchmarks`` must have ended.
    """
    lines = Counter(line.name for line in parse_output(read_text(printed)).lines)
    if not lines >= expected_lines(map(run_of, benchmarks)):
        return False  # still loading: leave the LOG alone
    log = reader.read()
    if log.load_ended is None or log.flushed is None or log.dumped is None or log.working > 0:
        return False
    at_rest = max(log.flushed, log.work_ended or 0.0)
    return log.dumped > at_rest and time.time() - at_rest >= _REST_SECONDS


def expected_lines(runs: Iterable[BenchmarkRun]) -> Counter[str]:
    """The lines that db_bench prints for benchmarks: how many of each name."""
    expected: Counter[str] = Counter()
    for run in runs:
        expected[run.benchmark.printed] += run.times
    return expected


def at_rest(output: DbBenchOutput, log: RocksdbLog, database: Path) -> DbBenchOutput:
    """The output of a run that was ended at rest, completed from what RocksDB left behind.

    With no compaction under way every table and blob file in the folder is a live one, and the
    LOG's last counters are the last.
    """
    files = [path for kind in ("*.sst", "*.blob") for path in database.glob(kind)]
    live = sum(path.stat().st_size for path in files)
    return replace(output, tickers=log.tickers, live_bytes=live, stall_percent=log.stall_percent)


def clock_problem(ended: EndedProcess) -> str | None:
    """Why the seconds of a run cannot be trusted; None: they can.

    db_bench and RocksDB's LOG take them from the clock on the wall. What slews that slews the
    clock that nobody can set as well; whoever sets it, or lets the machine sleep, parts the two.
    """
    if abs(ended.clock_set_by) <= _CLOCK_SECONDS:
        return None
    return f"the machine's clock was set by {ended.clock_set_by:+,.1f} s while it ran, or it slept"


def ending_problem(
    ended: EndedProcess, said: str, log: RocksdbLog | None = None
) -> tuple[TrialState, str] | None:
    """The state and the reason of a run that did not end well; None for one that did."""
    match ended.ending:
        case Ending.TIMEOUT:
            settling = " while it settled" if log and log.load_ended else ""
            return TrialState.TIMED_OUT, f"timed out after {ended.wall_seconds:.0f} s{settling}"
        case Ending.DISK_FULL:
            return TrialState.FAILED, "ended because the disk of the bench folder was nearly full"
        case Ending.FLOOD:
            return TrialState.FAILED, "ended because it printed without end"
        case Ending.CANCELLED:
            return TrialState.LOST, "cancelled"
    if ended.status == 0 or ended.ending is Ending.SETTLED:
        return None
    words = complaint(said)
    if ended.status < 0:
        try:
            name = signal.Signals(-ended.status).name
        except ValueError:
            name = f"signal {-ended.status}"
        return TrialState.FAILED, f"killed by {name}: {words}".rstrip(": ")
    return TrialState.FAILED, words or f"exit status {ended.status} without a word"


def read_text(path: Path, *, most_bytes: int = _READ_BYTES) -> str:
    """The text of a file, its end if it is too long; empty if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - most_bytes))
            return file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
