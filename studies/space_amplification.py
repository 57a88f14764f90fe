"""Space amplification as a trial tells it, against a full scan of its database, by benchmark.

``make prove-space`` runs every benchmark that Rocktune takes on the real db_bench, has RocksDB's
``ldb`` print every live key and value of what each left, and compares. Each run is kept on a line
of docs/results/space_amplification.jsonl and not made again; the page is written from it.
"""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sampler.bench.accepted import build_version
from sampler.bench.bench_plan import BenchPlan
from sampler.bench.builds import installed_build
from sampler.bench.db_bench import DbBench
from sampler.bench.installed import InstalledDbBench
from sampler.bench.outcome import Outcome
from sampler.bench.runner import LocalRunner, Stage
from sampler.bench.settings import Settings, load_settings
from sampler.machine.machine import fingerprint
from sampler.space.space import Configuration
from sampler.space.space_file import load_space
from sampler.workload.db_bench_benchmarks import BENCHMARKS
from sampler.workload.workload import Workload
from sampler.workload.workload_file import (
    SHIPPED,
    load_workload,
    why_counted,
    why_untold,
    workload_document,
    workload_from_document,
)
from studies.study import append_line, read_lines
from studies.wrapped_benchmark import WrappedBenchmark

ROOT = Path(__file__).parents[1]
ROWS = ROOT / "docs" / "results" / "space_amplification.jsonl"
PAGE = ROOT / "docs" / "results" / "space_amplification.md"
MOST_OFF = 0.02
_QUICK_SCALE = 256  # of shipped loads: a quarter of their size
_FILL = {"benchmarks": ["fillrandom"]}
_MIX = {"mix_get_ratio": 0.5, "mix_put_ratio": 0.4, "mix_seek_ratio": 0.1}
_NEEDS: Mapping[str, Mapping[str, Any]] = {
    "mixgraph": _MIX,
    "timeseries": {"expire_style": "delete", "time_range": 5_000, "key_id_range": 200},
    "fillanddeleteuniquerandom": {
        "disposable_entries_batch_size": 100,
        "persistent_entries_batch_size": 50,
    },
    "readrandomsmall": {"reads": 5_000_000},
    "verifyfilechecksums": {"file_checksum": True},
    "readtorowcache": {"use_existing_keys": True, "row_cache_size": 1_000_000},
}


@dataclass(frozen=True)
class Load:
    """A load to judge: its name in the table, and its document as a TOML file would hold it."""

    name: str
    document: Mapping[str, Any]

    def workload(self, num: int) -> Workload:
        """At so many keys."""
        document = {
            "name": self.name,
            "num": num,
            "value_size": 400,
            "timeout_seconds": 300,
            **self.document,
        }
        return workload_from_document(document)


def loads(version: tuple[int, int]) -> Iterator[Load]:
    """One load for each benchmark that Rocktune measures, some with flags, and shipped ones."""
    for name, benchmark in BENCHMARKS.items():
        if benchmark.refused or benchmark.since > version:
            continue
        flags = dict(_NEEDS.get(name, {}))
        if "merge_operator" in benchmark.needs:
            flags["merge_operator"] = "stringappend"
        table = {"flags": flags, "benchmarks": [name]}
        if not benchmark.writes or benchmark.beside or name in ("mixgraph", "xorupdaterandom"):
            preparing = {"flags": {"file_checksum": True}} if "file_checksum" in flags else {}
            yield Load(name, table | {"prepare": {**_FILL, **preparing}})
        elif benchmark.loop == "deletes":
            half = {"deletes": 20_000}
            yield Load(name, table | {"benchmarks": ["fillrandom", name], "flags": half})
        elif name == "timeseries":
            yield Load(name, table | {"threads": 3})
        else:
            yield Load(name, table)
    both = ["fillrandom", "overwrite"]
    yield Load("overwrite_probability", {
        "benchmarks": ["filluniquerandom"],
        "flags": {"overwrite_probability": 0.5, "overwrite_window_size": 1000},
    })  # fmt: skip
    yield Load("range tombstones", {
        "benchmarks": ["fillrandom"],
        "flags": {"writes_per_range_tombstone": 200, "range_tombstone_width": 50,
                  "max_num_range_tombstones": 100},
    })  # fmt: skip
    yield Load("writes beyond num", {"benchmarks": ["fillseq"], "flags": {"writes": 60_000}})
    yield Load("fewer unique keys", {
        "benchmarks": ["filluniquerandom"], "flags": {"writes": 9_000},
    })  # fmt: skip
    yield Load("a second fill", {"benchmarks": ["fillseq", "fillrandom"]})
    yield Load("fillrandom[W1-X2]", {"benchmarks": ["fillrandom[W1-X2]"]})
    yield Load("two threads", {"benchmarks": both, "threads": 2})
    yield Load("values of all sizes", {
        "benchmarks": both,
        "flags": {"value_size_distribution_type": "uniform", "value_size_max": 900},
    })  # fmt: skip
    yield Load("short keys", {"benchmarks": ["fillrandom"], "key_size": 2, "num": 120_000})
    yield Load("keys with prefixes", {
        "benchmarks": ["fillrandom"], "flags": {"prefix_size": 8, "keys_per_prefix": 10},
    })  # fmt: skip
    yield Load("transactions", {
        "benchmarks": ["randomtransaction"], "flags": {"transaction_db": True},
    })  # fmt: skip
    yield Load("deletes after preparing", {
        "benchmarks": ["deleterandom"], "flags": {"deletes": 10_000}, "prepare": _FILL,
    })  # fmt: skip
    for name in SHIPPED:
        if name.endswith("-quick"):
            yield Load(name, workload_document(load_workload(name).at_scale(_QUICK_SCALE)))


