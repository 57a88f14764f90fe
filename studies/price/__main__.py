"""Tunes ten times with the real db_bench and tells the price: `make prove-price`.

Run with ``make prove-price ARGS="--trials 60"``, alone on the machine: an hour. It may be stopped
at any time; called again it goes on. ``--page`` measures nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sampler.common.errors import InputError
from studies.arguments import make_command
from studies.json_lines import append_line, read_lines
from studies.price.page import page

RAW = Path("docs/results/price.jsonl")
LIMIT = "scan_short >= 0.8 baseline"
_PROVEN, _NOT_PROVEN = 0, 3  # exit statuses of `rocktune tune`


@dataclass(frozen=True)
class Case:
    """One job of `rocktune tune`."""

    workload: str
    objective: str = "paper"
    seed: int = 1
    limit: str | None = None

    @property
    def name(self) -> str:
        """What tells it from the others."""
        kept = ", limited" if self.limit else ""
        return f"{Path(self.workload).stem}, {self.objective}, seed {self.seed}{kept}"

    def arguments(self, trials: int) -> list[str]:
        """Of `rocktune tune`."""
        return [
            *("--workload", self.workload, "--objective", self.objective),
            *("--seed", str(self.seed), "--trials", str(trials)),
            *(("--limit", self.limit) if self.limit else ()),
        ]


CASES = (
    Case("load-quick"),
    Case("load-quick", limit=LIMIT),
    Case("load-quick", seed=2),
    Case("load-quick", "waf"),
    Case("load-quick", "waf", limit=LIMIT),
    Case("overwrite-quick"),
    Case("overwrite-quick", limit=LIMIT),
    Case("mixed-quick"),
    Case("mixed-quick", limit=LIMIT),
    Case("readwhilewriting-quick", "reading"),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the jobs that are missing, and writes the page from all that is there."""
    given = _parser().parse_args(arguments)
    cases = [Case(given.workload), Case(given.workload, limit=LIMIT)] if given.workload else CASES
    try:
        if not given.page:
            for case in cases:
                run(case, given)
        rows = read_lines(given.raw)
        if not rows:
            sys.exit(f"{given.raw} holds nothing yet: make prove-price measures")
        text = page(rows, make_command("prove-price", arguments))
        given.raw.with_suffix(".md").write_text(text, encoding="utf-8")
        print(f"{given.raw.with_suffix('.md')}: {len(rows)} jobs")
    except InputError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("stopped; called again it goes on")


def run(case: Case, given: argparse.Namespace) -> None:
    """Runs a job that the raw rows lack, or goes on with one that was stopped.

    Raises:
        InputError: It ended without a result.
    """
    argv = case.arguments(given.trials)
    if any(row["arguments"] == argv for row in read_lines(given.raw)):
        return
    given.raw.parent.mkdir(parents=True, exist_ok=True)
    given.databases.mkdir(parents=True, exist_ok=True)
    database = given.databases.resolve() / "price.db"
    command = [sys.executable, "-m", "cli.main", "tune", *argv, "--json", "--resume"]
    places = ["--db", f"sqlite:///{database}", "--out", str(given.databases / "out")]
    ended = subprocess.run([*command, *places], stdout=subprocess.PIPE, text=True)
    if ended.returncode not in (_PROVEN, _NOT_PROVEN):
        raise InputError(case.name, f"`rocktune tune` ended with {ended.returncode}")
    append_line(given.raw, row_of(case, argv, json.loads(ended.stdout)))
    print(f"{case.name}: done", flush=True)


def row_of(case: Case, argv: Sequence[str], result: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a job."""
    start, best = result["baseline"]["configuration"], (result["best"] or {}).get("configuration")
    changed = None
    if best is not None:
        changed = sum(best.get(n) != start.get(n) for n in {*best, *start})
    environment = result["environment"]
    kept = ("cores", "cpu", "memory_bytes", "file_system", "system", "rocksdb")
    return {
        "case": case.name,
        "limit": case.limit,
        "beside": Case(case.workload, case.objective, case.seed).name,
        "arguments": list(argv),
        "verdict": result["verdict"],
        "changed": changed,
        "runs": result["trials"]["total"],
        "seconds": round(result["time"]["wall_seconds"]),
        "machine": {name: environment.get(name) for name in kept},
        "date": datetime.now(UTC).date().isoformat(),
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="What reads pay for what writes gain.")
    parser.add_argument("--trials", type=int, default=60, help="runs of each job in all")
    parser.add_argument("--workload", help="this one alone, without a limit and with one")
    parser.add_argument("--raw", type=Path, default=RAW, help="what was measured")
    parser.add_argument("--databases", type=Path, default=Path("rocktune-price"))
    parser.add_argument("--page", action="store_true", help="measure nothing")
    return parser


if __name__ == "__main__":
    main()
