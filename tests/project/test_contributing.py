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
argv = ["/bin/sh", "-c", "echo '{\\"waf\\": 2.5, \\"sa\\": 1.1, \\"time\\": 3, \\"rate\\": 100, \\"flushed_bytes\\": 4096}'"]
"""  # noqa: E501
TINY = 'name = "tiny"\nbenchmarks = ["fillseq"]\nnum = 4000\nsettle = "flush"\n'
# Prints what a server of the copy answers: arguments are the database, and a path and type each.
READ = """
import json, sys
from fastapi.testclient import TestClient
from api.app import make_app
from db.access.tokens import Role, make_token
from db.connection.engine import make_engine

engine = make_engine(sys.argv[1])
token = make_token(engine, "reader", Role.READ)
client = TestClient(make_app(engine), base_url="http://localhost")
client.headers.update({"Authorization": f"Bearer {token}"})
asked = (each.split() for each in sys.argv[2:])
answers = (client.get(path, headers={"Accept": kind}).raise_for_status() for path, kind in asked)
print(json.dumps([answer.text for answer in answers]))
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
    """The sources with all four changes; what is unchanged need not be compiled again."""
    folder = tmp_path_factory.mktemp("contributed")
    for room in ROOMS:
        shutil.copytree(ROOT / room, folder / room)
    for diff in SHOWN.values():
        apply(diff, folder)
    (folder / "instant.toml").write_text(INSTANT)
    (folder / "tiny.toml").write_text(TINY)
    return folder


def run_python(folder: Path, *arguments: str, status: int = 0) -> str:
    env = environment(folder, PYTHONPATH=str(folder))
    ended = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert ended.returncode == status, ended.stderr
    return ended.stdout


def rocktune(folder: Path, *arguments: str, status: int = 0) -> str:
    return run_python(folder, "-m", "cli.main", *arguments, status=status)


@pytest.fixture(scope="module")
def tuned(copy: Path) -> Path:
    """The files of a job in it; its database is beside them."""
    out = copy / "out"
    rocktune(
        copy, "tune", "--workload=instant.toml", "--strategy=hill", "--trials=24",
        f"--db={copy / 'r.db'}", f"--out={out}",
        status=3,  # of a benchmark that always says the same nothing is proven
    )  # fmt: skip
    return out


def test_each_is_shown_in_under_twenty_lines() -> None:
    assert set(SHOWN) == {"parameter", "workload", "strategy", "metric"}
    assert all(0 < changed(diff) < 20 for diff in SHOWN.values())
    assert changed(SHOWN["metric"]) == 2


@pytest.mark.slow
@pytest.mark.db_bench
def test_a_new_parameter_workload_and_metric_are_measured_and_compared(copy: Path) -> None:
    option = "experimental_mempurge_threshold=0.5"
    asked = ("bench", "--workload=large-values", f"--set={option}")
    found = json.loads(rocktune(copy, *asked, "--json"))
    assert found["metrics"]["flushed_bytes"] > 0
    changed_by_rocksdb = [each for each in found["warnings"] if "in effect" in each]
    assert changed_by_rocksdb == []
    rocktune(ROOT, *asked, status=2)  # nothing of it is there without the changes
    pair = ("compare", "default", option, "--workload=tiny.toml", "--rounds=3", "--json")
    (table,) = json.loads(rocktune(copy, *pair, f"--out={copy / 'compared'}"))["tables"]
    assert table["metrics"]["flushed_bytes"]["unit"] == "B"


@pytest.mark.slow
def test_a_new_strategy_tunes(tuned: Path) -> None:
    assert "a step away from the best" in (tuned / "trials.csv").read_text()


@pytest.mark.slow
def test_a_new_metric_is_shown_wherever_metrics_are(copy: Path, tuned: Path) -> None:
    db = str(copy / "r.db")
    assert "flushed_bytes" in json.loads((tuned / "result.json").read_text())["verdict"]["change"]
    shown = rocktune(copy, "show", "1", "--verbose", f"--db={db}", status=3)
    assert re.search(r"^ *flushed_bytes +4 KiB", shown, re.MULTILINE)
    trials = "/v1/jobs/1/trials"
    asked = ("/jobs/1/won text/html", f"{trials} text/csv", f"{trials} application/x-ndjson")
    page, *exports = json.loads(run_python(copy, "-c", READ, db, *asked).splitlines()[-1])
    assert 'name="weight-flushed_bytes"' in page
    for document in ((tuned / "report.html").read_text(), page):
        assert "bytes that flushes wrote" in document
    assert "flushed_bytes" in (tuned / "trials.csv").read_text().partition("\n")[0]
    assert "flushed_bytes" in exports[0].partition("\n")[0]
    assert json.loads(exports[1].partition("\n")[0])["metrics"]["flushed_bytes"] == 4096
