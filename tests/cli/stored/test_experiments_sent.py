"""`--submit`: experiments that a service measures, with the files that were named."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli.client_scene import Scene
from tests.support.sampler.real_databases import fill

Client = Callable[..., int]
Capture = pytest.CaptureFixture[str]
OPTIONS = (
    "[Version]\n  rocksdb_version=7.8.3\n  options_file_version=1.1\n[DBOptions]\n"
    '[CFOptions "default"]\n  write_buffer_size=33554432\n'
)
SPACE = """\
name = "mine"
[[parameter]]
name = "write_buffer_size"
low = 33554432
high = 134217728
"""
LOAD = 'name = "small"\nnum = 4000\nbenchmarks = ["fillseq"]\nsettle = "flush"\n'


def made(client: Client, service: Scene, capsys: Capture, *arguments: object) -> Any:
    """The document of a job that is not to be run."""
    assert client(*arguments, "--submit", "--json", url=service.url) == 0
    job = json.loads(capsys.readouterr().out)
    assert client("cancel", job["id"], url=service.url) == 0
    capsys.readouterr()
    return job


def test_a_comparison_goes_with_its_files(
    client: Client, service: Scene, tmp_path: Path, capsys: Capture
):
    options, load = tmp_path / "OPTIONS", tmp_path / "small.toml"
    options.write_text(OPTIONS)
    values = "compression_type=none,block_size=16KiB"
    load.write_text(LOAD)
    job = made(client, service, capsys, "compare", options, values, "--workload", load,
               "--workload", "load-quick", "--rounds", 7, "--seed", 3,
               "--metrics", "waf,sa")  # fmt: skip
    assert (job["kind"], job["workload"]) == ("compare", "small, load-quick")
    asked = job["specification"]["asked"]
    mine, other = asked["sides"]
    assert (mine["options"], mine["asked"]) == (OPTIONS, "OPTIONS")
    assert other["values"] == {"compression_type": "none", "block_size": 16384}
    assert (asked["rounds"], asked["seed"], asked["metrics"]) == (7, 3, ["waf", "sa"])
    assert [each["name"] for each in asked["workloads"]] == ["small", "load-quick"]
    assert client("compare", "default", "--around", "block_size", "--submit",
                  url=service.url) == 0  # fmt: skip
    printed = capsys.readouterr().out
    assert "is queued" in printed
    (number,) = re.findall(r"`?rocktune show (\d+)", printed)
    assert client("cancel", number, url=service.url) == 0  # it would be measured for a minute
    capsys.readouterr()
    assert client("jobs", "--kind", "compare", url=service.url) == 0
    assert "default around block_size" in " ".join(capsys.readouterr().out.split())


def test_an_upgrade_check_goes_with_its_file(
    client: Client, service: Scene, tmp_path: Path, capsys: Capture
):
    options = tmp_path / "OPTIONS"
    options.write_text(OPTIONS)
    space = tmp_path / "my.toml"
    space.write_text(SPACE)
    job = made(client, service, capsys, "upgrade-check", "default", "default", "--options",
               options, "--pairs", 3, "--space", space, "--configurations", 2)  # fmt: skip
    asked = job["specification"]["asked"]
    assert asked["specification"]["baseline_options"] == OPTIONS
    assert asked["specification"]["space"]["name"] == "mine"
    assert (asked["pairs"], asked["old"], asked["new"]) == (3, "default", "default")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("compare", "default", "/usr/bin/env"), "B: "),
        (("compare", "default", "default", "--db-bench-b", "/opt/db_bench"), "--db-bench-b: "),
        (("upgrade-check", "default", "/opt/db_bench"), "NEW: "),
        (("explain", "4711"), "there is no job 4711"),
        (("compare", "a", "b", "--out", "there", "--resume", "--db", "x.db"), "--out: "),
        (("upgrade-check", "default", "default", "--resume"), "--resume: is of runs on this"),
        (("explain", "1", "--runs", "3", "--db", "x.db"), "--db: is of runs on this machine"),
        (("profile", "/tmp"), "--submit: works only with --check"),
    ],
)  # fmt: skip
def test_what_cannot_be_sent_is_named(
    client: Client, service: Scene, capsys: Capture, arguments: tuple[str, ...], said: str
):
    assert client(*arguments, "--submit", url=service.url) == 2
    assert said in capsys.readouterr().err


def test_another_file_of_the_name_takes_its_place_only_where_it_is_asked_for(
    client: Client, service: Scene, tmp_path: Path, capsys: Capture
):
    load = tmp_path / "again.toml"
    load.write_text(LOAD.replace("small", "again"))
    compare = ("compare", "default", "--around", "block_size", "--workload", load)
    made(client, service, capsys, *compare)
    load.write_text(LOAD.replace("small", "again").replace("4000", "5000"))
    assert client(*compare, "--submit", url=service.url) == 2
    said = capsys.readouterr().err
    assert said.startswith("rocktune: --workload: 'again' is taken") and "(--replace)" in said
    job = made(client, service, capsys, *compare, "--replace")
    assert job["specification"]["asked"]["workloads"][0]["num"] == 5000
    assert client(*compare, "--replace") == 2
    assert "--replace: replaces a workload of a service" in capsys.readouterr().err


def test_without_a_service_it_is_said(client: Client, capsys: Capture):
    assert client("compare", "default", "guide", "--submit") == 2
    assert "--url: name a service" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.db_bench
def test_a_profile_goes_with_its_workload_and_options(
    client: Client, service: Scene, tmp_path: Path, capsys: Capture
):
    database, load = tmp_path / "my-shop", tmp_path / "my-shop.toml"
    fill(database, "fillrandom", num=20_000)
    job = made(client, service, capsys, "profile", database, "--check", "--out", load)
    assert (job["kind"], job["workload"]) == ("profile-check", "my-shop")
    asked = job["specification"]["asked"]
    assert asked["options"].startswith("#") and "[CFOptions" in asked["options"]
    (family,) = asked["profile"]["families"]
    assert family["table_entries"] > 0 and family["waf"] > 0
    again = ("profile", database, "--check", "--out", load, "--scale", 2)
    load.unlink()
    load.with_suffix(".OPTIONS").unlink()
    assert client(*again, "--submit", url=service.url) == 2
    assert "rocktune: PATH: 'my-shop' is taken" in capsys.readouterr().err
    made(client, service, capsys, *again, "--replace")


@pytest.mark.slow
@pytest.mark.db_bench
def test_what_a_service_measured_is_shown(
    client: Client, service: Scene, tmp_path: Path, capsys: Capture
):
    load = tmp_path / "small.toml"
    load.write_text(LOAD)
    assert client("compare", "default", "compression_type=none", "--workload", load, "--rounds",
                  3, "--metrics", "waf", "--submit", "--json", url=service.url) == 0  # fmt: skip
    job = json.loads(capsys.readouterr().out)["id"]
    assert client("show", job, "--follow", url=service.url) == 0
    printed = capsys.readouterr()
    assert "B against A (95% interval)" in printed.out
    assert "worse in waf +" in printed.out
    assert client("show", job, "--no-follow", url=service.url) == 0
    assert "compare: default against compression_type=none" in capsys.readouterr().out
