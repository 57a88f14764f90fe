"""Pages that tell an error: for who is logged in with the navigation of all others."""

import re

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, text

from api.app import make_app
from db.access.tokens import Role
from jobs.queue.service_settings import ServiceSettings
from tests.support.api.browser import log_in, see, send_form
from tests.support.api.callers import stranger

pytestmark = pytest.mark.one_database


def navigation(page: str) -> str:
    """All that stands above the page's content, without which page it is."""
    found = re.search(r"<header.*?</header>", page, re.DOTALL)
    return found[0].replace(' aria-current="page"', "")


@pytest.fixture(params=list(Role))
def reader(request: pytest.FixtureRequest, client: TestClient, tokens: dict[Role, str]) -> str:
    """The navigation of who is logged in with a role."""
    log_in(client, tokens[request.param])
    shown = navigation(see(client, "/").text)
    assert f"has-{request.param.value}" in shown and ("New job" in shown) == (
        request.param is not Role.READ
    )
    return shown


@pytest.fixture
def client(database: Engine) -> TestClient:
    """A browser."""
    return stranger(make_app(database, ServiceSettings(most_body_bytes=2000)))


@pytest.mark.slow
def test_who_is_logged_in_keeps_the_navigation(client: TestClient, reader: str) -> None:
    for path, status in (
        ("/nowhere", 404),
        ("/jobs/99", 404),
        ("/nights/none", 404),
        ("/jobs/x", 422),
        ("/?state=no", 422),
        ("/logout", 405),
    ):
        answer = see(client, path)
        assert (answer.status_code, navigation(answer.text)) == (status, reader)


def test_what_a_form_is_refused_for_has_it_too(client: TestClient, reader: str) -> None:
    for size, status in ((1, 403), (3000, 413)):
        answer = send_form(client, "/logout", {"form_token": size * "x"})
        assert (answer.status_code, navigation(answer.text)) == (status, reader)


def test_what_the_server_fails_at_has_it_too(
    client: TestClient, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the cause")

    monkeypatch.setattr("api.pages.tables.read_jobs", fail)
    answer = see(client, "/")
    assert (answer.status_code, navigation(answer.text)) == (500, reader)
    assert "the cause" not in answer.text


def test_a_database_that_fails_is_not_asked_once_more(
    client: TestClient, database: Engine, tokens: dict[Role, str]
) -> None:
    log_in(client, tokens[Role.ADMIN])
    with database.begin() as connection:
        connection.execute(text("ALTER TABLE browser_session RENAME TO gone"))
    answer = see(client, "/")
    assert answer.status_code in (500, 503)
    assert "has-admin" not in answer.text and "<nav" not in answer.text


@pytest.mark.usefixtures("tokens")
def test_who_is_not_logged_in_sees_none(client: TestClient) -> None:
    plain = navigation(see(client, "/login").text)
    assert "<nav" not in plain
    forged = {"Cookie": f"rocktune={'A' * 43}"}
    for headers in ({}, forged):
        answer = see(client, "/nowhere", **headers)
        assert (answer.status_code, navigation(answer.text)) == (404, plain)
        assert see(client, "/jobs/99", **headers).headers["location"] == "/login?next=/jobs/99"


def test_a_page_of_another_site_sees_none(client: TestClient, tokens: dict[Role, str]) -> None:
    log_in(client, tokens[Role.ADMIN])
    answer = see(client, "/nowhere", Origin="https://evil.example")
    assert "has-admin" not in answer.text and "form_token" not in answer.text
