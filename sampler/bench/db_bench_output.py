"""What db_bench prints: benchmark lines, latencies, tickers, live files.

Works from tickers and from the list of live files, not from the rounded tables. Anything may be
missing: another version prints other lines, and output may be cut off anywhere.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from statistics import fmean

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
