"""`rocktune upgrade-check` with the real db_bench and builds that differ from it."""

import fcntl
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from jobs.experiments.experiment import RUNS
from sampler.bench.installed import InstalledDbBench
from sampler.rocksdb.options_file import CF
from tests.support.cli.terminal import Desk
from tests.support.sampler.second_builds import build, with_default, without_option

pytestmark = pytest.mark.slow

Capture = pytest.CaptureFixture[str]
Check = Callable[..., int]


@pytest.fixture
def check(here: Check) -> Check:
    """The command in this process, from the desk."""
    return partial(here, "upgrade-check")


def lines(desk: Desk) -> list[dict[str, Any]]:
    text = (desk.folder / "rocktune-upgrade" / RUNS).read_text()
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.db_bench
def test_a_changed_default_is_measured_blamed_and_gone_on_with(
    check: Check, desk: Desk, installed: InstalledDbBench, capsys: Capture
):
    """Without compression everything written doubles nearly: to the byte, in every run."""
    new = with_default(desk.folder, "new", "compression", "kNoCompression")
    asked = ("default", new, "--workload", "tiny.toml", "--pairs", 3)
    assert check(*asked, "--json") == 3
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    kept = desk.folder / "rocktune-upgrade"
    assert document == json.loads((kept / "upgrade.json").read_text())
    (changed,) = document["drift"]["changed"]
    assert (changed["key"], changed["old"], changed["new"]) == (
        "compression", installed.defaults.get(CF, "compression"), "kNoCompression",
    )  # fmt: skip
    defaults, old_defaults = document["cases"]
    waf = defaults["metrics"]["waf"]
    assert waf["worse"]
    assert waf["change"]["low"] > 50
    # One check in forty calls the same defaults changed, by a fraction of 1%.
    assert abs(old_defaults["metrics"]["waf"]["change"]["percent"]) < 5
    cause = "the changed defaults are the cause, as far as these pairs show"
    assert any(cause in each for each in document["verdict"])
    assert document["old"]["digest"] != document["new"]["digest"]
    assert "round 3" in printed.err

    runs = lines(desk)[1:]
    assert len(runs) == 3 * 2 * 2
    assert {each["state"] for each in runs} == {"done"}
    assert check(*asked, "--seed", 2, "--resume") == 2
    assert "different: seed" in capsys.readouterr().err
    assert check(*asked, "--resume") == 3
    printed = capsys.readouterr()
    assert "0 runs left of 12" in printed.err
    assert "WAF" in printed.out


@pytest.mark.db_bench
def test_the_users_file_that_is_refused_is_worse_and_measured_without(
    check: Check, desk: Desk, capsys: Capture
):
    new = without_option(desk.folder, "new", "bytes_per_sync")
    (desk.folder / "OWN").write_text(
        '[DBOptions]\n  bytes_per_sync=1048576\n[CFOptions "default"]\n  num_levels=6\n'
        "  comparator=mine\n"
    )
    asked = ("default", new, "--options", "OWN", "--workload", "tiny.toml")
    assert check(*asked, "--pairs", 0) == 3
    printed = capsys.readouterr().out
    assert "Options only of the old build (1): bytes_per_sync" in printed
    assert "The new build rejects your OPTIONS file because of bytes_per_sync" in printed
    assert "Your OPTIONS file: comparator = mine: left out while measuring" in printed
    assert "Nothing was measured." in printed


@pytest.mark.db_bench
def test_a_file_that_both_take_is_said_to_open(check: Check, desk: Desk, capsys: Capture):
    (desk.folder / "OWN").write_text('[DBOptions]\n[CFOptions "default"]\n  num_levels=6\n')
    asked = ("default", build(desk.folder, "same"), "--options", "OWN", "--pairs", 0)
    assert check(*asked, "--workload", "tiny.toml") == 0
    said = "The new build opens a database with your OPTIONS file, with the same values in effect."
    assert said in capsys.readouterr().out


@pytest.mark.db_bench
def test_of_the_same_build_nothing_is_different(check: Check, desk: Desk, capsys: Capture):
    same = build(desk.folder, "same")
    assert check("default", same, "--workload", "tiny.toml", "--pairs", 0) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        "No default changed.",
        "Nothing was measured.",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nix", "default"), "OLD: there is no build 'nix'; use one of default"),
        (
            ("default", "/nowhere/db_bench"),
            "NEW: '/nowhere/db_bench' is not an executable program",
        ),
        (("default", "/bin/true"), "NEW: /bin/true does not work"),
        (("default", "default", "--pairs", 2), "--pairs: 2 are less than 3"),
        (("default", "default", "--configurations", 101), "--configurations: 101 is above"),
        (("default", "default", "--options", "nix"), "--options: 'nix' is not a readable OPTIONS"),
        (("default", "default", "--workload", "external"), "--workload: does not run db_bench"),
        (("default", "default", "--out", "tiny.toml"), "--out: cannot write to 'tiny.toml'"),
    ],
)
@pytest.mark.db_bench
def test_bad_input_is_one_line_that_names_the_field(
    check: Check, capsys: Capture, arguments: tuple[object, ...], said: str
):
    assert check(*arguments) == 2
    assert capsys.readouterr().err.startswith(f"rocktune: {said}")


@pytest.mark.db_bench
def test_two_checks_do_not_write_to_one_folder(check: Check, desk: Desk, capsys: Capture):
    folder = desk.folder / "rocktune-upgrade"
    folder.mkdir()
    with (folder / RUNS).open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert check("default", "default", "--workload", "tiny.toml", "--pairs", 3) == 2
    assert "--out: 'rocktune-upgrade' is in use" in capsys.readouterr().err


def test_lines_that_are_none_are_not_overwritten(check: Check, desk: Desk, capsys: Capture):
    folder = desk.folder / "rocktune-upgrade"
    folder.mkdir()
    path = Path(folder / RUNS)
    path.write_text("my notes\n")
    asked = ("default", "default", "--workload", "tiny.toml", "--pairs", 3)
    assert check(*asked) == check(*asked, "--resume") == 2
    assert "does not hold JSON lines; move it away" in capsys.readouterr().err
    assert path.read_text() == "my notes\n"
