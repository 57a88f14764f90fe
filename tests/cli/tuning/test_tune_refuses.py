"""Bad input: exit status 2, one line that names the field, and nothing lost."""

import socket
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.support.cli.terminal import Desk
from tests.support.jobs.instant import write_space, write_workload

pytestmark = pytest.mark.slow

Here = Callable[..., int]
FILES = {
    "typo.toml": 'name = "x"\nnmu = 5\n',
    "unknown-parameter.toml": 'name = "x"\n[[parameter]]\nname = "no_such_option"\n',
    "swapped.toml": 'name = "x"\n[[parameter]]\nname = "block_size"\nlow = 65536\nhigh = 4096\n',
    "own-option.toml": 'name = "x"\n[[parameter]]\nname = "mine"\ntype = "bool"\n',
    "small.toml": 'name = "small"\nnum = 1000\n',
    "objective.toml": 'name = "x"\n[[metric]]\nname = "waf"\ndirection = "down"\n',
    "greedy.toml": 'name = "x"\n[[metric]]\nname = "waf"\ndirection = "min"\n'
    '[[limit]]\nmetric = "memory"\nat_most = 1\n',
    "no-program.toml": 'name = "x"\n[command]\nargv = ["no-such-program-at-all"]\n',
    "none.db": "this is no database, and it is long enough to be seen as none" * 20,
    "file": "a file, where a folder is wanted",
    "OPTIONS-none": "hello\n",
}
REFUSED: list[tuple[tuple[str, ...], str]] = [
    (("--workload", "nothing"), "--workload"),
    (("--workload", "typo.toml"), "--workload nmu"),
    (("--workload", "no-program.toml"), "--workload command.argv"),
    (("--workload", "small.toml"), "--workload (small)"),
    (("--space", "nothing"), "--space"),
    (("--space", "unknown-parameter.toml"), "--space parameter[1] (no_such_option)"),
    (("--space", "swapped.toml"), "--space parameter[1] (block_size).low"),
    (("--space", "own-option.toml"), "--space parameter (mine)"),
    (("--objective", "nothing"), "--objective"),
    (("--objective", "objective.toml"), "--objective metric[1].direction"),
    (
        ("--objective", "greedy.toml"),
        "--objective limit[1].metric: memory is a budget, not a",
    ),
    (("--limit", "fast"), "--limit: 'fast' is not a limit; write it like"),
    (
        ("--limit", "rate >= 2 baseline", "--limit", "rate <= 1.5 baseline"),
        "--limit: no value can be rate >= 2 and <= 1.5 baseline",
    ),
    (("--strategy", "luck"), "--strategy"),
    (("--trials", "3"), "--trials"),
    (("--trials", "many"), "--trials: 'many' is not a whole number; write it like 12"),
    (("--trials", "12", "--minutes", "1"), "--minutes"),
    (("--minutes", "0"), "--minutes"),
    (("--memory", "plenty"), "--memory"),
    (("--scale", "0"), "--scale"),
    (("--seed", "-1"), "--seed"),
    (("--top", "0"), "--top: 0 is below the minimum of 1"),
    (("--detect", "0.05"), "--detect: 0.05 may mean 0.05% or 5%"),
    (("--baseline", "nothing"), "--baseline"),
    (("--baseline", "OPTIONS-none"), "--baseline OPTIONS-none"),
    (("--db", "none.db"), "--db"),
    (("--db", "."), "--db"),
    (("--db", "file/rocktune.db"), "--db"),
    (("--db", "mysql://root@localhost/x"), "--db"),
    (("--out", "file"), "--out"),
    (("--out", "file/out"), "--out"),
    (("--out", "/proc/rocktune"), "--out"),
    (("--colour", "red"), "No such option"),
    (("surplus",), "Got unexpected extra argument"),
]


@pytest.fixture(autouse=True)
def files(desk: Desk) -> None:
    for name, text in FILES.items():
        (desk.folder / name).write_text(text)


def one_line(said: str, field: str) -> str:
    assert said.endswith("\n")
    assert said.count("\n") == 1, said
    assert said.startswith(f"rocktune: {field}"), said
    return said


