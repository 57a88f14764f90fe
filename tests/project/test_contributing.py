"""The changes that CONTRIBUTING.md shows work as they stand there, and are as small as it says."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.api.processes import environment

ROOMS = ("sampler", "models", "optimizer", "db", "jobs", "api", "cli")
DIFF = re.compile(r"## A (\w+)\n.*?```diff\n(.*?)```", re.DOTALL)
SHOWN = dict(DIFF.findall((ROOT / "CONTRIBUTING.md").read_text()))
# Two runs of it cost nothing: a benchmark that is a shell.
INSTANT = """
name = "instant"
[command]
argv = ["/bin/sh", "-c", "echo '{\\"waf\\": 2.5, \\"sa\\": 1.1, \\"time\\": 3, \\"rate\\": 100}'"]
"""


def changed(diff: str) -> int:
    return sum(bool(re.match(r"[+-](?![+-]{2} )", line)) for line in diff.splitlines())


def apply(diff: str, folder: Path) -> None:
    """Changes files as a diff says, wherever in them its lines stand.

    A part is a file (``+++ PATH``) and hunks with ``@@`` between them. The lines of a hunk that
    are not added stand once in the file; where there are none, the file is new.
    """
    for part in re.split(r"^\+\+\+ ", diff, flags=re.MULTILINE)[1:]:
        name, _, hunks = part.partition("\n")
        path = folder / name
        for hunk in re.split(r"^@@\n", hunks, flags=re.MULTILINE):
            lines = hunk.splitlines(keepends=True)
            before = "".join(line[1:] for line in lines if line[0] != "+")
            after = "".join(line[1:] for line in lines if line[0] != "-")
            text = path.read_text() if before else ""
            assert path.exists() == bool(before), name
            assert text.count(before) == 1, f"{name}: {before!r} stands {text.count(before)} times"
            path.write_text(text.replace(before, after))


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources with all four changes."""
    folder = tmp_path_factory.mktemp("contributed")
    for room in ROOMS:
        left_out = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / room, folder / room, ignore=left_out)
    for diff in SHOWN.values():
        apply(diff, folder)
    return folder


def rocktune(folder: Path, *arguments: str, status: int = 0) -> str:
    env = environment(folder, PYTHONPATH=str(folder), PYTHONDONTWRITEBYTECODE="1")
    ended = subprocess.run(
        [sys.executable, "-m", "cli.main", *arguments],
        cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert ended.returncode == status, ended.stderr
    return ended.stdout


def test_each_is_shown_in_under_twenty_lines() -> None:
    assert set(SHOWN) == {"parameter", "workload", "strategy", "metric"}
    assert all(0 < changed(diff) < 20 for diff in SHOWN.values())


@pytest.mark.slow
@pytest.mark.db_bench
def test_a_new_parameter_workload_and_metric_are_measured(copy: Path) -> None:
    asked = ("bench", "--workload=large-values", "--set=experimental_mempurge_threshold=0.5")
    found = json.loads(rocktune(copy, *asked, "--json"))
    assert found["metrics"]["flushed_bytes"] > 0
    changed_by_rocksdb = [each for each in found["warnings"] if "in effect" in each]
    assert changed_by_rocksdb == []
    rocktune(ROOT, *asked, status=2)  # nothing of it is there without the changes


@pytest.mark.slow
def test_a_new_strategy_tunes(copy: Path, tmp_path: Path) -> None:
    workload = tmp_path / "instant.toml"
    workload.write_text(INSTANT)
    out = tmp_path / "out"
    rocktune(
        copy, "tune", f"--workload={workload}", "--strategy=hill", "--trials=40",
        f"--db={tmp_path / 'r.db'}", f"--out={out}",
        status=3,  # of a benchmark that always says the same nothing is proven
    )  # fmt: skip
    rows = (out / "trials.csv").read_text()
    assert "a step away from the best" in rows
