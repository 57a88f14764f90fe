"""What fuzzing begins with: real outputs, the shipped documents, and what found faults before."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Iterable, Iterator
from typing import Any

from sampler.rocksdb.options_file import MOST_DEPTH, MOST_FIELDS
from tests.support import DATA, ROOT
from tests.support.fuzzing.fuzz_service import EXTERNAL, routes
from tests.support.fuzzing.fuzz_targets import LONGEST

KEPT = DATA / "fuzz"
_PART = 4096  # bytes of an output that are shown at a time
_OPTIONS = """[Version]
  rocksdb_version=7.8.3
[DBOptions]
  max_background_jobs=6 # of 8
  wal_dir=/wal
[CFOptions "default"]
  compression=kLZ4Compression
  compression_opts={level=7;max_dict_bytes=16384;}
  compression_per_level=kNoCompression:kZSTD
[TableOptions/BlockBasedTable "default"]
  filter_policy=bloomfilter:10:false
"""
_BATCH = """name = "nightly"
workloads = ["load-quick", "mixed-quick"]
spaces = ["default", "paper"]
trials = 96
limits = ["waf <= 0.9 baseline"]
over = ["compression_type", "write_buffer_size"]
start_from = ["benchmark.sh"]
memory = "4GiB"

[[job]]
name = "the-load"
workload = "load"
strategy = "greedy"
trials = 400
seed = 7
"""
_EVENTS = """2026/11/22-10:00:00.000001 1 EVENT_LOG_v1 {"time_micros": 1, "event": "flush_started"}
2026/11/22-10:00:01.000001 1 [db/db_impl.cc:1] ------- DUMPING STATS -------
Uptime(secs): 10.0 total, 1.0 interval
Interval compaction: 0.10 GB write, 1.00 MB/s write, 0.10 GB read, 1.00 MB/s read, 0.1 seconds
rocksdb.bytes.written COUNT : 100
"""
_KEPT = ("write_buffer_size", "compression_type")
_WORDS = (
    "rate >= 0.95 baseline", "write_p99 <= 200 us", "memory <= 1 GiB", "5%", "rate=5%", "64MiB",
    "1.5 GB", "8e9", "auto", "17", "waf=2,sa=1", "0 3 * * 1-5", "Europe/Zurich",
)  # fmt: skip
_BODIES: tuple[dict[str, Any], ...] = (
    {"workload": "load-quick", "trials": 20, "seed": 1, "limits": ["rate >= 0.9 baseline"]},
    EXTERNAL,
)
_SCHEDULE = {
    "name": "nightly", "cron": "30 2 * * *", "time_zone": "Europe/Berlin",
    "batch": {"workloads": ["load-quick"], "spaces": ["default"], "trials": 20,
              "job": [{"name": "one", "workload": "mixed-quick", "trials": 40}]},
}  # fmt: skip
_TOLD = {"trials": [{"number": 1, "state": "done", "metrics": {"rate": 2.5}}]}
# What else a route may be asked, beside nothing: query and body, by the end of its path.
_ASKED: dict[str, tuple[bytes, object]] = {
    "/v1/jobs": (b"limit=5&after=3&state=done", _BODIES[1]),
    "/trials": (b"limit=5&after=1&sort=number&state=done&format=csv", _TOLD),
    "/suggestions": (b"", {"count": 2, "reclaim_seconds": 60}),
    "/schedules": (b"", _SCHEDULE),
    "/batches": (b"", _SCHEDULE["batch"]),
    "/webhooks": (b"", {"url": "https://chat.example.com/hooks/other"}),
    "/pareto": (b"x=rate&y=waf", None),
    "/pick": (b"slo=rate+%3E%3D+1&weights=waf%3D2", None),
    "/guide": (b"keys=8e9&key_size=20&value_size=800&cpu_threads=48&memory=128GB", None),
}


def seeds(target: str) -> list[bytes]:
    """What a target is shown first, none of it longer than an input may be."""
    found = [each[:LONGEST] for each in _own(target)]
    return [*found, *kept(target)]


def kept(target: str) -> list[bytes]:
    """The corpus that an earlier run has left."""
    path = KEPT / f"{target}.tar.gz"
    if not path.exists():
        return []
    with tarfile.open(path) as packed:
        files = [packed.extractfile(each) for each in packed.getmembers()]
        return [file.read() for file in files if file is not None]


def keep(target: str, inputs: Iterable[bytes]) -> int:
    """Keeps a corpus, the same bytes for the same inputs; returns how many they are."""
    different = sorted(set(inputs), key=lambda each: (len(each), each))
    KEPT.mkdir(parents=True, exist_ok=True)
    with (
        (KEPT / f"{target}.tar.gz").open("wb") as file,
        gzip.GzipFile("", "wb", 9, file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as whole,
    ):
        for number, each in enumerate(different):
            about = tarfile.TarInfo(f"{number:05}")
            about.size = len(each)
            whole.addfile(about, io.BytesIO(each))
    return len(different)


def _own(target: str) -> list[bytes]:
    if target in ("output", "log"):
        texts = [path.read_bytes() for path in sorted((DATA / "db_bench_outputs").iterdir())]
        parts = [text[i : i + _PART] for text in texts for i in range(0, len(text), _PART)]
        return [*parts[:60], _EVENTS.encode(), _deep_event(15), _deep_event(900)]
    if target in ("space", "workload"):
        folders = (
            ROOT / "sampler" / f"{target}s", DATA / f"good_{target}s", DATA / f"bad_{target}s",
        )  # fmt: skip
        shown = [path.read_bytes() for each in folders for path in sorted(each.glob("*.toml"))]
        return [*shown, *_deep_documents()]
    if target == "objective":
        folder = ROOT / "optimizer" / "objectives"
        shown = [path.read_bytes() for path in sorted(folder.glob("*.toml"))]
        return [*shown, *_deep_documents()]
    if target == "words":
        return [bytes([first]) + word.encode() for first in range(7) for word in _WORDS]
    if target == "archive":
        whole = gzip.decompress((DATA / "reproduction_first_80.jsonl.gz").read_bytes())
        return [b"\x01" + whole[:_PART], b"\x01" + _short_archive(whole)]
    if target == "body":
        return [json.dumps(each).encode() for each in _BODIES]
    if target == "request":
        return [each for number, route in enumerate(routes()) for each in requests(number, route)]
    return {
        "options": [_OPTIONS.encode(), *_deep_options()],
        "batch": [_BATCH.encode()],
        "last_line": [b'{"rate": 1.5, "waf": 3}'],
    }[target]


def _deep_options() -> Iterator[bytes]:
    """Structures as deep and as large as they may be, one step more, and long texts."""
    key = b"  memtable_factory="
    for depth in (MOST_DEPTH, MOST_DEPTH + 1, 900):
        yield _OPTIONS.encode() + key + b"{a=" * depth + b"1" + b";}" * depth
        yield _OPTIONS.encode() + b"  a" + b".a" * depth + b"=1"
    for count in (MOST_FIELDS - 1, MOST_FIELDS + 1):
        yield _OPTIONS.encode() + key + b"{" + b"a=1;" * count + b"}"
        yield _OPTIONS.encode() + b"".join(b"  a.b%d=1\n" % number for number in range(count))
    yield _OPTIONS.encode() + b"  merge_operator=" + b"x" * 60_000


def _deep_documents() -> Iterator[bytes]:
    for depth in (15, 16, 900):
        yield b"name = 'deep'\na = " + b"[" * depth + b"1" + b"]" * depth
        yield b"name = 'deep'\na" + b".a" * depth + b" = 1"
        yield b"name = 'deep'\n[a" + b" . a" * depth + b"]"
        yield b"name = 'deep'\na = " + b"{b = " * depth + b"1" + b"}" * depth
    yield b"name = '" + b"x" * 60_000 + b"'"


def _deep_event(depth: int) -> bytes:
    deep = f"{'[' * depth}{']' * depth}"
    return _EVENTS.replace('"event": ', f'"more": {deep}, "event": ').encode()


def _short_archive(whole: bytes) -> bytes:
    """An archive's first two trials, of two parameters and four metrics, which fit an input."""
    head, *rows = (json.loads(line) for line in whole.splitlines()[:3])
    space = head["specification"]["space"]
    space["parameter"] = [p for p in space["parameter"] if p["name"] in _KEPT]
    head["specification"]["search"]["over"] = None
    head["environment"] = {"host": "vm"}
    for row in rows:
        for part in ("configuration", "effective"):
            row[part] = {name: row[part][name] for name in _KEPT}
        row["metrics"] = {name: row["metrics"][name] for name in ("waf", "sa", "time", "rate")}
        row["counters"] = {"wal.bytes": 105600000}
    return b"".join(json.dumps(each).encode() + b"\n" for each in (head, *rows))


def requests(number: int, route: tuple[str, str]) -> list[bytes]:
    """A route asked for nothing, and with what it takes."""
    bare = bytes([number]) + b"1\0\0\0\0"
    for end, (query, body) in _ASKED.items():
        if route[1].endswith(end):
            sent = b"" if body is None else json.dumps(body).encode()
            return [bare, bytes([number]) + b"1\0" + query + b"\0\0application/json\0" + sent]
    return [bare]
