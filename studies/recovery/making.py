"""Makes a database of a known load, keeps its LOG, OPTIONS and trace, and reads its profile."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from sampler.bench.bench_plan import flag_arguments
from sampler.bench.builds import program_of
from sampler.bench.output import parse_tickers
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from sampler.machine.machine import fingerprint
from sampler.profile.profile import DatabaseProfile
from sampler.profile.reading import read_profile
from sampler.profile.trace import read_trace_profile
from studies.recovery.known_load import KnownLoad, trace_truth_of, truth_of

_HOST = ("cpu", "cores", "memory_bytes", "file_system", "system")
_TOLD = ("key_size", "compression_ratio", "overwrite_share")
_WRITTEN = ("flush.write.bytes", "compact.write.bytes")  # blob files among them
STATISTICS = "statistics.txt"  # RocksDB's own counters at the end, kept beside the LOG
_ANSWERS = (0, 3)  # exit statuses of the product's yes and no


def make_database(load: KnownLoad, work: Path, settings: Settings) -> Path:
    """Runs the load unless its folder is there; returns the folder of its LOG and OPTIONS.

    Its tables go; what was recorded stays as ``trace``. The last ``waitforcompaction`` sleeps long
    enough for RocksDB's last dump of statistics.

    Raises:
        InputError: db_bench is not there or fails.
    """
    kept = work / load.name
    if kept.exists():
        return kept
    work.mkdir(parents=True, exist_ok=True)
    program = program_of(build_of(load, settings), settings)
    with tempfile.TemporaryDirectory(dir=work, prefix=".making-") as folder:
        made, database, trace = (Path(folder) / name for name in ("made", "db", "trace"))
        made.mkdir()
        flags = {
            "benchmarks": ",".join((*load.benchmarks, "waitforcompaction")), "db": str(database),
            "statistics": True, "stats_dump_period_sec": 1, "seed": 42,
            **load.flags, **load.options, **({"trace_file": str(trace)} if load.traced else {}),
        }  # fmt: skip
        command = [str(program), *flag_arguments(flags)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            raise InputError("db_bench", f"{load.name} ended badly: {ended.stderr[-400:]}")
        (made / STATISTICS).write_text(ended.stdout, encoding="utf-8")
        for path in [*database.glob("LOG*"), *database.glob("OPTIONS-*")]:
            shutil.copy2(path, made)
        if load.traced:
            trace.rename(made / "trace")
        made.rename(kept)
    return kept


class Named(Protocol):
    """A load of either kind."""

    @property
    def name(self) -> str:
        """What its folder is called."""


def build_of(load: KnownLoad, settings: Settings) -> str | None:
    """The name of a load's build; None with a word about it where that is not here."""
    try:
        program_of(load.build, settings)
    except InputError as error:
        print(f"{load.name}: the build on PATH takes its place, for {error.problem}", flush=True)
        return None
    return load.build


def recovered(load: KnownLoad, kept: Path, _settings: Settings) -> list[dict[str, Any]]:
    """Rows of what is true of a load and what its profile says: of its LOG, and of its trace."""
    profile = read_profile(kept)
    about = {**about_row(load, kept), "rocksdb": profile.version, "families": load.families}
    true = {**truth_of(load), "waf": amplification(kept)}
    rows = [{"kind": "log", **about, "true": true, "found": found_in(profile)}]
    if load.traced:
        found = found_in(read_trace_profile(kept / "trace"))
        rows.append({"kind": "trace", **about, "true": trace_truth_of(load), "found": found})
    return rows


def amplification(kept: Path) -> float | None:
    """That of the whole database, by RocksDB's own counters; None where they were off."""
    counted = parse_tickers((kept / STATISTICS).read_text(encoding="utf-8"))
    if not counted.get("bytes.written"):
        return None
    return sum(counted[name] for name in _WRITTEN) / counted["bytes.written"]


def about_row(load: Named, folder: Path) -> dict[str, Any]:
    """What every row says: the load, when and where."""
    machine, now = fingerprint(folder), datetime.now(UTC).isoformat(timespec="seconds")
    return {"load": load.name, "ended": now, "host": {name: machine[name] for name in _HOST}}


def found_in(profile: DatabaseProfile) -> dict[str, Any]:
    """The figures of a profile that are compared, by family, and those of all of them."""
    by_family = (Counter(family.operations) for family in profile.families)
    counts = profile.operations or sum(by_family, Counter())
    total = sum(counts.values())
    return {
        "mix": {name: count / total for name, count in counts.items()} if total else None,
        "waf": _amplification(profile),
        "families": {
            family.name: {
                **{name: getattr(family, name) for name in _TOLD},
                "value_size": family.value_size.mean,
                "doubted": dict(family.doubted),
                "read_skew": family.skew.reads,
                "write_skew": family.skew.writes,
            }
            for family in profile.families
        },
    }


def _amplification(profile: DatabaseProfile) -> float | None:
    """That of all families together, each weighed by the bytes that were put into it."""
    total = put = 0.0
    for family in profile.families:
        did = family.operations
        size = family.value_size.mean
        if not any(map(did.get, ("put", "delete", "merge"))):
            continue
        if family.waf is None or size is None or family.key_size is None:
            return None
        bytes_in = (did.get("put", 0.0) + did.get("merge", 0.0)) * (family.key_size + size)
        bytes_in += did.get("delete", 0.0) * family.key_size
        put, total = put + bytes_in, total + family.waf * bytes_in
    return total / put if put else None


def checked(load: KnownLoad, kept: Path, settings: Settings) -> dict[str, Any]:
    """A row of what ``rocktune profile --check`` says of the scaled load beside the database."""
    file = kept.with_name(f"{load.name}.toml")
    asked = ["profile", str(kept), "--check", "--json", "--out", str(file)]
    document = json.loads(rocktune(*asked, "--db-bench", build_of(load, settings) or "default"))
    told = {name: document[name] for name in ("rocksdb_version", "column_family", "fidelity")}
    return {**about_row(load, kept), **told}


def rocktune(*arguments: str) -> str:
    """What the command prints.

    Raises:
        InputError: It failed, and not only with the answer no.
    """
    command = [sys.executable, "-m", "cli.main", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode not in _ANSWERS:
        raise InputError("rocktune", f"{arguments[0]} failed: {ended.stderr[-400:].strip()}")
    return ended.stdout
