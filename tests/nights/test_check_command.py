"""`rocktune check`: runs a batch, compares it with the nights before, and tells a CI."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import insert, select

from db.connection.engine import make_engine, writing
from db.connection.migrate import upgrade_tables
from db.schema.tables import batch
from jobs.batch.batch_run import BatchTurn
from tests.support.cli.launched import Zygote
from tests.support.cli.terminal import Desk
from tests.support.jobs.instant import read_from, write_workload
from tests.support.jobs.junit import Case, read_junit
from tests.support.jobs.night_scene import NIGHTLY, write_nightly

pytestmark = pytest.mark.slow

Here = Callable[..., int]
FIRST, SECOND = "workload/space", "again"
WAF = "WAF of the default"
STEADY = 'printf \'measured\\n{"waf": 2.05, "sa": 1.2, "time": 3.1, "rate": 10.5}\\n\'\n'
ONE = NIGHTLY.partition("[[job]]")[0]
BROKEN = NIGHTLY.replace('"again"\nworkload = "', '"again"\nworkload = "broken/')


@pytest.fixture
def check(desk: Desk, here: Here, database_url: str) -> Callable[[Path], int]:
    """The exit status of a night."""
    reports = "--junit", desk.folder / "junit.xml", "--markdown", desk.folder / "summary.md"
    return lambda file: here("check", file, "--db", database_url, "--out", desk.out, *reports)


def cases(desk: Desk) -> dict[str, dict[str, Case]]:
    return read_junit((desk.folder / "junit.xml").read_text())


def broken(desk: Desk) -> None:
    (desk.folder / "broken").mkdir()
    write_workload(desk.folder / "broken", script="echo 'the disk is on fire' >&2; exit 3\n")


def the_same_night_again(url: str, times: int) -> None:
    engine = make_engine(url)
    with writing(engine) as connection:
        newest = connection.execute(select(batch).order_by(batch.c.id.desc())).mappings().first()
        row = {name: value for name, value in newest.items() if name != "id"}
        connection.execute(insert(batch), [row] * times)
    engine.dispose()


@pytest.mark.one_database
def test_a_night_that_is_worse_than_those_before_ends_with_3(
    desk: Desk, check: Callable[[Path], int], database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_nightly(desk.folder, script=STEADY)
    assert check(file) == 0
    assert {case.kind for name, case in cases(desk)[FIRST].items() if name != "job"} == {"skipped"}
    the_same_night_again(database_url, 12)
    (desk.folder / "bench.sh").write_text(STEADY.replace("2.05", "3.05"))
    assert check(file) == 0, "one night is no change of level"
    assert {case.kind for case in cases(desk)[FIRST].values()} == {"passed"}
    # Until it is found, on nights on which another job fails.
    broken(desk)
    file.write_text(BROKEN)
    statuses = [check(file)]
    while statuses[-1] == 1 and len(statuses) < 6:
        capsys.readouterr()
        statuses.append(check(file))
    assert statuses == [*[1] * (len(statuses) - 1), 3]
    suites = cases(desk)
    failed = {name for name, case in suites[FIRST].items() if case.kind == "failure"}
    assert failed == {WAF}
    assert "WAF of the default +48.8%" in suites[FIRST][WAF].words
    assert suites[FIRST][WAF].words in " ".join(capsys.readouterr().out.split())
    assert suites[SECOND]["job"].kind == "error"
    summary = (desk.folder / "summary.md").read_text()
    assert summary.startswith("## nightly: **regression**")
    assert f"| {FIRST} | done | {WAF} | " in summary and f"| {SECOND} | failed |" in summary
    assert json.loads((desk.out / "batch.json").read_text())["watch"]["worsened"] is True


@pytest.mark.one_database
def test_a_report_that_cannot_be_written_hides_no_regression_and_no_other_report(
    desk: Desk, here: Here, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lost, summary = desk.folder / "lost", desk.folder / "summary.md"
    given = ("--db", database_url, "--out", desk.out, "--junit", lost / "junit.xml")

    def night() -> int:
        lost.mkdir()
        return here("check", file, *given, "--markdown", summary)

    file = write_nightly(desk.folder, ONE, script=f"rm -rf {lost}\n{STEADY}")
    assert night() == 1
    assert "--junit: cannot write" in capsys.readouterr().err
    assert summary.read_text().startswith("## nightly: ")
    the_same_night_again(database_url, 30)
    (desk.folder / "bench.sh").write_text(f"rm -rf {lost}\n{STEADY.replace('2.05', '3.05')}")
    statuses = [night()]
    while statuses[-1] == 1 and len(statuses) < 6:
        statuses.append(night())
    assert statuses == [*[1] * (len(statuses) - 1), 3]
    assert summary.read_text().startswith("## nightly: **regression**")


@pytest.mark.one_database
def test_a_batch_json_that_cannot_be_written_ends_with_1(
    desk: Desk, here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil = f"mkdir -p {desk.out / 'batch.json'}\n"
    file, report = (
        write_nightly(desk.folder, ONE, script=spoil + STEADY),
        desk.folder / "junit.xml",
    )
    given = ("--db", desk.database, "--out", desk.out, "--junit", report)
    assert here("check", file, *given) == 1
    said = capsys.readouterr()
    assert "batch.json' is not a file" in said.err and "Written to" not in said.out
    assert read_junit(report.read_text())[FIRST]["job"].kind == "passed"


@pytest.mark.one_database
def test_a_failed_job_ends_with_1_and_is_an_error(
    desk: Desk, check: Callable[[Path], int]
) -> None:
    broken(desk)
    assert check(write_nightly(desk.folder, BROKEN)) == 1
    suites = cases(desk)
    assert (suites[FIRST]["job"].kind, suites[SECOND]["job"].kind) == ("passed", "error")
    assert "the disk is on fire" in suites[SECOND]["job"].words
    assert "the disk is on fire" in (desk.folder / "summary.md").read_text()


@pytest.mark.one_database
def test_a_report_of_another_night_is_not_left(
    desk: Desk, check: Callable[[Path], int], database_url: str
) -> None:
    file = write_nightly(desk.folder)
    engine = make_engine(database_url)
    upgrade_tables(engine)
    turn = BatchTurn(engine, "nightly")
    (desk.folder / "junit.xml").write_text("of last night")
    assert check(file) == 1
    assert not (desk.folder / "junit.xml").exists()
    turn.give_back()
    engine.dispose()


def test_interrupted_it_ends_with_130_and_tells_of_no_night(desk: Desk, zygote: Zygote) -> None:
    file = write_nightly(desk.folder)
    os.mkfifo(desk.folder / "measured")
    pipe = os.open(desk.folder / "measured", os.O_RDWR)
    write_workload(desk.folder, record=desk.folder / "measured")
    report = desk.folder / "junit.xml"
    given = ("check", file, "--db", desk.database, "--out", desk.out, "--junit", report)
    pid, came = zygote.start(desk, *given), b""
    while came.count(b"\n") < 3:
        came += read_from(pipe, pid)
    os.kill(pid, signal.SIGTERM)
    assert zygote.wait(pid) == 130
    os.close(pipe)
    assert not report.exists()


def test_what_cannot_be_written_is_told_before_anything_is_run(
    desk: Desk, here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_nightly(desk.folder)
    for option in ("--junit", "--markdown"):
        given = ("check", file, "--db", desk.database, option, desk.folder / "none" / "report")
        assert here(*given) == 2
        assert f"{option}: cannot write" in capsys.readouterr().err
    assert not Path(desk.database).exists()


def test_what_the_check_reads_is_no_place_for_its_reports(
    desk: Desk, here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    file, database = write_nightly(desk.folder), Path(desk.database)
    written, other = file.read_text(), desk.folder / "other.md"
    other.write_text("of last night")
    database.write_text("the nights so far")
    link = desk.folder / "link.xml"
    link.symlink_to(file)
    for wrong, told in (
        (("--junit", file), f"--junit: '{file}' is also FILE; "),
        (("--junit", link), f"--junit: '{link}' is also FILE; "),
        (("--markdown", database), f"--markdown: '{database}' is also the database; "),
        (("--junit", other, "--markdown", other), f"--markdown: '{other}' is also --junit; "),
    ):
        assert here("check", file, "--db", database, "--markdown", other, *wrong) == 2
        assert told in capsys.readouterr().err
        assert file.read_text() == written
    file.write_text("name = ")
    assert here("check", file, "--db", database, "--markdown", other) == 2
    assert (database.read_text(), other.read_text()) == ("the nights so far", "of last night")
