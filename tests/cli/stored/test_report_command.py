"""`rocktune report`: the same page from a service and from a database, whole or not at all."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli.client_scene import Scene
from tests.support.cli.terminal import Desk

Client = Callable[..., int]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def done(service: Scene) -> int:
    return service.finished()


def test_the_same_page_from_a_service_and_from_its_database(
    client: Client, desk: Desk, service: Scene, done: int, capsys: Capture
):
    assert client("report", done, url=service.url) == 0
    assert capsys.readouterr().out == f"Written to report-{done}.html\n"
    page = (desk.folder / f"report-{done}.html").read_bytes()
    assert page.startswith(b"<!doctype html>") and page.rstrip().endswith(b"</html>")
    assert b"plotly.js v" in page
    assert client("report", done, "--db", service.database, "--out", "other.html") == 0
    assert (desk.folder / "other.html").read_bytes() == page


def test_a_job_that_has_not_ended_has_none(
    client: Client, desk: Desk, service: Scene, capsys: Capture
):
    job = service.submitted("gated")
    service.until(job, "running")
    assert client("report", job, "--out", "r.html", url=service.url) == 2
    assert capsys.readouterr().err == f"rocktune: ID: job {job} is running; it has no result yet\n"
    assert not (desk.folder / "r.html").exists()
    service.gate.touch()
    service.until(job, "done")
    assert client("report", job, "--out", "r.html", url=service.url) == 0


def test_what_cannot_be_written_is_said(
    client: Client, desk: Desk, service: Scene, done: int, capsys: Capture
):
    out: Path = desk.folder / "nowhere" / "r.html"
    assert client("report", done, "--out", out, url=service.url) == 2
    assert "--out: cannot write" in capsys.readouterr().err
    assert client("report", done, "--out", desk.folder, url=service.url) == 2
    assert "is not a file" in capsys.readouterr().err
    assert list(desk.folder.glob("**/.r.html*")) == []
