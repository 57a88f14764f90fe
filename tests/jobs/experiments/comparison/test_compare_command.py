"""`rocktune compare` with the real db_bench."""

import csv
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs.experiments.experiment import RUNS
from sampler.rocksdb.options_file import TABLE
from tests.support.cli.launched import Zygote
from tests.support.cli.terminal import Desk
from tests.support.sampler.second_builds import build, with_default

pytestmark = [pytest.mark.slow, pytest.mark.db_bench]

Capture = pytest.CaptureFixture[str]
Compare = Callable[..., int]
OUT = "rocktune-compare"
TINY = ("--workload", "tiny.toml", "--rounds", 3)
# The real one, which says on its standard error that it is a later version.
LATER = """\
{ %(program)s "$@" 2>&1 >&3 | sed 's/version 7[.]8/version 7.9/' >&2; } 3>&1
"""


def lines(desk: Desk) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (desk.folder / OUT / RUNS).read_text().splitlines()]


def test_two_configurations_over_two_loads_and_gone_on_with(
    compare: Compare, desk: Desk, capsys: Capture
):
    """Without compression everything written doubles nearly: to the byte, in every run."""
    tiny = (desk.folder / "tiny.toml").read_text()
    (desk.folder / "other.toml").write_text(tiny.replace("tiny", "other"))
    asked = ("default", "compression_type=none", *TINY, "--workload", "other.toml",
             "--metrics", "waf,rate")  # fmt: skip
    assert compare(*asked, "--json") == 0
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    folder = desk.folder / OUT
    assert document == json.loads((folder / "result.json").read_text())
    assert [*document["subjects"]] == ["A", "B"]
    assert document["subjects"]["B"]["values"] == {"compression_type": "none"}
    assert [each["workload"] for each in document["tables"]] == ["tiny", "other"]
    for table in document["tables"]:
        assert [*table["metrics"]] == ["waf", "rate"]
        waf = table["metrics"]["waf"]
        assert waf["low"] > 50
        assert (waf["better"], waf["rounds"]) == ("A", 3)
        assert waf["medians"]["B"] > 1.5 * waf["medians"]["A"]
    assert "worse in waf +" in printed.err
    with (folder / "comparison.csv").open() as file:
        rows = [*csv.DictReader(file)]
    assert [(row["workload"], row["metric"]) for row in rows] == [
        ("tiny", "waf"), ("tiny", "rate"), ("other", "waf"), ("other", "rate"),
    ]  # fmt: skip
    with (folder / "runs.csv").open() as file:
        runs = [*csv.DictReader(file)]
    assert len(runs) == 12
    assert {(run["subject"], run["state"]) for run in runs} == {("A", "done"), ("B", "done")}
    page = (folder / "report.html").read_text()
    assert "plotly.js v" in page
    assert page.count('<script type="application/json">') == 4

    # Interrupted within the last set, in the middle of a line.
    path = folder / RUNS
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:-1]) + whole[-1][:40])
    assert compare(*asked) == 2
    assert "continue with --resume" in capsys.readouterr().err
    assert compare(*asked, "--resume", "--seed", 2) == 2
    assert "different: seed" in capsys.readouterr().err
    assert compare(*asked, "--resume") == 0
    assert "2 runs left of 12" in capsys.readouterr().err
    again = lines(desk)
    assert again[: len(whole) - 1] == [json.loads(line) for line in whole[:-1]]
    assert len(again) == len(whole) + 1


def test_around_a_parameter_of_the_default_where_a_is_left_out(
    compare: Compare, desk: Desk, capsys: Capture
):
    assert compare("--around", "write_buffer_size", *TINY, "--metrics", "time") == 0
    printed = capsys.readouterr().out
    for name, size in (("as-is", "64"), ("half", "32"), ("double", "128")):
        assert f"{name}: write_buffer_size = {size} MiB in the library's defaults" in printed
    assert "half against as-is" in printed
    assert "double against as-is" in printed
    document = json.loads((desk.folder / OUT / "result.json").read_text())
    assert document["around"] == "write_buffer_size"
    assert len(lines(desk)) == 1 + 9


