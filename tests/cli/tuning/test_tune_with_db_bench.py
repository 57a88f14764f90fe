"""A whole job with the real db_bench."""

import json

import pytest

from sampler.bench.installed import InstalledDbBench, try_options
from sampler.rocksdb.application import FIRST
from sampler.rocksdb.option_values import read_values
from sampler.rocksdb.options_file import parse_options
from sampler.space.space_file import load_space
from sampler.workload.metric_table import READS
from tests.support.cli.terminal import Desk

pytestmark = pytest.mark.slow

# Sequential writes and codecs alone: what is written is the same to the byte in every run.
WORKLOAD = """\
name = "tiny"
benchmarks = ["fillseq"]
num = 10000
scale = 256
settle = "flush"
"""
SPACE = """\
name = "codecs"
[[parameter]]
name = "compression_type"
choices = ["none", "lz4", "zstd"]
[[parameter]]
name = "block_size"
low = 16384
high = 65536
"""


@pytest.mark.db_bench
def test_the_file_that_it_hands_over_is_the_one_it_measured(
    desk: Desk, installed: InstalledDbBench
):
    (desk.folder / "tiny.toml").write_text(WORKLOAD)
    (desk.folder / "codecs.toml").write_text(SPACE)
    ended = desk.run(
        "tune", "--workload", "tiny.toml", "--space", "codecs.toml", "--objective", "sa",
        "--strategy", "lhs", "--trials", 12, "--db", desk.database, "--json",
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    out = desk.folder / "rocktune-out"
    result = json.loads(ended.stdout)
    assert result == json.loads((out / "result.json").read_text())
    assert result["trials"]["total"] == result["trials"]["done"] == 12
    assert result["environment"]["rocksdb"] == installed.version
    best = result["best"]
    assert best["configuration"]["compression_type"] == "zstd"
    assert best["change"]["sa"]["high"] < 0
    # What the winner costs reads is measured unless it is not to be, as in the other walks.
    assert result["verdict"]["change"].keys() >= set(READS)
    assert best["metrics"]["memory"] == result["baseline"]["metrics"]["memory"] == 142606336
    text = (out / "OPTIONS.ini").read_text()
    first, cache, others, trade, proof, tuned, *_ = text.splitlines()
    assert first == f"# {FIRST}"
    assert cache.startswith("# - block cache") and others.startswith("# - whatever else")
    named = result["export"]["application"]
    assert named == ["block cache", "whatever else the program sets in code"]
    assert trade == f"# {result['verdict']['trade']}." and proof.startswith("# Proof: trial ")
    assert trade.startswith("# Better than the baseline: SA -")
    assert tuned.startswith("# Tuned by Rocktune for the workload tiny (settle = flush")
    folder = desk.folder / "tried"
    folder.mkdir()
    tried = try_options(installed.program, text, folder)
    assert tried.options is not None, tried.complaint
    parameters = load_space(str(desk.folder / "codecs.toml")).parameters
    assert read_values(tried.options, parameters) == best["configuration"]
    # Full scale: the memtable is not the measured one, 256 times smaller.
    assert tried.options.get('CFOptions "default"', "write_buffer_size") == "67108864"
    assert "write_buffer_size" not in parse_options(text).sections['CFOptions "default"']
    page = (out / "report.html").read_text()
    assert "compression_type" in page
    assert "live bytes per byte of distinct user data" in page
    assert list(desk.bench.iterdir()) == []
