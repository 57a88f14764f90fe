"""`rocktune profile`, as a user types it."""

import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from sampler.profile.profile import OPERATIONS
from sampler.workload.workload_file import load_workload
from tests.support import ROOT
from tests.support.cli.terminal import Desk
from tests.support.sampler.real_databases import fill, fingerprints

CASES = ROOT / "tests/data/cases"
pytestmark = [pytest.mark.slow, pytest.mark.db_bench]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "desk").mkdir()
    return Desk(tmp_path / "desk")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "users-db"
    flags = {"num": 40_000, "value_size": 200, "num_column_families": 2}
    return fill(folder, "fillrandom,overwrite,waitforcompaction", stats_dump_period_sec=1, **flags)


def test_one_object_that_others_may_rely_on(desk: Desk, database: Path):
    ran = desk.run("profile", database, "--json")
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    family = next(each for each in document["families"] if each["name"] == "default")
    assert family["key_size"] == 16 and family["value_size"]["mean"] == 200
    assert set(family["operations"]) == set(OPERATIONS)
    assert sum(filter(None, family["operations"].values())) == pytest.approx(1)
    assert family["compression_ratio"] == pytest.approx(0.5, rel=0.05)
    assert 0.4 < family["overwrite_share"] < 0.7 and family["waf"] > 0.5
    assert {"level", "files", "bytes"} <= family["levels"][0].keys()
    assert document["column_family"] in ("default", "column_family_name_000001")
    assert document["workload"] == "users-db.toml"
    assert all({"what", "how to learn it"} == each.keys() for each in document["unknown"])
    assert any("other column families" in each for each in document["not_expressed"])
    load = load_workload(str(desk.folder / "users-db.toml"))
    assert (load.key_size, load.value_size) == (16, 200)
    assert (desk.folder / "users-db.OPTIONS").read_text().count("[CFOptions") == 2


def test_nothing_is_written_into_a_database_and_a_read_only_mount_is_enough(
    desk: Desk, database: Path
):
    mount = ["unshare", "--mount", "sh", "-c"]
    script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    probe = [*mount, script, str(database), "true"]
    if shutil.which("unshare") is None or subprocess.run(probe, capture_output=True).returncode:
        pytest.skip("this user cannot mount")
    before = fingerprints(database)
    ran = desk.run("profile", database, before=[*mount, script, str(database)])
    assert ran.returncode == 0, ran.stderr
    assert fingerprints(database) == before
    inside = desk.run("profile", database, "--out", database / "load.toml")
    assert inside.returncode == 2 and "is in the database's folder" in inside.stderr
    assert fingerprints(database) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing"], "does not exist; give a database folder or its LOG"),
        (["{empty}"], "LOG"),
        (["{garbage}"], "is not a RocksDB LOG"),
        (["{db}", "--column-family", "users"], "there is no 'users'; choose one of default"),
        (["{db}", "--replay"], "is not a trace"),
        (["{cases}/09-rocksdb-own-example-4.3/OPTIONS.ini"], "is an OPTIONS file; give the LOG"),
    ],
)
def test_bad_input_is_one_clear_line(desk: Desk, database: Path, arguments: list[str], said: str):
    garbage, empty = desk.folder / "garbage", desk.folder / "empty"
    garbage.write_bytes(random.Random(1).randbytes(3 * 2**20))
    empty.mkdir()
    places = {"empty": empty, "garbage": garbage, "db": database, "cases": CASES}
    ran = desk.run("profile", *(each.format(**places) for each in arguments))
    assert ran.returncode == 2, (ran.stdout, ran.stderr)
    assert said in ran.stderr
    assert len(ran.stderr.strip().splitlines()) <= 3
    assert not list(desk.folder.glob("*.toml"))


def test_tune_like_refuses_what_contradicts_it(desk: Desk, database: Path):
    for option, value in (("--workload", "load"), ("--baseline", "library")):
        ran = desk.run("tune", "--like", database, option, value, "--out", desk.out)
        assert ran.returncode == 2
        assert f"{option}: comes from the database with --like" in ran.stderr


def test_a_trace_is_profiled_and_replayed(desk: Desk, tmp_path: Path):
    trace = tmp_path / "monday.trace"
    flags = {"num": 20_000, "value_size": 200, "readwritepercent": 50, "trace_file": trace}
    fill(tmp_path / "db", "fillrandom,readrandomwriterandom", **flags)
    ran = desk.run("profile", trace, "--replay", "--check", "--json")
    document = json.loads(ran.stdout)
    operations = document["families"][0]["operations"]
    assert operations["get"] == pytest.approx(operations["put"], abs=0.03)
    load = load_workload(str(desk.folder / "monday.toml"))
    assert (desk.folder / "monday.toml").stat().st_mode & 0o777 == 0o600
    assert load.trace is not None and load.trace.path == str(trace)
    rows = {row["what"]: row for row in document["fidelity"]["rows"]}
    share = rows["gets of all operations"]
    assert share["load"] == pytest.approx(share["database"], abs=0.03)