def test_around_what_the_guide_works_out_for_each_load(
    compare: Compare, desk: Desk, capsys: Capture
):
    tiny = (desk.folder / "tiny.toml").read_text()
    (desk.folder / "few.toml").write_text(tiny.replace("tiny", "few").replace("4000", "500"))
    asked = ("guide:12", "--around", "max_background_jobs", *TINY, "--workload", "few.toml")
    assert compare(*asked, "--metrics", "waf") == 0
    what = "in KIOXIA's tuning guide for 12 CPU threads"
    assert f"half: max_background_jobs = 6 {what}" in capsys.readouterr().out
    document = json.loads((desk.folder / OUT / "result.json").read_text())
    for name, jobs in (("as-is", 12), ("half", 6), ("double", 24)):
        found = document["subjects"][name]["by_workload"]
        assert [*found] == ["tiny", "few"]
        assert {each["max_background_jobs"] for each in found.values()} == {jobs}
        assert found["tiny"]["write_buffer_size"] != found["few"]["write_buffer_size"]
    for run in lines(desk)[1:]:
        each = document["subjects"][run["side"]]["by_workload"][run["case"]]
        memtables = each["write_buffer_size"] * each["max_write_buffer_number"]
        assert run["metrics"]["memory"] == memtables + 8 * 2**20
    assert "[few]\nwrite_buffer_size = " in (desk.folder / OUT / "report.html").read_text()


def test_two_builds_with_their_own_defaults(compare: Compare, desk: Desk, capsys: Capture):
    new = with_default(desk.folder, "new", "compression", "kNoCompression")
    assert compare("default", new, *TINY, "--metrics", "waf") == 0
    printed = capsys.readouterr()
    assert f"B: the library's defaults; RocksDB 7.8.3, {new}" in printed.out
    load = (
        "tiny: fillseq (num 4,000, 1 thread); keys of 16 B, values of 1,024 B, settle flush, "
        "scale 64"
    )
    assert load in printed.out.splitlines()
    assert "different versions" not in printed.err
    document = json.loads((desk.folder / OUT / "result.json").read_text())
    assert document["tables"][0]["metrics"]["waf"]["better"] == "A"
    page = (desk.folder / OUT / "report.html").read_text()
    assert f"{load}." in page and "different versions" not in page


def test_another_version_is_said_before_the_first_run(
    compare: Compare, desk: Desk, capsys: Capture
):
    later = build(desk.folder, "later", last=LATER)
    assert compare("default", later, *TINY, "--metrics", "waf") == 0
    printed = capsys.readouterr()
    assert f"B: the library's defaults; RocksDB 7.9.3, {later}" in printed.out
    caution = "They run different versions of RocksDB (A 7.8.3, B 7.9.3)"
    document = json.loads((desk.folder / OUT / "result.json").read_text())
    assert any(caution in each for each in document["cautions"])
    assert caution in " ".join(printed.err.split())


def test_one_that_never_ends_well_is_a_failure(compare: Compare, desk: Desk, capsys: Capture):
    body = 'case "$*" in *--num=4000*) echo "put error: no luck" >&2; exit 1;; esac\n'
    bad = build(desk.folder, "bad", body)
    assert compare("default", "default", "--db-bench-b", bad, *TINY) == 1
    said = capsys.readouterr().out
    assert "B failed in 3 of 3 runs: put error: no luck" in said
    assert "too few rounds succeeded" in said


