"""`--column-family` at the terminal: tune, bench and upgrade-check."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sampler.bench.installed import InstalledDbBench, try_options
from sampler.rocksdb.forms import read_user_options
from sampler.rocksdb.options_file import CF
from tests.support import DATA
from tests.support.cli.terminal import Desk
from tests.support.jobs.instant import write_space, write_workload

Here = Callable[..., int]
Capture = pytest.CaptureFixture[str]
WORKLOAD = 'name = "tiny"\nbenchmarks = ["fillseq"]\nnum = 40000\nsettle = "flush"\n'
SPACE = 'name = "codecs"\n[[parameter]]\nname = "compression_type"\nchoices = ["lz4", "zstd"]\n'
TWO = (
    '[DBOptions]\n[CFOptions "default"]\n  num_levels=5\n'
    '[CFOptions "blocks"]\n  num_levels=4\n  comparator=app.Order\n'
)


@pytest.fixture
def file(desk: Desk) -> Path:
    path = desk.folder / "OPTIONS"
    path.write_text(TWO)
    return path


@pytest.mark.slow
@pytest.mark.db_bench
def test_the_file_comes_back_with_that_family_changed_alone(
    desk: Desk, installed: InstalledDbBench
):
    """A public file, whose family has a second one beside it that compresses nothing."""
    first = (DATA / "cases/05-study-5.17-options/OPTIONS").read_text()
    second = (DATA / "cases/04-ardb-custom-comparator-5.14/OPTIONS").read_text()
    second = second[second.index("[CFOptions") :].replace('"default"', '"ardb"')
    second = second.replace("compression=kSnappyCompression", "compression=kNoCompression")
    own = f"{first}\n{second}".replace("\n", "\r\n")
    (desk.folder / "OPTIONS").write_bytes(own.encode())
    (desk.folder / "tiny.toml").write_text(WORKLOAD)
    (desk.folder / "codecs.toml").write_text(SPACE)
    ended = desk.run(
        "tune", "--workload", "tiny.toml", "--space", "codecs.toml", "--objective", "sa",
        "--strategy", "lhs", "--trials", 12, "--db", desk.database, "--baseline", "OPTIONS",
        "--column-family", "ardb", "--no-price", "--json",
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    said = " ".join(ended.stderr.split())
    assert "column families default: not measured; only ardb is" in said
    assert "comparator = ardb.comparator: left out while measuring" in said
    out = desk.folder / "rocktune-out"
    text = (out / "OPTIONS.ini").read_bytes().decode()
    codec = json.loads(ended.stdout)["best"]["configuration"]["compression_type"]
    written = {"zstd": "kZSTD", "lz4": "kLZ4Compression"}[codec]
    start = own.index('[CFOptions "ardb"]')
    told = "  # Rocktune: was kNoCompression\r\n"
    changed = own[start:].replace(
        "  compression=kNoCompression\r\n", f"{told}  compression={written}\r\n"
    )
    assert changed != own[start:]
    assert text.endswith(own[:start] + changed)
    assert "\r\n+  compression=" in (out / "OPTIONS.diff").read_bytes().decode()
    assert "OPTIONS.diff" in ended.stderr
    view = read_user_options(text, family="ardb").without(CF, ["comparator"])
    assert try_options(installed.program, view).options is not None


@pytest.mark.slow
def test_another_family_is_not_the_job_that_is_resumed(
    desk: Desk, here: Here, file: Path, capfd: Capture
):
    workload, space = write_workload(desk.folder), write_space(desk.folder)

    def said(*more: object) -> str:
        code = here("tune", "--workload", workload, "--space", space, "--objective", "waf",
                    "--strategy", "random", "--trials", 14, "--db", desk.database,
                    "--out", desk.out, "--baseline", file, *more)  # fmt: skip
        assert code in (0, 3)
        return capfd.readouterr().err

    assert "job 1, results in" in said("--column-family", "blocks")
    assert "job 1 is already done" in said("--column-family", "blocks", "--resume")
    assert "job 2, results in" in said("--column-family", "default", "--resume")


@pytest.mark.db_bench
def test_bench_measures_the_named_family(desk: Desk, here: Here, file: Path, capfd: Capture):
    (desk.folder / "tiny.toml").write_text(WORKLOAD.replace("40000", "400"))
    asked = ["bench", "--workload", desk.folder / "tiny.toml", "--baseline", file]
    assert here(*asked, "--column-family", "blocks") == 0
    said = " ".join(capfd.readouterr().err.split())
    assert "warning: column families default: not measured; only blocks is" in said
    assert "comparator = app.Order: left out while measuring" in said
    assert here(*asked, "--column-family", "block") == 2
    assert "no column family 'block'; it has default, blocks" in capfd.readouterr().err
    assert here(*asked[:3], "--column-family", "blocks") == 2
    assert "--column-family: needs an OPTIONS file for 'blocks'" in capfd.readouterr().err


@pytest.mark.db_bench
def test_upgrade_check_tries_the_named_family(
    desk: Desk, here: Here, file: Path, installed: InstalledDbBench, capfd: Capture
):
    file.write_text(TWO.replace("num_levels=5", "no_such_option=5"))
    asked = ["upgrade-check", "default", installed.program, "--pairs", 0, "--options", file]
    assert here(*asked, "--column-family", "blocks", "--out", desk.out) == 0
    assert "only blocks is" in " ".join(capfd.readouterr().out.split())
    assert here(*asked, "--out", desk.out) == 2
    assert "no_such_option" in capfd.readouterr().err
