"""What `tune --like` proves at scale beside what it gains on the full-size load itself."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sampler.bench.settings import Settings
from studies.recovery.known_load import KnownLoad
from studies.recovery.making import about_row, build_of, rocktune

TRIALS = 40  # of each job
ROUNDS = 5  # pairs of runs at full size
METRICS = ("waf", "sa", "time", "rate")
_OWN = ("num", "key_size", "value_size", "compression_ratio")  # fields of a workload, not flags


def transferred(load: KnownLoad, kept: Path, settings: Settings) -> dict[str, Any]:
    """A row of both: tunes a load's folder of LOG and OPTIONS, then runs the load itself.

    It runs at full size under the database's own OPTIONS and the winner's, in turn. Both jobs go
    on where they were stopped. Where nothing was proven there is nothing to run.

    Raises:
        InputError: db_bench or Rocktune failed.
    """
    out, build = kept.with_name(f"{load.name}-tuned"), build_of(load, settings) or "default"
    out.mkdir(exist_ok=True)
    rocktune(
        "tune", "--like", str(kept), "--trials", str(TRIALS), "--db-bench", build,
        "--out", str(out), "--db", str(out / "trials.db"), "--resume",
    )  # fmt: skip
    result = json.loads((out / "result.json").read_text(encoding="utf-8"))
    verdict, winner, full = result["verdict"] or {}, out / "OPTIONS.ini", {}
    if winner.exists():
        workload = out / "full-size.toml"
        workload.write_text(full_size(load), encoding="utf-8")
        compared = rocktune(
            "compare", str(out / "OPTIONS.database"), str(winner), "--drop-unknown",
            "--workload", str(workload), "--rounds", str(ROUNDS), "--metrics", ",".join(METRICS),
            "--db-bench-a", build, "--db-bench-b", build,
            "--out", str(out / "full"), "--db", str(out / "trials.db"), "--resume", "--json",
        )  # fmt: skip
        full = json.loads(compared)["tables"][0]["metrics"]
    return {
        **about_row(load, kept), "rocksdb": result["environment"]["rocksdb"],
        "confirmed": bool(verdict.get("confirmed")),
        "proven": _kept(verdict.get("change") or {}), "full": _kept(full),
    }  # fmt: skip


def full_size(load: KnownLoad) -> str:
    """The load that made the database, as a workload file of full size."""
    flags = {name: value for name, value in load.flags.items() if name not in _OWN}
    own = {name: load.flags[name] for name in _OWN if name in load.flags}
    top = {"name": f"{load.name}-full", "benchmarks": list(load.benchmarks), "scale": 1, **own}
    lines = [f"{name} = {json.dumps(value)}" for name, value in top.items()]
    return "\n".join([*lines, "[flags]", *(f"{n} = {json.dumps(v)}" for n, v in flags.items())])


def _kept(changes: Mapping[str, Any]) -> dict[str, Any]:
    parts = ("percent", "low", "high")
    return {n: {part: changes[n][part] for part in parts} for n in METRICS if n in changes}


def transfer_lines(row: Mapping[str, Any]) -> list[list[str]]:
    """Of the page's table: load, RocksDB, whether it was proven, metric, both changes, verdict."""
    sides = [(name, row["proven"].get(name), row["full"].get(name)) for name in METRICS]
    head = [row["load"], row["rocksdb"], "yes" if row["confirmed"] else "no"]
    return [
        [*head, name.upper(), _change(scaled), _change(full), agreement(scaled, full)]
        for name, scaled, full in sides
    ]


def agreement(scaled: Mapping[str, float] | None, full: Mapping[str, float] | None) -> str:
    """Whether two changes agree: ``agrees``, ``same way``, ``other way``, or ``-``."""
    if not scaled or not full:
        return "-"
    if scaled["low"] <= full["high"] and full["low"] <= scaled["high"]:
        return "agrees"
    return "same way" if scaled["percent"] * full["percent"] > 0 else "**other way**"


def _change(change: Mapping[str, float] | None) -> str:
    if not change:
        return "-"
    return f"{change['percent']:+.1f}% [{change['low']:+.1f}, {change['high']:+.1f}]"