def test_interrupted_it_keeps_what_was_measured_and_leaves_nothing_running(
    desk: Desk, zygote: Zygote
):
    """By a signal in B's second run; real processes."""
    count, fifo = desk.folder / "count", desk.folder / "fifo"
    os.mkfifo(fifo)
    body = (
        f'case "$*" in *--num=4000*) echo >> {count};\n'
        f'[ "$(wc -l < {count})" = 2 ] && {{ echo here > {fifo}; exec sleep 600; }} ;; esac\n'
    )
    slow = build(desk.folder, "slow", body)
    pid = zygote.start(desk, "compare", "default", slow, *TINY)
    fifo.read_text()
    os.kill(pid, signal.SIGTERM)
    assert zygote.wait(pid) == 130
    said = (desk.folder / "log").read_text()
    assert "Continue with the same command and --resume" in said.splitlines()[-1]
    assert len(lines(desk)) >= 3
    assert [*desk.bench.glob("trial-*")] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "B: give either B, or a parameter in --around"),
        (("default",), "B: give either B, or a parameter in --around"),
        (("guide:0", "default"), "A: 'guide:0' has no number of threads"),
        (
            ("default", "default", "--around", "block_size"),
            "B: give either B, or a parameter in --around",
        ),
        (("default", "--around", "nix"), "--around: there is no parameter 'nix'"),
        (("default", "default", "--rounds", 2), "--rounds: 2 is below the minimum of 3"),
        (("default", "default", "--seed", -1), "--seed: -1 is below the minimum of 0"),
        (("default", "default", "--scale", 0), "--scale: 0 is below the minimum of 1"),
        (("default", "default", "--scale", 4096), "A: at the scale 4096 of load-quick, a write"),
        (("default", "default", "--metrics", "nix"), "--metrics: there is no 'nix'"),
        (
            ("default", "default", "--workload", "external"),
            "--workload: external does not run db_bench",
        ),
        (("default", "default", *2 * ("--workload", "load")), "--workload: load is named twice"),
        (("nix", "default"), "A: 'nix' is neither default"),
        (("default", "default", "--db-bench-b", "nix"), "B: there is no build 'nix'"),
        (("default", "job:7"), "B: there is no job 7"),
        (("default", "wrong"), "B: RocksDB 7.8.3 does not know nix. --drop-unknown"),
        (("default", "default", "--out", "tiny.toml"), "--out: cannot write to 'tiny.toml'"),
    ],
)
def test_bad_input_is_one_line_that_names_the_field(
    compare: Compare, desk: Desk, capsys: Capture, arguments: tuple[object, ...], said: str
):
    Path(desk.folder / "wrong").write_text('[DBOptions]\n  nix=1\n[CFOptions "default"]\n')
    assert compare(*arguments) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"rocktune: {said}")


def test_a_filter_without_bits_is_compared_with_its_like_alone(
    compare: Compare, desk: Desk, capsys: Capture
):
    """Beside another filter it would be measured as none, and the other proven better."""
    text = f'[DBOptions]\n[CFOptions "default"]\n[{TABLE}]\n  filter_policy=bloomfilter\n'
    (desk.folder / "OPTIONS").write_text(text)
    (desk.folder / "mine").write_text(text + "  block_size=8192\n")
    assert compare("default", "./OPTIONS", "--workload", "tiny.toml") == 2
    (*_, line) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"rocktune: B: [{TABLE}] filter_policy (line 4) = bloomfilter does not")
    assert "Write filter_policy=bloomfilter:10:false with your bits" in line
    assert compare("./OPTIONS", "./mine", *TINY) in (0, 3)
    assert "nothing is filtered while measuring" in capsys.readouterr().err


TWO = '[DBOptions]\n[CFOptions "default"]\n  num_levels=5\n[CFOptions "blocks"]\n  num_levels=4\n'


def test_another_column_family_is_another_comparison(
    compare: Compare, desk: Desk, capsys: Capture
):
    (desk.folder / "OPTIONS").write_text(TWO)
    asked = ("default", "./OPTIONS", *TINY, "--metrics", "waf")
    assert compare(*asked, "--column-family", "blocks") == 0
    printed = capsys.readouterr()
    assert "B: column families default: not measured; only blocks is" in printed.err
    assert "B: the OPTIONS file OPTIONS, column family blocks; RocksDB" in printed.out
    document = json.loads((desk.folder / OUT / "result.json").read_text())
    assert document["subjects"]["B"]["column_family"] == "blocks"
    assert document["subjects"]["A"]["column_family"] is None
    assert compare(*asked, "--column-family", "blocks", "--resume") == 0
    assert "0 runs left of 6" in capsys.readouterr().err
    assert compare(*asked, "--resume") == 2
    assert "different: B" in capsys.readouterr().err
    assert compare(*asked, "--column-family", "block") == 2
    assert "no column family 'block'; it has default, blocks" in capsys.readouterr().err
    assert compare("default", "num_levels=4", "--column-family", "blocks") == 2
    assert "needs an OPTIONS file as A or B for 'blocks'" in capsys.readouterr().err
