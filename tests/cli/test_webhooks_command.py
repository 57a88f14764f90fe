"""`rocktune webhooks` over a database: what is shown of them, and whether a test arrives."""

import json
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from sqlalchemy import Engine

from cli.main import main
from cli.options.exits import Exit
from db.webhooks import EVENTS, read_webhooks
from jobs.queue.service_settings import ServiceSettings
from jobs.webhooks import deliver_due
from tests.support.jobs.receiver import receiving

pytestmark = pytest.mark.one_database
Run = Callable[..., int]
Capture = pytest.CaptureFixture[str]
URL = "https://chat.example.com/hooks/s3cr3t"
SETTINGS = ServiceSettings(webhook_allow="127.0.0.1")


@pytest.fixture
def run(database: Engine, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command over the database; its worker delivers while the command waits."""
    monkeypatch.setenv("ROCKTUNE_WEBHOOK_ALLOW", "127.0.0.1")
    waits = SimpleNamespace(
        monotonic=time.monotonic, sleep=lambda _: deliver_due(database, SETTINGS)
    )
    monkeypatch.setattr("cli.operations.schedule.time", waits)
    url = database.url.render_as_string(hide_password=False)
    return lambda *arguments: main(["webhooks", *arguments, "--db", url])


def test_one_is_added_listed_and_deleted(run: Run, database: Engine, capsys: Capture):
    assert run("list") == Exit.DONE
    assert capsys.readouterr().err == "no webhooks\n"
    assert run("add", URL) == Exit.DONE
    first, second = capsys.readouterr().out.splitlines()
    (kept,) = read_webhooks(database)
    assert first == f"webhook 1 receives {', '.join(EVENTS)}"
    assert second == f"Secret (shown only once): {kept.secret}"
    assert run("add", URL) == Exit.BAD_INPUT
    said = capsys.readouterr().err
    assert said == "rocktune: URL: a webhook for this URL already exists; delete it first\n"
    assert run("list") == Exit.DONE
    shown = capsys.readouterr().out
    assert "https://chat.example.com/..." in shown and "s3cr3t" not in shown
    assert run("delete", "1") == Exit.DONE
    assert capsys.readouterr().out == "webhook 1 deleted\n"
    assert run("delete", "1") == Exit.BAD_INPUT
    assert capsys.readouterr().err == "rocktune: ID: there is no webhook 1\n"


def test_events_are_chosen_and_documents_are_the_services(run: Run, capsys: Capture):
    asked = ("--event", "winner_proven", "--event", "job_ended")
    assert run("add", URL, *asked, "--json") == Exit.DONE
    made = json.loads(capsys.readouterr().out)
    assert made["events"] == ["winner_proven", "job_ended"]
    assert made["secret"].startswith("whsec_")
    assert run("list", "--json") == Exit.DONE
    assert json.loads(capsys.readouterr().out) == [{**made, "secret": None}]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("nowhere",), "URL"),
        (("http://10.0.0.7/",), "URL"),
        ((URL, "--event", "nothing"), "--event"),
    ],
)
def test_what_is_wrong_is_named(run: Run, capsys: Capture, arguments: tuple[str, ...], field: str):
    assert run("add", *arguments) == Exit.BAD_INPUT
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"rocktune: {field}: ")


def test_a_test_message_arrives_or_its_error_is_told(run: Run, capsys: Capture):
    with receiving() as receiver:
        assert run("add", receiver.url) == Exit.DONE
        capsys.readouterr()
        assert run("test", "1") == Exit.DONE
        assert capsys.readouterr().out == "webhook 1 acknowledged the message, status 204\n"
        receiver.fault = "500"
        assert run("test", "1") == Exit.ANSWER_IS_NO
    said = capsys.readouterr().err
    assert said.startswith("rocktune: webhook 1 did not acknowledge the message: ")
    assert said.endswith("; a retry follows\n")
    assert [each["event"] for each in receiver.messages] == ["test", "test"]


def test_without_a_worker_it_waits_and_there_must_be_one(
    run: Run, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("cli.operations.schedule._PATIENCE_SECONDS", 0.0)
    assert run("add", URL) == Exit.DONE
    assert run("test", "1") == Exit.ANSWER_IS_NO
    assert "the test message is still waiting for a worker" in capsys.readouterr().err
    assert run("test", "2") == Exit.BAD_INPUT
    assert capsys.readouterr().err == "rocktune: ID: there is no webhook 2\n"
