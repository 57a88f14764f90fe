"""What is tried with one build, or with a pair of them: a row of the raw results each."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jobs.experiments.option_drift import option_drift
from sampler.bench.builds import build_facts
from sampler.bench.installed import InstalledDbBench
from sampler.common.errors import InputError
from sampler.machine.machine import fingerprint
from sampler.rocksdb.parameters import catalogue
from studies.options.accepted_draws import SPACES, tried_draws
from studies.study import append_line, read_lines

ROOT = Path(__file__).parents[2]
READERS = ("tests/sampler", "tests/jobs/experiments/upgrade", "tests/jobs/report")
_DRAWS_OF_A_ROW = 100
_MACHINE = ("cpu", "cores", "system")
_ENDS_WELL = (0, 3)  # of `rocktune tune`: something better was proven, nothing was
_COUNTED = re.compile(r"(\d+) (passed|failed|error|skipped)")

Row = Mapping[str, Any]


class Rows:
    """The raw results, which grow; what stands there is not tried again."""

    def __init__(self, path: Path) -> None:
        """Of a file that need not be there yet."""
        self._path = path
        self.all: list[dict[str, Any]] = read_lines(path)

    def of(self, *key: Any) -> list[dict[str, Any]]:
        """Rows whose key begins like that."""
        return [row for row in self.all if row["key"][: len(key)] == list(key)]

    def add(self, key: Sequence[Any], found: Mapping[str, Any]) -> None:
        """One more."""
        ended = datetime.now(UTC).isoformat(timespec="seconds")
        row = {"key": list(key), **found, "ended": ended}
        append_line(self._path, row)
        self.all.append(row)


def try_build(rows: Rows, installed: InstalledDbBench) -> None:
    """What it says of itself, its defaults, and what of the catalogue it lacks."""
    key = ("build", installed.version)
    if not rows.of(*key):
        facts = build_facts(installed.program)
        machine = fingerprint(Path.cwd())
        rows.add(key, {
            "assertions": facts.assertions,
            "codecs": list(facts.codecs),
            "flags": len(installed.flags),
            "options": sum(map(len, installed.defaults.sections.values())),
            "lacks": [n for n, each in catalogue().items() if not installed.knows(each)],
            "machine": {name: machine[name] for name in _MACHINE},
        })  # fmt: skip


def try_draws(rows: Rows, installed: InstalledDbBench, count: int) -> Iterator[str]:
    """Draws of each space, opened; says how far it is."""
    for space in SPACES:
        key = ("draws", installed.version, count, space)
        there = {row["key"][-1] for row in rows.of(*key)}
        missing = [first for first in range(0, count, _DRAWS_OF_A_ROW) if first not in there]

        def tried(first: int, space: str = space) -> tuple[int, dict[str, Any]]:
            end = min(first + _DRAWS_OF_A_ROW, count)
            return first, tried_draws(installed, space, count, first, end)

        with ThreadPoolExecutor(os.cpu_count()) as at_once:
            for first, found in at_once.map(tried, missing):
                rows.add((*key, first), found)
                yield f"{space}: {found['draws']} draws more"


def try_readers(rows: Rows, installed: InstalledDbBench) -> None:
    """The readers' tests with a build; those that failed before are run again."""
    key = ("readers", installed.version)
    known = rows.of(*key)
    if not known or known[-1]["failed"]:
        tested = readers_tested(installed)
        rows.add(key, {"counted": tested.counted, "failed": list(tested.failed)})


@dataclass(frozen=True)
class Tested:
    """What became of tests."""

    counted: Mapping[str, int]  # passed, failed, ...
    failed: Sequence[str]  # which; or that pytest itself did not end well
    printed: str  # by pytest


def readers_tested(installed: InstalledDbBench) -> Tested:
    """The tests that run the real db_bench, with this one first on PATH."""
    with tempfile.TemporaryDirectory(prefix="rocktune-build-") as folder:
        for name in ("db_bench", "ldb", "sst_dump"):
            if (program := installed.program.with_name(name)).exists():
                (Path(folder) / name).symlink_to(program)
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "db_bench", *READERS],
            cwd=ROOT,
            env={**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
    printed = ended.stdout + ended.stderr
    last = ended.stdout.rstrip().rpartition("\n")[2]
    counted = {what: int(number) for number, what in _COUNTED.findall(last)}
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", ended.stdout, re.MULTILINE)
    if not failed and (ended.returncode or not counted.get("passed")):
        failed = [f"pytest ended with {ended.returncode}"]
    return Tested(counted, failed, printed)


def try_tune(rows: Rows, installed: InstalledDbBench, trials: int) -> None:
    """`rocktune tune` of the quick load with it, from the command line."""
    key = ("tune", installed.version, trials)
    if rows.of(*key):
        return
    with tempfile.TemporaryDirectory(prefix="rocktune-tune-") as folder:
        command = [
            sys.executable, "-m", "cli.main", "tune", "--workload", "load-quick", "--seed", "1",
            "--trials", str(trials), "--out", folder, "--db", f"{folder}/trials.db",
            "--db-bench", str(installed.program),
        ]  # fmt: skip
        ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
        if ended.returncode not in _ENDS_WELL:
            raise InputError("rocktune tune", f"{ended.returncode}: {ended.stderr[-400:]}")
        result = json.loads((Path(folder) / "result.json").read_text(encoding="utf-8"))
    kept = ("verdict", "baseline", "trials", "time", "starting_point")
    best = result["best"]
    rows.add(key, {
        "best": bool(best),
        "changes": best["changes"] if best else [],
        **{name: result.get(name) for name in kept},
    })  # fmt: skip


def try_pair(rows: Rows, old: InstalledDbBench, new: InstalledDbBench) -> None:
    """What `rocktune upgrade-check OLD NEW --pairs 0` finds between the two."""
    key = ("upgrade", old.version, new.version)
    if rows.of(*key):
        return
    drift = option_drift(old, new)
    rows.add(key, {
        "changed": [[each.section, each.key, each.old, each.new] for each in drift.changed],
        "added": [each.key for each in drift.added],
        "removed": [each.key for each in drift.removed],
        "flags_added": list(drift.flags_added),
        "flags_removed": list(drift.flags_removed),
    })  # fmt: skip
