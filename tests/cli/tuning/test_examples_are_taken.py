"""Every `rocktune tune` of README, the guides and `--help` comes to its first trial."""

import re
import shlex
from pathlib import Path

import pytest

from cli.main import main
from cli.options import exits
from cli.tuning import tune
from tests.support import ROOT
from tests.support.sampler.real_databases import fill

GUIDES = {*(ROOT / "docs").rglob("*.md")} - {*(ROOT / "docs/results").rglob("*.md")}
PAGES = "".join(page.read_text() for page in (ROOT / "README.md", *sorted(GUIDES)))
# What they name is not on every machine: files of the reader's own, servers, another RocksDB.
ELSEWHERE = ("/etc/", "/opt/", "postgresql://", "--scheduler", "--db-bench")
SHOWN = re.findall(r"^ *(rocktune tune\b.*)$", PAGES + tune.EXAMPLES, re.MULTILINE)
COMMANDS = sorted({re.split(r" {3,}|#", line)[0].strip() for line in SHOWN})
DATABASE = "/var/lib/mydb"
TWO_FAMILIES = """[Version]
  rocksdb_version=7.8.3
  options_file_version=1.1
[DBOptions]
  max_background_jobs=4
[CFOptions "default"]
[CFOptions "users"]
  num_levels=5
"""
LOAD = 'name = "mydb"\nbenchmarks = ["fillrandom"]\nnum = 100_000\n'
HERE = [each for each in COMMANDS if not any(part in each for part in ELSEWHERE)]


@pytest.mark.db_bench
@pytest.mark.parametrize("command", HERE)
def test_it_comes_to_its_first_trial(command: str, tmp_path: Path, monkeypatch, capsys):
    begun: list[object] = []

    def run_here(*given: object, **_: object) -> None:
        begun.append(given)
        raise KeyboardInterrupt

    monkeypatch.setattr(tune, "run_here", run_here)
    monkeypatch.setattr(exits, "terminate_like_interrupt", lambda: None)
    monkeypatch.setenv("ROCKTUNE_DB", str(tmp_path / "rocktune.db"))
    monkeypatch.setenv("ROCKTUNE_BENCH_DIR", str(tmp_path / "bench"))
    monkeypatch.setenv("ROCKTUNE_LOCK", str(tmp_path / "host.lock"))
    monkeypatch.chdir(tmp_path)
    # The reader's own: files with a family of that name, a workload, and a database.
    Path("OPTIONS").write_text(TWO_FAMILIES, encoding="utf-8")
    Path("mydb.OPTIONS").write_text(TWO_FAMILIES, encoding="utf-8")
    Path("first").mkdir()
    Path("first/OPTIONS.ini").write_text(TWO_FAMILIES, encoding="utf-8")
    for load in ("mydb.toml", "replayed.toml"):
        Path(load).write_text(LOAD, encoding="utf-8")
    if "--like" in command:
        fill(Path("mydb"), "fillrandom", num=60_000, value_size=150)
        command = command.replace("--column-family users", "--column-family default")
    status = main(shlex.split(command.replace(DATABASE, "mydb"))[1:])
    assert (status, len(begun)) == (130, 1), capsys.readouterr().err


def test_there_are_some():
    assert len(HERE) > 10