def contents(folder: Path) -> Mapping[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize(("arguments", "field"), REFUSED, ids=lambda value: " ".join(value)
                         if isinstance(value, tuple) else None)  # fmt: skip
def test_one_line_names_the_field(
    here: Here, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], field: str
):
    given = dict(zip(arguments[::2], arguments[1::2], strict=False))
    defaults = [] if "--db" in given else ["--db", "rocktune.db"]
    before = contents(Path.cwd())
    assert here("tune", *defaults, *arguments) == 2
    printed, said = capfd.readouterr()
    if field == "--workload command.argv":  # the job has begun, and said so
        said = said.splitlines(keepends=True)[-1]
    one_line(said, field)
    assert printed == ""
    after = contents(Path.cwd())
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize(
    ("variables", "field"),
    [
        ({"ROCKTUNE_DB_BENCH": "no-such-program"}, "ROCKTUNE_DB_BENCH"),
        ({"ROCKTUNE_DB_BENCH": "true"}, "ROCKTUNE_DB_BENCH"),
        ({"ROCKTUNE_FREE_BYTES": "plenty"}, "ROCKTUNE_FREE_BYTES"),
        ({"ROCKTUNE_LOCK": "/no/such/folder/lock"}, "ROCKTUNE_LOCK"),
        ({"ROCKTUNE_BENCH_DIR": "/proc/rocktune"}, "ROCKTUNE_BENCH_DIR"),
        ({"ROCKTUNE_BENCH_DIR": "file"}, "ROCKTUNE_BENCH_DIR"),
        ({"ROCKTUNE_BENCH_DIR": "file/bench"}, "ROCKTUNE_BENCH_DIR"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else None,
)
def test_what_is_wrong_with_this_machine(
    here: Here,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    variables: dict[str, str],
    field: str,
):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert here("tune", "--trials", 12, "--db", "rocktune.db") == 2
    printed, said = capfd.readouterr()
    one_line(said.splitlines(keepends=True)[-1], field)
    assert printed == ""


def test_a_database_that_is_not_there(here: Here, capfd: pytest.CaptureFixture[str]):
    with socket.socket() as taken:  # bound and not listening: nobody answers there
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        assert here("tune", "--db", f"postgresql://me:s3cret@127.0.0.1:{port}/rocktune") == 2
    said = one_line(capfd.readouterr().err, "--db")
    assert "s3cret" not in said
    assert "127.0.0.1" in said


def test_a_mixed_up_password_is_not_told(here: Here, capfd: pytest.CaptureFixture[str]):
    assert here("tune", "--db", "postgresql://me:s3@cret@127.0.0.1:1/rocktune") == 2
    said = one_line(capfd.readouterr().err, "--db")
    assert "s3" not in said
    assert "cret" not in said


def test_the_real_command(desk: Desk):
    ended = desk.run("tune", "--trials", 3, before=["env"])  # executed, not forked
    assert (ended.returncode, ended.stdout) == (2, "")
    one_line(ended.stderr, "--trials: 3 are too few; a job needs at least 12")


class TestNothingIsLost:
    """A job, its database and its files stay as they were."""

    @pytest.fixture
    def arguments(self, desk: Desk, here: Here, capfd: pytest.CaptureFixture[str]) -> list[object]:
        workload, space = write_workload(desk.folder), write_space(desk.folder)
        arguments = ["tune", "--workload", workload, "--space", space, "--objective", "waf",
                     "--strategy", "random", "--trials", 12, "--db", "rocktune.db",
                     "--out", desk.out]  # fmt: skip
        assert here(*arguments) == 0
        capfd.readouterr()
        return list(arguments)

    @pytest.mark.parametrize(
        "more",
        [("--trials", "3"), ("--workload", "small.toml"), ("--workload", "no-program.toml")],
        ids=" ".join,
    )  # fmt: skip
    def test_by_a_refusal(
        self, desk: Desk, here: Here, capfd: pytest.CaptureFixture[str],
        arguments: list[object], more: tuple[str, str],
    ):  # fmt: skip
        files, before = contents(desk.out), dump(desk)
        assert files.keys() >= {"OPTIONS.ini", "report.html", "result.json", "trials.csv"}
        assert here(*arguments, *more) == 2
        assert contents(desk.out) == files
        counters = {line for line in before if "sqlite_sequence" in line}
        assert set(before) - counters <= set(dump(desk))
        capfd.readouterr()
        assert here(*arguments, "--resume") == 0
        assert contents(desk.out) == files
        assert "job 1 is already done; its result follows" in capfd.readouterr().err

    def test_by_a_database_that_is_none(self, desk: Desk, here: Here, arguments: list[object]):
        files = contents(desk.out)
        given = [*arguments[:-4], "--db", "none.db", "--out", desk.out]
        assert here(*given) == 2
        assert contents(desk.out) == files
        assert (desk.folder / "none.db").read_text() == FILES["none.db"]


def dump(desk: Desk) -> list[str]:
    connection = sqlite3.connect(desk.database)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


class TestAFullDisk:
    """A file system of one megabyte, in a namespace of the test's own."""

    def test_the_benchs(self, desk: Desk, small_disk: list[str]):
        desk.bench.mkdir()
        ended = desk.run("tune", "--db", desk.database, "--trials", 12,
                         before=[*small_disk, str(desk.bench)])  # fmt: skip
        assert (ended.returncode, ended.stdout) == (2, "")
        one_line(ended.stderr.splitlines(keepends=True)[-1], "ROCKTUNE_BENCH_DIR: the disk of")

    def test_the_databases(self, desk: Desk, small_disk: list[str]):
        place = desk.folder / "place"
        place.mkdir()
        workload, space = write_workload(desk.folder), write_space(desk.folder)
        ended = desk.run(
            "tune", "--workload", workload, "--space", space, "--trials", 2000, "--strategy",
            "random", "--objective", "waf", "--db", place / "rocktune.db",
            before=[*small_disk, str(place)],
        )  # fmt: skip
        assert ended.returncode in (1, 2)
        last = ended.stderr.splitlines(keepends=True)[-1]
        assert last.startswith("rocktune: ")
        assert "full" in last
        assert "Traceback" not in ended.stderr
        assert list(desk.bench.iterdir()) == []
