"""One whole job through the command line, and its full and its proven file side by side."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jobs.execution.assembly import assemble
from jobs.specification.named_files import specify
from optimizer.confirmation.choice import order_of
from sampler.bench.outcome import TrialState
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from sampler.machine.machine import fingerprint
from studies.study import append_line, read_lines

_HOST = ("cpu", "cores", "memory_bytes", "file_system", "system")
_KEPT = (
    "best", "verdict", "starting_point", "no_trade", "baseline", "power", "trials", "time", "plan",
)  # fmt: skip
_ENDS_WELL = (0, 3)  # something better was proven, nothing was
BASELINE, FULL, PROVEN = "baseline", "full", "proven"


@dataclass(frozen=True)
class Cell:
    """One job of the default strategy."""

    workload: str
    trials: int
    seed: int
    build: str  # its name in ROCKTUNE_BUILDS; empty: the host's own

    @property
    def key(self) -> list[Any]:
        """What it is known by in the file."""
        return [self.workload, self.trials, self.seed, self.build]

    def words(self) -> str:
        """For people, and for the name of its folder."""
        return f"{self.workload} {self.trials} runs seed {self.seed} {self.build or 'system'}"

    def arguments(self, folder: Path) -> list[str]:
        """Of ``rocktune tune``."""
        build = ["--db-bench", self.build] if self.build else []
        return [
            "tune", "--workload", self.workload, "--trials", str(self.trials),
            "--seed", str(self.seed), "--out", str(folder), "--db", str(folder / "trials.db"),
            "--resume", *build,
        ]  # fmt: skip


def run_job(cell: Cell, raw: Path, work: Path) -> None:
    """Runs a job that the file does not hold to its end, and keeps what its result says.

    Raises:
        InputError: The command failed.
    """
    if _rows(raw, "job", cell):
        return
    folder = work / cell.words().replace(" ", "-")
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "cli.main", *cell.arguments(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    (folder / "said.txt").write_text(ended.stdout + ended.stderr, encoding="utf-8")
    if ended.returncode not in _ENDS_WELL:
        raise InputError("rocktune", f"ended with {ended.returncode}: {ended.stderr[-400:]}")
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    append_line(raw, {"kind": "job", "key": cell.key, **kept_of(result), **_about(result)})


def kept_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of result.json that the page reads; figures of single trials are left out."""
    objective = result["job"]["objective"]["name"]
    return {"objective": objective, **{name: result.get(name) for name in _KEPT}}


def measure_sides(cell: Cell, raw: Path, settings: Settings, *, rounds: int) -> None:
    """Measures the defaults, the full winner and the proven one in turn, in blocks.

    Nothing is measured where the job proved nothing or nothing was taken back.
    """
    rows = _rows(raw, "job", cell)
    best = (rows[0].get("best") or {}) if rows else {}
    full = (best.get("fullest") or {}).get("configuration")
    if not best.get("confirmed") or not full or full == best["configuration"]:
        return
    sides = {BASELINE: {}, FULL: full, PROVEN: best["configuration"]}
    there = {(row["round"], row["side"]) for row in _rows(raw, "side", cell)}
    named: dict[str, Any] = {"db_bench": cell.build} if cell.build else {}
    assembly = assemble(specify(workload=cell.workload, **named), settings)
    runner, order = LocalRunner(assembly.benchmark, settings), list(sides)
    for number in range(1, rounds + 1):
        for place in order_of(range(len(order)), number, seed=cell.seed):
            side = order[place]
            if (number, side) in there:
                continue
            outcome = runner.run(sides[side])
            row = {"kind": "side", "key": cell.key, "round": number, "side": side}
            done = outcome.state is TrialState.DONE
            append_line(raw, {**row, "done": done, "metrics": dict(outcome.metrics)})


def _rows(raw: Path, kind: str, cell: Cell) -> list[dict[str, Any]]:
    return [row for row in read_lines(raw) if row["kind"] == kind and row["key"] == cell.key]


def _about(result: Mapping[str, Any]) -> dict[str, Any]:
    machine, environment = fingerprint(Path.cwd()), result["environment"]
    return {
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": {name: machine[name] for name in _HOST} | {"rocksdb": environment["rocksdb"]},
    }
