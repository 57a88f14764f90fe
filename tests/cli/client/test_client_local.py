"""Without a URL: the same answers, from the local database and no server."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from tests.support.cli.client_scene import Scene, on_terminal, stub
from tests.support.cli.terminal import Desk
from tests.support.jobs.instant import write_space, write_workload

Client = Callable[..., int]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def done(service: Scene) -> int:
    return service.finished(trials=40)


@pytest.mark.parametrize(
    "command",
    ["jobs", "jobs --json", "show 1", "show 1 --json", "parameters 1", "parameters 1 --json",
     "options 1", "show 99", "jobs --state foo", "parameters 1 --metric foo", "cancel 1",
     "resume 1"],
)  # fmt: skip
def test_as_over_http(client: Client, service: Scene, done: int, capsys: Capture, command: str):
    assert done == 1
    status = client(*command.split(), url=service.url)
    over_http = capsys.readouterr()
    named = "  Give these commands the same --db.\n"
    assert client(*command.split(), "--db", service.database) == status
    over_db = capsys.readouterr()
    assert over_db.out.replace(named, "") == over_http.out
    assert over_db.err == over_http.err
    assert client(*command.split(), ROCKTUNE_DB=service.database) == status
    assert capsys.readouterr() == over_http


def test_what_is_typed_goes_first(client: Client, service: Scene, done: int, capsys: Capture):
    with stub(lambda _: None) as elsewhere:
        set_ = {"url": elsewhere.url, "ROCKTUNE_DB": "other.db"}
        assert client("show", done, "--db", service.database, **set_) == 0
        assert client("show", done, "--url", service.url, **set_) == 0
        assert elsewhere.asked == []
        # And of what is set, the service.
        assert client("show", done, **set_) == 1
        assert elsewhere.asked
    capsys.readouterr()
    assert client("jobs", "--db", service.database, "--url", service.url) == 2
    assert capsys.readouterr().err == "rocktune: --url: give either --url or --db\n"


def test_a_job_of_tune(client: Client, desk: Desk, capsys: Capture):
    """In a database that no service has ever seen."""
    workload, space = write_workload(desk.folder), write_space(desk.folder)
    asked = ["--workload", workload, "--space", space, "--objective", "waf", "--trials", 14,
             "--strategy", "random", "--db", desk.database, "--out", desk.out]  # fmt: skip
    assert client("tune", *asked) == 0
    found, _, steps = capsys.readouterr().out.partition("\nWhat to do next\n")
    assert f"{desk.out}/report.html" in steps
    assert client("show", 1, "--db", desk.database) == 0
    shown, _, steps = capsys.readouterr().out.partition("\nWhat to do next\n")
    assert "Proof: " in found and shown.endswith(found)
    assert "`rocktune report 1" in steps
    assert client("options", 1, "--db", desk.database) == 0
    assert capsys.readouterr().out == (desk.out / "OPTIONS.ini").read_text()


def test_cancelled_and_resumed(client: Client, service: Scene, capsys: Capture):
    service.gate.unlink(missing_ok=True)
    job_id = service.submitted("gated", trials=12)
    service.until(job_id, "running")
    assert client("cancel", job_id, "--db", service.database) == 0
    assert service.job(job_id)["state"] == "cancelled"
    assert client("resume", job_id, "--db", service.database) == 0
    service.until(job_id, "running")
    service.gate.touch()
    capsys.readouterr()
    assert client("show", job_id, "--follow", "--db", service.database) == 3
    assert "12/12 trials, 0 failed" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_while_it_follows(service: Scene, number: int):
    service.gate.unlink(missing_ok=True)
    job_id = service.submitted("gated", trials=12)
    service.until(job_id, "running")
    with on_terminal({}, "show", job_id, "--db", service.database) as run:
        run.sees("no best yet")
        run.process.send_signal(number)
        assert run.ends() == 130
        run.sees(f"rocktune: job {job_id} continues")
    assert service.job(job_id)["state"] == "running"
    service.gate.touch()
    service.until(job_id, "done")


@pytest.mark.parametrize(
    "command",
    [
        ["jobs"],
        ["nights", "nightly"],
        ["db", "archive", 1, "job.jsonl.gz"],
        ["explain", 1, "--runs", 3],
        ["compare", "default", "job:1"],
        ["token", "list"],
        ["token", "revoke", "anna"],
    ],
    ids=lambda command: "-".join(map(str, command[:2])),
)
def test_a_mistyped_file_is_refused_and_not_made(
    client: Client, capsys: Capture, command: list[object]
):
    assert client(*command, "--db", "folder/new.db") == 2
    said = capsys.readouterr().err
    assert said.startswith("rocktune: --db: there is no ") and "folder/new.db; name an" in said
    assert not Path("folder").exists()


def test_the_usual_file_is_made(client: Client, capsys: Capture):
    assert client("jobs", ROCKTUNE_DB="usual.db") == 0
    assert capsys.readouterr().err == "no jobs\n"
    assert Path("usual.db").exists()


def test_a_server_must_be_current(client: Client, empty_database_url: str, capsys: Capture):
    """Its tables are changed when its owner says so, not by the way."""
    if empty_database_url.startswith("sqlite"):
        assert client("jobs", ROCKTUNE_DB=empty_database_url) == 0
        return
    assert client("jobs", "--db", empty_database_url) == 2
    assert "has no Rocktune tables; run `rocktune db upgrade`" in capsys.readouterr().err
    assert client("db", "upgrade", "--db", empty_database_url) == 0
    assert client("jobs", "--db", empty_database_url) == 0
    assert capsys.readouterr().err == "no jobs\n"


def test_what_the_application_cannot_do_is_one_line(client: Client, capsys: Capture):
    """Not its log, and not what it would say to a stranger."""
    assert client("jobs", ROCKTUNE_DB="broken.db") == 0
    engine = create_engine("sqlite:///broken.db")
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE job RENAME TO task")
    engine.dispose()
    capsys.readouterr()
    assert client("jobs", "--db", "broken.db") == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("rocktune: ")


@pytest.mark.slow
def test_no_job_is_submitted_to_it(client: Client, desk: Desk, capsys: Capture):
    assert client("submit", ROCKTUNE_DB=desk.database) == 2
    assert "to tune here, use `rocktune tune`" in capsys.readouterr().err
    assert not Path(desk.database).exists()
