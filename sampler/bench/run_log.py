"""How a run ends: when flushes and compactions ended, by its LOG, and whether it ended well."""

import signal
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

from sampler.bench.db_bench_output import complaint, parse_tickers
from sampler.rocksdb.log_reader import LogEvent, read_log, stamp_of
from sampler.runner.outcome import TrialState
from sampler.runner.process import EndedProcess, Ending
from sampler.workload.db_bench_benchmarks import BenchmarkRun

# Of files that were made: a blob file's event tells the bytes of its blobs, not its size.
_SIZES = {"table_file_creation": "file_size", "blob_file_creation": "total_blob_bytes"}
_COMPACTED = ("output_level", "total_output_size")
_WORK = {
    "flush_started": True,
    "flush_finished": False,
    "compaction_started": True,
    "compaction_finished": False,
}
# What a line says at the moment that a field of ``RocksdbLog`` keeps.
_MOMENTS = {
    "DB pointer": "opened",
    "Shutdown: canceling all background work": "closed",
    "Manual flush start": "load_ended",
    "Manual flush finished": "flushed",
}
# Beside RocksDB's own counters in a trial: what compactions wrote to a level.
LEVEL_BYTES = "compact.write.bytes.level{}"
_HISTOGRAM = " P50 : "
# Output beyond this is of no use to the parser; a trial that floods is ended sooner anyway.
_READ_BYTES = 32 * 2**20
_UNREPLAYED = "Replay failed."
_CLOCK_SECONDS = 0.1
_MOST_MICROS = 10**17  # since the epoch: more is no time


@dataclass
class RocksdbLog:
    """What a LOG tells so far; times in seconds since the epoch, by the database's clock."""

    opened: float | None = None  # when the database was last opened
    closed: float | None = None  # when it was last told to close
    # When the manual flush after the load began; None if there was none.
    load_ended: float | None = None
    flushed: float | None = None  # when that flush, and those that it waited for, had ended
    work_ended: float | None = None  # when the last flush or compaction ended
    # Numbers of the flushes and compactions that have begun and not ended.
    under_way: set[int] = field(default_factory=set)
    # The counters of the last whole dump of statistics.
    tickers: Mapping[str, int] = field(default_factory=dict)
    created_bytes: int = 0  # of all table and blob files that flushes and compactions have made
    compacted: Counter[int] = field(default_factory=Counter)  # bytes by the level written to
    # What is counted here of events that lack it, by (event, names of the field), and how many.
    lacking: Counter[tuple[str, str]] = field(default_factory=Counter)
    _dump: dict[str, int] | None = field(default=None, repr=False, compare=False)

    @property
    def level_bytes(self) -> dict[str, int]:
        """What compactions wrote, by level, as counters; none where an event does not tell it."""
        if any(event == "compaction_finished" for event, _ in self.lacking):
            return {}
        written = sorted(self.compacted.items())
        return {LEVEL_BYTES.format(level): size for level, size in written if size}

    @property
    def working(self) -> int:
        """How many flushes and compactions have begun and not ended."""
        return len(self.under_way)

    def take(self, line: str, event: LogEvent | None) -> None:
        """See ``Taker``."""
        if event is not None:
            self._event(event)
        elif "STATISTICS:" in line:
            self._dump = {}
        elif self._dump is not None and "COUNT" in line:
            # The counters are whole when the histograms after them begin: a dump may be cut off.
            if _HISTOGRAM in line:
                self.tickers, self._dump = self._dump, None
            else:
                self._dump |= parse_tickers(line)
        elif moment := next((name for words, name in _MOMENTS.items() if words in line), None):
            setattr(self, moment, stamp_of(line))  # db_bench is run with TZ=UTC

    def _event(self, event: LogEvent) -> None:
        if event.kind in _WORK:
            self._lacks(event, ["job"])
            job, micros = event.number("job"), event.micros
            if job is not None and micros is not None and micros < _MOST_MICROS:
                if _WORK[event.kind]:
                    self.under_way.add(job)
                else:
                    self.under_way.discard(job)
                    self.work_ended = max(self.work_ended or 0.0, micros / 1e6)
        if size := _SIZES.get(event.kind):
            self._lacks(event, [size])
            self.created_bytes += 0 if event.failed else event.count(size)
        if event.kind == "compaction_finished":
            self._lacks(event, _COMPACTED)
            written = event.count("total_output_size") + event.count("total_blob_output_size")
            self.compacted[event.count("output_level")] += written

    def _lacks(self, event: LogEvent, fields: Sequence[str]) -> None:
        if not event.cut:
            self.lacking.update((event.kind, names) for names in event.missing(fields))


def parse_log(text: str) -> RocksdbLog:
    """Reads the whole lines of a LOG. Never raises, whatever the text holds."""
    log = RocksdbLog()
    read_log(StringIO(text[: text.rfind("\n") + 1], newline="\n"), log)
    return log


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
