import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from db.connection.engine import make_engine
from db.connection.migrate import HEAD, current
from optimizer.objective.objective_file import SHIPPED as OBJECTIVES
from optimizer.objective.objective_file import load_objective
from sampler.space.space_file import SHIPPED as SPACES
from sampler.space.space_file import load_space
from sampler.workload.workload_file import SHIPPED as WORKLOADS
from sampler.workload.workload_file import load_workload
from tests.support import ROOT
from tests.support.cli.terminal import Desk
from tests.support.jobs.instant import write_workload

Here = Callable[..., int]
Capture = pytest.CaptureFixture[str]
COMMANDS = ["tune", "bench", "space", "workloads", "objectives", "db upgrade"]
CATALOGUE = [
    *(("space", name, load_space) for name in SPACES),
    *(("workloads", name, load_workload) for name in WORKLOADS),
    *(("objectives", name, load_objective) for name in OBJECTIVES),
]


def test_the_command_itself(here: Here, capsys: Capture):
    assert here("--help") == 0
    printed = capsys.readouterr().out
    for command in COMMANDS:
        assert command.split()[0] in printed
    assert here("--version") == 0
    assert capsys.readouterr().out.startswith("rocktune ")
    assert here("no-such-command") == 2
    assert capsys.readouterr().err.startswith("rocktune: No such command")


def test_it_runs_as_a_module():
    command = [sys.executable, "-m", "cli.main", "--version"]
    root = ROOT
    ran = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("rocktune ")


@pytest.mark.parametrize(
    ("command", "names"),
    [("space", SPACES), ("workloads", WORKLOADS), ("objectives", OBJECTIVES)],
)
def test_a_list_of_all(here: Here, capsys: Capture, command: str, names: tuple[str, ...]):
    assert here(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(names)
    assert all(len(line.split()) > 2 for line in lines)


@pytest.mark.parametrize("command", ["space", "workloads", "starts", "objectives"])
def test_a_list_has_its_descriptions_in_one_column(here: Here, capsys: Capture, command: str):
    assert here(command) == 0
    # Above the list of starting points stands which of them a job of each class begins with.
    lines = capsys.readouterr().out.rpartition("\n\n")[2].splitlines()
    column = 2 + max(len(line.split()[0]) for line in lines)
    assert len(lines) > 2
    for line in lines:
        assert line[column - 1] == " " and line[column] != " ", line


@pytest.mark.parametrize(("command", "name", "load"), CATALOGUE)
def test_what_is_printed_as_toml_loads_as_the_same(
    here: Here, capsys: Capture, tmp_path: Path, command: str, name: str,
    load: Callable[[str], object],
):  # fmt: skip
    assert here(command, name, "--toml") == 0
    first = capsys.readouterr().out
    file = tmp_path / "printed.toml"
    file.write_text(first)
    assert load(str(file)) == load(name)
    assert here(command, str(file), "--toml") == 0
    assert capsys.readouterr().out == first


def test_a_space(here: Here, capsys: Capture):
    assert here("space", "universal") == 0
    printed = capsys.readouterr().out
    assert "write_buffer_size: 8388608 to 536870912 (default 67108864)" in printed
    assert "compaction_style: always universal" in printed


def test_a_workload(here: Here, capsys: Capture):
    assert here("workloads", "load-quick") == 0
    assert "num: 100000\n" in capsys.readouterr().out


def test_an_objective(here: Here, capsys: Capture):
    assert here("objectives", "paper") == 0
    printed = capsys.readouterr().out
    assert "waf: min, weight 1\n" in printed
    assert "rate: max, weight 1\n" in printed


@pytest.mark.parametrize("command", ["space", "workloads", "objectives"])
def test_one_that_there_is_not(here: Here, capsys: Capture, command: str):
    assert here(command, "nothing") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert printed.err.startswith(
        f"rocktune: {command.removesuffix('s')}: 'nothing' is not one of"
    )


def test_a_reader_that_goes_away_is_no_error(desk: Desk):
    with desk.start("space", "all") as process:
        process.stdout.close()
        process.wait(60)
        assert process.stderr.read() == ""
    assert process.returncode == 0


class TestBench:
    def test_a_benchmark_of_ones_own(self, desk: Desk, here: Here, capsys: Capture):
        workload = write_workload(desk.folder, wins="none")
        assert here("bench", "--workload", workload, "--runs", 2) == 0
        lines = capsys.readouterr().out.splitlines()
        told = "waf=2.05 sa=1.2 time=3.15 rate=1050 others_cpu=0.1 machine_speed=1"
        assert lines == [f"run {n} done: {told}" for n in (1, 2)]

    def test_one_that_fails(self, desk: Desk, here: Here, capsys: Capture):
        workload = write_workload(desk.folder, script="echo 'no luck' >&2; exit 7\n")
        assert here("bench", "--workload", workload) == 1
        assert capsys.readouterr().out == "run 1 failed: no luck\n"
        assert here("bench", "--workload", workload, "--json") == 1
        document = json.loads(capsys.readouterr().out)
        assert (document["state"], document["failure"]) == ("failed", "no luck")

    @pytest.mark.parametrize(
        ("assignment", "field"),
        [
            ("block_size", "--set block_size"),
            ("no_such=1", "--set no_such=1"),
            ("block_size=many", "--set block_size"),
            ("compression_type=gzip", "--set compression_type"),
        ],
    )
    def test_a_wrong_assignment(self, here: Here, capsys: Capture, assignment: str, field: str):
        assert here("bench", "--set", assignment) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith(f"rocktune: {field}")
        assert printed.err.count("\n") == 1

    @pytest.mark.db_bench
    def test_the_real_db_bench(self, desk: Desk, here: Here, capsys: Capture):
        workload = desk.folder / "tiny.toml"
        workload.write_text(
            'name = "tiny"\nbenchmarks = ["fillseq"]\nnum = 40000\nsettle = "flush"\n'
        )
        found = {}
        for codec in ("none", "zstd"):
            chosen = f"compression_type={codec}"
            assert here("bench", "--workload", workload, "--set", chosen, "--json") == 0
            document = json.loads(capsys.readouterr().out)
            assert document["state"] == "done"
            found[codec] = document["metrics"]
        assert found["none"]["sa"] > 1
        assert found["zstd"]["sa"] < 0.8
        assert list(desk.bench.iterdir()) == []


class TestDbUpgrade:
    def test_makes_the_tables_and_may_be_run_again(
        self, here: Here, capsys: Capture, empty_database_url: str
    ):
        assert here("db", "upgrade", "--db", empty_database_url) == 0
        assert capsys.readouterr().out == f"from nothing to {HEAD}\n"
        assert here("db", "upgrade", "--db", empty_database_url) == 0
        assert capsys.readouterr().out == f"at {HEAD}\n"
        engine = make_engine(empty_database_url)
        assert current(engine) == HEAD
        engine.dispose()

    def test_without_a_name_in_the_users_data_folder(self, desk: Desk, here: Here):
        assert here("db", "upgrade") == 0
        assert (desk.folder / "data" / "rocktune" / "rocktune.db").is_file()

    def test_a_file_that_is_no_database(self, desk: Desk, here: Here, capsys: Capture):
        file = desk.folder / "notes.txt"
        file.write_text("these are notes, not a database\n" * 50)
        assert here("db", "upgrade", "--db", file) == 2
        assert capsys.readouterr().err.startswith(f"rocktune: --db: cannot use {file}")
        assert file.read_text() == "these are notes, not a database\n" * 50