class Scanned(WrappedBenchmark):
    """The real benchmark; what a trial left is scanned before it is removed.

    Attributes:
        keys: Live keys.
        live: Bytes of them and of their values.
    """

    def __init__(self, benchmark: DbBench) -> None:
        """Around the real one."""
        super().__init__(benchmark)
        self.keys = self.live = 0

    def following(
        self, configuration: Configuration, folder: Path, outcome: Outcome, *, reads: int
    ) -> Sequence[Stage]:
        """Scans, then goes on as the other does."""
        self.keys, self.live = scan(folder / "db")
        return super().following(configuration, folder, outcome, reads=reads)


def scan(database: Path) -> tuple[int, int]:
    """The live keys of a database and their bytes with those of values, one by one.

    RocksDB's ldb prints them all; a copy is read, so that the database stays as it is.
    """
    with tempfile.TemporaryDirectory(prefix="rocktune-scan-") as folder:
        copy = Path(folder) / "db"
        shutil.copytree(database, copy)
        argv = ["ldb", f"--db={copy}", "--try_load_options", "--hex", "scan"]
        with subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as ran:
            assert ran.stdout
            keys = total = 0
            for line in ran.stdout:
                # `KEY : VALUE` of 7.8, `KEY ==> VALUE` of 8.7 and later.
                key, sign, rest = line.strip().partition(" ")
                sign, _, value = rest.partition(" ")
                if sign in (":", "==>"):
                    keys += 1
                    total += (len(key.removeprefix("0x")) + len(value.removeprefix("0x"))) // 2
        if ran.returncode:
            raise RuntimeError(f"ldb ended with {ran.returncode}")
    return keys, total


def judge(
    load: Load, installed: InstalledDbBench, settings: Settings, *, num: int
) -> dict[str, Any]:
    """One run: what it tells of space amplification, and what the scan says."""
    workload = load.workload(num)
    library = installed.library_defaults()
    space = load_space("all").at_baseline({**library, **workload.facts()})
    plan = BenchPlan(workload, space, library)
    benchmark = Scanned(DbBench(installed, plan))
    outcome = LocalRunner(benchmark, settings).run({})
    told, untold = outcome.metrics.get("sa"), why_untold(workload)
    right = outcome.metrics["lsm_bytes"] / benchmark.live if benchmark.live else None
    return {
        "load": load.name,
        "benchmarks": list(workload.benchmarks),
        "state": outcome.state.value,
        "failure": outcome.failure,
        "way": "not told" if untold else "counted" if why_counted(workload) else "computed",
        "keys": benchmark.keys,
        "live_bytes": benchmark.live,
        "told": told,
        "scanned": right,
        "off": None if told is None or right is None else told / right - 1,
    }


def page(rows: Sequence[Mapping[str, Any]]) -> str:
    """The table, with how it was measured."""
    about = rows[0]
    worst = max(abs(row["off"]) for row in rows if row["off"] is not None)
    untold = sum(row["off"] is None for row in rows)
    lines = [
        "# Space amplification against a full scan",
        "",
        f"`make prove-space`, {about['date']}, {about['machine']}, RocksDB {about['rocksdb']}: "
        f"every benchmark of db_bench that Rocktune takes, {about['num']:,} keys of 16 B with "
        "values of 400 B, settled, at scale 64; and the shipped quick loads at scale "
        f"{_QUICK_SCALE}, a quarter of their size. What a trial tells as `sa` is compared with "
        "its live bytes over the bytes of all live keys and values, which RocksDB's `ldb scan` "
        "printed one by one.",
        "",
        f"Worst difference: {worst:.2%} of {len(rows) - untold} loads; not told: {untold}.",
        "",
        "| load | how | live keys | `sa` told | `sa` scanned | difference |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for row in rows:
        told, right = (
            "-" if row[name] is None else f"{row[name]:.4f}" for name in ("told", "scanned")
        )
        off = "-" if row["off"] is None else f"{row['off']:+.2%}"
        cells = (row["load"], row["way"], f"{row['keys']:,}", told, right, off)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str]) -> int:
    """Makes the runs that are missing, writes the page; 1 where one is off by more than 2%."""
    parser = argparse.ArgumentParser(prog="make prove-space ARGS=...", description=__doc__)
    parser.add_argument("--num", type=int, default=40_000, help="keys of each load")
    parser.add_argument("--page", action="store_true", help="write the page alone")
    asked = parser.parse_args(argv)
    rows = {row["load"]: row for row in read_lines(ROWS)}
    if not asked.page:
        settings = load_settings()
        installed = installed_build(None, settings)
        facts = fingerprint(settings.bench_dir)
        about = {
            "date": datetime.now(tz=UTC).date().isoformat(),
            "machine": f"{facts['cores']} cores {facts['cpu']}, {platform.system()}",
            "rocksdb": installed.version,
            "num": asked.num,
        }
        for load in loads(build_version(installed.version)):
            if load.name in rows:
                continue
            row = judge(load, installed, settings, num=asked.num) | about
            append_line(ROWS, row)
            rows[load.name] = row
            print(f"{load.name}: told {row['told']}, scanned {row['scanned']}, {row['failure']}")
    PAGE.write_text(page(list(rows.values())), encoding="utf-8")
    wrong = [row for row in rows.values() if row["off"] is not None and abs(row["off"]) > MOST_OFF]
    failed = [row for row in rows.values() if row["state"] != "done"]
    return 1 if wrong or failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
