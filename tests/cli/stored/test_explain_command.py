"""`rocktune explain`: at once by models, then by real runs of the real db_bench."""

import json
import re
from collections.abc import Callable

import pytest

from sampler.bench.installed import InstalledDbBench, try_options
from sampler.rocksdb.options_file import parse_options
from tests.support.cli.terminal import Desk

Client = Callable[..., int]
Capture = pytest.CaptureFixture[str]
# Sequential writes and codecs alone: but for a few bytes, every run writes the same. The other
# parameter never draws its default, so whichever of those equals wins has changed both.
WORKLOAD = """\
name = "tiny"
benchmarks = ["fillseq"]
num = 20000
settle = "flush"
"""
SPACE = """\
name = "codecs"
memory_budget = false
[[parameter]]
name = "compression_type"
choices = ["none", "zstd"]
[[parameter]]
name = "max_background_jobs"
low = 4
high = 16
"""


@pytest.fixture
def tuned(desk: Desk, client: Client, capsys: Capture) -> Desk:
    """A job in which the codec alone matters."""
    (desk.folder / "tiny.toml").write_text(WORKLOAD)
    (desk.folder / "codecs.toml").write_text(SPACE)
    ended = client(
        "tune", "--workload", "tiny.toml", "--space", "codecs.toml", "--objective", "sa",
        "--strategy", "lhs", "--trials", 23, "--db", desk.database, "--no-price", "--verbose",
    )  # fmt: skip
    assert ended == 0
    said = capsys.readouterr().out
    assert re.search(r"compression_type +snappy +zstd +\+\d", said), said
    assert "1 of the 2 changes suffice: compression_type." in said, said
    return desk


@pytest.mark.db_bench
def test_what_matters_is_explained_and_measured(
    tuned: Desk, client: Client, capsys: Capture, installed: InstalledDbBench
):
    db = ("--db", tuned.database)
    best = parse_options((tuned.folder / "rocktune-out" / "OPTIONS.ini").read_text())
    text = (tuned.folder / "rocktune-out" / "OPTIONS.minimal.ini").read_text()
    assert best.get("DBOptions", "max_background_jobs") not in (None, "2")
    assert "max_background_jobs=" not in text
    assert "# As in the baseline: max_background_jobs" in text
    folder = tuned.folder / "tried"
    folder.mkdir()
    assert try_options(installed.program, text, folder).options is not None
    assert client("options", 1, "--minimal", *db) == 0
    assert capsys.readouterr().out == text

    assert client("explain", 1, *db) == 0
    assert "Not measured; to measure the steps: `rocktune explain 1 --" in capsys.readouterr().out
    assert client("explain", 1, "--runs", 3, "--steps", 1, "--margin", "20%", *db) == 0
    printed = capsys.readouterr()
    # The first step is the minimal configuration: it is measured once a round, not twice.
    assert "9 runs: 3 rounds of baseline, step 1, winner" in printed.err
    assert printed.err.count(": done, ") == 9
    assert "Fewest changes, measured: not worse; fitness +" in printed.out
    assert client("explain", 1, "--json", *db) == 0
    measured = json.loads(capsys.readouterr().out)["measured"]
    (step,) = measured["steps"]
    assert step["rounds"] == 3 and step["changes"]["sa"]["high"] < 0
    assert step["fitness"]["low"] > 0
    assert measured["minimal"]["shown"] and measured["minimal"]["compared"]["rounds"] == 3
    assert measured["rocksdb"] == installed.version
    assert client("report", 1, "--out", "r.html", *db) == 0
    page = (tuned.folder / "r.html").read_text()
    assert ">Why it is better</h2>" in page and "Measured: 3 rounds on" in page
    assert list(tuned.bench.iterdir()) == []

    for wrong, field in ((("--runs", 2), "--runs"), (("--runs", 3, "--margin", "x"), "--margin")):
        assert client("explain", 1, *wrong, *db) == 2
        assert f"rocktune: {field}: " in capsys.readouterr().err


@pytest.mark.slow
def test_few_configurations_are_not_explained(desk: Desk, client: Client, capsys: Capture):
    (desk.folder / "tiny.toml").write_text(WORKLOAD)
    (desk.folder / "codecs.toml").write_text(SPACE)
    ended = client(
        "tune", "--workload", "tiny.toml", "--space", "codecs.toml", "--objective", "sa",
        "--strategy", "lhs", "--trials", 12, "--db", desk.database, "--no-price", "--verbose",
    )  # fmt: skip
    assert ended == 0
    said = capsys.readouterr().out
    assert "Explanation withheld: 4 different configurations succeeded" in said, said
    assert "changes suffice" not in said and "Predicted by models" not in said
    assert not (desk.folder / "rocktune-out" / "OPTIONS.minimal.ini").exists()
    assert client("explain", 1, "--db", desk.database) == 3
    told = capsys.readouterr().err
    assert "withheld: 4 different configurations" in told and "needs 10" in told
    assert client("explain", 1, "--runs", 3, "--db", desk.database) == 3
    assert client("options", 1, "--minimal", "--db", desk.database) == 3
