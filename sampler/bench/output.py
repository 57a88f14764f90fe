"""What a run leaves: what db_bench prints, and what the LOG of its database tells.

Of the output, tickers and the list of live files count, not the rounded tables. Anything may be
missing: another version prints other lines, and output may be cut off anywhere. The LOG tells when
flushes and compactions ended.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import groupby
from pathlib import Path
from statistics import fmean

from sampler.rocksdb.log_reader import LogEvent, read_log, stamp_of
from sampler.workload.db_bench_benchmarks import BenchmarkRun

_LINE = re.compile(
    r"^(?P<name>[\w.\[\]-]+(?: write)?)\s*:\s+\d+(?:\.\d+)? micros/op "
    r"(?P<per_second>\d{1,18}) ops/sec"
    r" (?P<seconds>\d{1,12}(?:\.\d+)?) seconds (?P<operations>\d{1,18}) operations",
    re.MULTILINE,
)
_LATENCY = re.compile(
    r"^Microseconds per (?P<kind>\w+):\n(?:.*\n){1,3}?Percentiles: (?P<percentiles>.*)$",
    re.MULTILINE,
)
_PERCENTILE = re.compile(r"P(\d{1,2}(?:\.\d{1,3})?): (\d{1,15}(?:\.\d{1,9})?)")
_TICKER = re.compile(r"^ ?rocksdb\.([\w.-]+) COUNT : (\d{1,19})$", re.MULTILINE)
_STALL = re.compile(r"^Cumulative stall: .*?, (\d{1,3}(?:\.\d{1,9})?) percent", re.MULTILINE)
_VERSION = re.compile(r"^RocksDB:\s+version (\d+\.\d+(?:\.\d+)?)", re.MULTILINE)
_WARNING = re.compile(r"^WARNING: (.+)$", re.MULTILINE)
_TABLE_FILE = re.compile(r"^ (\d+):(\d{1,18})\[", re.MULTILINE)
_BLOB_FILE = re.compile(
    r"^blob_file_number: (\d+) total_blob_count: \d+ total_blob_bytes: (\d{1,18})", re.MULTILINE
)
_LEVEL = re.compile(r"^--- level \d+ --- version# \d+ ---$", re.MULTILINE)
# A blob file's header and footer (db/blob/blob_log_format.h), which total_blob_bytes leaves out.
_BLOB_FRAME_BYTES = 30 + 32
_SUM = re.compile(r"^ Sum\s+\d+/\d+\s+(\d{1,9}(?:\.\d{1,9})?) (KB|MB|GB|TB)\s", re.MULTILINE)
_BLOB_SUM = re.compile(
    r"^Blob file count: \d+, total size: (\d{1,9}(?:\.\d{1,9})?) GB", re.MULTILINE
)
# What db_bench prints on standard error though all is well: PrintHeader, PrintEnvironment,
# PrintWarnings and what single benchmarks tell of themselves (db_bench_tool.cc, 5.18 to 11.8).
_HEADER = re.compile(
    r"(?:Set seed to \d|Initializing RocksDB Options|Integrated BlobDB:|"
    r"(?:RocksDB|Date|CPU|CPUCache|Keys|Values|Entries|Prefix|Keys per prefix|RawSize|FileSize"
    r"|Write rate|Read rate|Compression|Compression sampling rate|Memtablerep|Perf Level"
    r"|DB path|BlobDB|Use Blob Cache): |"
    r"WARNING: |-{4,}|entries_per_batch = |num reads to do |\.\.\. (?:val|finished) |"
    r"Reads are finished\. |Exiting the writer after |A noop compaction filter is used|"
    r"DB path: \[|Warming up benchmark|Running benchmark for |use_multiscan = |"
    r"Encountered an error ending the trace, |"
    r"filluniquerandom and fillanddeleteuniquerandom multithreaded not supported)"
)
_UNITS = {"KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
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
_MOST_MICROS = 10**17  # since the epoch: more is no time


@dataclass(frozen=True)
class BenchmarkLine:
    """One benchmark's own line: operations over seconds."""

    name: str
    seconds: float
    operations: int
    # ``write_p99`` and the like, in microseconds, from the histograms after it.
    latencies: Mapping[str, float] = field(default_factory=dict)
    per_second: float = 0.0  # operations a second, as printed: of a short run more exact


