"""The Java driver: db_bench's flags and output over RocksJava.

Skipped where it was not made (`make java-driver`: JDK and Maven).
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from cli.main import main
from sampler.bench.builds import JAVA, installed_build
from sampler.bench.installed import InstalledDbBench
from sampler.bench.output import latencies_of, parse_output
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from tests.support import ROOT

DRIVER = ROOT / "drivers" / "java"
SOURCES = sorted((DRIVER / "src" / "rocktune").glob("*.java"))
READERS = """\
name = "readers"
benchmarks = ["readrandom"]
num = 4000
value_size = 800
threads = 4
[flags]
reads = 500
[prepare]
benchmarks = ["fillseq"]
"""
made = pytest.mark.skipif(
    not (DRIVER / "build" / "classes").is_dir() or shutil.which("java") is None,
    reason="the Java driver is not made here: make java-driver",
)


@pytest.fixture(scope="module")
def java() -> InstalledDbBench:
    return installed_build(JAVA, Settings())


def run(folder: Path, *flags: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [DRIVER / "rocksjava-bench", f"--db={folder / 'db'}", *flags],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@made
def test_it_is_a_build_of_the_same_rocksdb(java: InstalledDbBench, installed: InstalledDbBench):
    assert java.version == installed.version
    # The files differ in the order of fields, and in what db_bench's assertions add.
    assert java.library_defaults() == installed.library_defaults()
    assert {"num", "reads", "cache_size", "disable_wal"} <= java.flags <= installed.flags


@made
def test_what_it_prints_is_read_as_db_bench_output(tmp_path: Path):
    benchmarks = "fillseq,readrandom,readseq,readwhilewriting,readrandomwriterandom,overwrite"
    ran = run(tmp_path, f"--benchmarks={benchmarks},flush,waitforcompaction,stats,sstables",
              "--num=2000", "--reads=500", "--threads=3", "--value_size=800", "--statistics=true",
              "--histogram=true", "--cache_size=1048576")  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    output = parse_output(ran.stdout)
    assert [line.name for line in output.lines] == benchmarks.split(",")
    assert [line.operations for line in output.lines] == [6000, 1500, 1500, 1500, 1500, 6000]
    assert all(line.seconds > 0 for line in output.lines)
    assert "readrandom" in ran.stdout and "(1500 of 1500 found)" in ran.stdout
    latencies = latencies_of(x for x in output.lines if x.name in benchmarks.split(","))
    assert {"read_p50", "read_p99", "write_p50", "write_p999"} <= latencies.keys()
    assert latencies["read_p50"] <= latencies["read_p99"]
    writes = output.tickers["bytes.written"]
    assert 12_000 * 816 <= writes < 16_000 * 900  # the batches' heads are in it
    assert output.tickers["flush.write.bytes"] > 0
    assert output.live_bytes is not None
    # Half of each value is repeated, and Snappy finds it; 2,000 keys are left.
    assert 0.3 < output.live_bytes / (2000 * 816) < 0.8
    assert "capacity: 1.00 MB" in ran.stdout


@made
def test_a_writer_beside_readers_is_held_back(tmp_path: Path):
    limit = "--benchmark_write_rate_limit=81600"
    ran = run(tmp_path, "--benchmarks=fillseq,readwhilewriting", "--num=2000", "--reads=20000",
              limit, "--value_size=800", "--statistics=true")  # fmt: skip
    output = parse_output(ran.stdout)
    written = output.tickers["number.keys.written"] - 2000
    # 100 a second; without a limit it would be some hundred thousand.
    assert 0 < written <= 100 * (output.lines[1].seconds + 1)


@made
def test_an_existing_database_stays(tmp_path: Path):
    assert run(tmp_path, "--num=1000").returncode == 0
    flags = ("--num=1000", "--reads=300", "--benchmarks=readrandom")
    assert "(300 of 300 found)" in run(tmp_path, *flags, "--use_existing_db=true").stdout
    assert "(0 of 300 found)" in run(tmp_path, *flags).stdout


@made
@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--nix=1"], "ERROR: unknown command line flag 'nix'"),
        (["--num=many"], "ERROR: illegal value 'many' specified for flag 'num'"),
        (["--benchmarks=nix"], "ERROR: unknown benchmark 'nix'"),
        (["--options_file=/nowhere"], "/nowhere"),
    ],
)
def test_what_it_does_not_know_it_refuses(tmp_path: Path, flags: list[str], said: str):
    ran = run(tmp_path, *flags)
    assert ran.returncode == 1
    assert said in ran.stderr


@made
@pytest.mark.db_bench
def test_java_against_cpp_on_a_tiny_load(compare, desk, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """What RocksDB itself counts must be the same, whoever calls it."""
    assert compare("rocksjava", "java:rocksjava", "--workload", "tiny.toml", "--rounds", 3,
                   "--metrics", "waf,sa,rate") == 0  # fmt: skip
    printed = capsys.readouterr()
    assert "B: the starting point rocksjava; RocksDB 7.8.3," in printed.out
    rows = (desk.folder / "rocktune-compare" / "comparison.csv").read_text().splitlines()
    waf, sa = (row.split(",") for row in rows[1:3])
    for row in (waf, sa):
        assert float(row[6]) == pytest.approx(float(row[5]), rel=0.05)


@made
@pytest.mark.db_bench
def test_readers_on_a_database_that_each_language_prepared(compare, desk, capsys):  # type: ignore[no-untyped-def]
    (desk.folder / "readers.toml").write_text(READERS)
    asked = ("rocksjava", "java:rocksjava", "--workload", "readers.toml", "--rounds", 3)
    assert compare(*asked, "--json") == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert table["failed"] == {"A": 0, "B": 0}
    assert {"rate", "read_p99", "sa", "whole_waf"} <= table["metrics"].keys()
    assert abs(table["metrics"]["whole_waf"]["percent"]) < 5


@pytest.mark.skipif(shutil.which("javac") is None, reason="there is no JDK here")
@pytest.mark.skipif(
    not (DRIVER / "build" / "rocksdbjni.jar").is_file(), reason="there is no rocksdbjni jar here"
)
def test_it_compiles_without_a_warning(tmp_path: Path):
    argv = ["javac", "--release", "17", "-Xlint:all", "-Werror", "-d", str(tmp_path),
            "-cp", str(DRIVER / "build" / "rocksdbjni.jar"), *map(str, SOURCES)]  # fmt: skip
    ran = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stderr


def test_where_it_is_not_made_that_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    import sampler.bench.builds

    monkeypatch.setattr(sampler.bench.builds, "__file__", str(tmp_path / "sampler" / "builds.py"))
    with pytest.raises(InputError, match=r"db_bench: the Java driver is not built"):
        installed_build(JAVA, Settings())
    named = Settings(builds="java=/nowhere/rocksjava-bench")
    with pytest.raises(InputError, match=r"ROCKTUNE_BUILDS \(java\): '/nowhere"):
        installed_build(JAVA, named)
    assert main(["starts", "rocksjava"]) == 0