@dataclass(frozen=True)
class DbBenchOutput:
    """What could be read."""

    lines: tuple[BenchmarkLine, ...] = ()  # one a benchmark, in order
    # RocksDB's counters without ``rocksdb.``.
    tickers: Mapping[str, int] = field(default_factory=dict)
    live_bytes: int | None = None  # bytes of live table and blob files; None if nothing told
    # Share of the time that writes stalled, of several statements the last; None if nothing told.
    stall_percent: float | None = None
    version: str | None = None
    warnings: tuple[str, ...] = ()


def latencies_of(lines: Iterable[BenchmarkLine]) -> dict[str, float]:
    """Latencies by name, in microseconds, each of the last benchmark that has it.

    Of a benchmark that ran several times in a row it is the mean of its runs.
    """
    found: dict[str, float] = {}
    for _, runs in groupby(lines, key=lambda line: line.name):
        gathered: dict[str, list[float]] = {}
        for line in runs:
            for name, value in line.latencies.items():
                gathered.setdefault(name, []).append(value)
        found |= {name: fmean(values) for name, values in gathered.items()}
    return found


def parse_output(text: str) -> DbBenchOutput:
    """Reads db_bench's standard output. Never raises, whatever the text holds."""
    text = text[: text.rfind("\n") + 1]  # half a number at a cut is a wrong number
    version, stalls = _VERSION.search(text), _STALL.findall(text)
    matches = list(_LINE.finditer(text))
    ends = [*(match.start() for match in matches[1:]), len(text)]
    return DbBenchOutput(
        lines=tuple(
            BenchmarkLine(
                match["name"],
                float(match["seconds"]),
                int(match["operations"]),
                _latencies(text[match.end() : end]),
                float(match["per_second"]),
            )
            for match, end in zip(matches, ends, strict=False)
        ),
        tickers=parse_tickers(text),
        live_bytes=_live_bytes(text),
        stall_percent=float(stalls[-1]) if stalls else None,
        version=version.group(1) if version else None,
        warnings=tuple(dict.fromkeys(_WARNING.findall(text))),
    )


def parse_tickers(text: str) -> dict[str, int]:
    """The counters of a statistics dump; of several the last."""
    return {name: int(count) for name, count in _TICKER.findall(text)}


def complaint(stderr: str) -> str:
    """What db_bench said when it refused or crashed, in its own words.

    What it prints before and beside any benchmark, its header and the progress of its threads, is
    no complaint; of the rest the last lines count.
    """
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    said = [line for line in lines if not _HEADER.match(line)]
    return "\n".join(said[-5:])[-2000:]


def _latencies(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for match in _LATENCY.finditer(text):
        percentiles: dict[str, str] = dict(_PERCENTILE.findall(match["percentiles"]))
        for written, short in (("50", "p50"), ("99", "p99"), ("99.9", "p999")):
            if written in percentiles:
                found[f"{match['kind']}_{short}"] = float(percentiles[written])
    return found


def _live_bytes(text: str) -> int | None:
    """From the list of live files where there is one, else from the rounded table."""
    if _LEVEL.search(text):
        tables = {number: int(size) for number, size in _TABLE_FILE.findall(text)}
        blobs = {no: int(size) + _BLOB_FRAME_BYTES for no, size in _BLOB_FILE.findall(text)}
        return sum(tables.values()) + sum(blobs.values())
    sums = _SUM.findall(text)
    if not sums:
        return None
    blob_sums = _BLOB_SUM.findall(text)
    in_blobs = float(blob_sums[-1]) * 2**30 if blob_sums else 0.0
    return int(float(sums[-1][0]) * _UNITS[sums[-1][1]] + in_blobs)


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


def read_text(path: Path, *, most_bytes: int = _READ_BYTES) -> str:
    """The text of a file, its end if it is too long; empty if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - most_bytes))
            return file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
