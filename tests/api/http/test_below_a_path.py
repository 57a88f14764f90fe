"""A service below a path of a proxy (``ROCKTUNE_ROOT_PATH``): every link leads below it."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import httpx2
import pytest
from fastapi.testclient import TestClient
from pydantic import ValidationError
from sqlalchemy import Engine

from api.app import make_app
from db.access.tokens import Role
from jobs.queue.service_settings import ServiceSettings
from tests.support.api.browser import SEES, form_token, log_in, see, send_form
from tests.support.api.callers import EXTERNAL, QUEUED, admin, bearer, stranger, submit
from tests.support.api.nginx import nginx_before
from tests.support.api.real_server import own_token, real_server
from tests.support.api.sse import events

pytestmark = pytest.mark.one_database

ROOT = "/tuning/rocktune"
HOST = "proxy_set_header Host $http_host;"  # as deploy/nginx.conf has it: log-ins need it
LINKS = re.compile(
    r'\s(?:href|src|action|formaction|data-address|data-events|data-later)="([^"#]*)"'
)
PAGES = ("/", "/jobs/new", "/jobs/new/compare", "/workloads", "/compare", "/hosts", "/schedules",
         "/batches", "/nights", "/webhooks", "/docs", "/jobs/1", "/jobs/1/trials", "/jobs/1/won",
         "/jobs/1/matters", "/jobs/1/clone", "/nowhere", "/workloads/load")  # fmt: skip


@pytest.fixture
def browser(database: Engine, tokens: dict[Role, str]) -> Iterator[TestClient]:
    """Logged in as an administrator, by a form below the path; there are two jobs."""
    app = make_app(database, ServiceSettings(root_path=ROOT, rate_limit="100000/second"))
    with admin(app) as other, stranger(app) as client:
        submit(other, EXTERNAL)
        submit(other, QUEUED)
        answer = send_form(client, f"{ROOT}/login", {"token": tokens[Role.ADMIN]})
        assert (answer.status_code, answer.headers["location"]) == (303, f"{ROOT}/")
        yield client


@pytest.mark.parametrize("kept", [ROOT, ""])
def test_every_page_links_below_the_path_alone(browser: TestClient, kept: str) -> None:
    """Whether the proxy leaves the path in what it passes on or takes it off."""
    followed = set()
    for path in PAGES:
        shown = see(browser, f"{kept}{path}")
        assert shown.status_code == (404 if path == "/nowhere" else 200), path
        for link in map(unescape, LINKS.findall(shown.text)):
            if link and not link.startswith(("data:", "?")):
                assert link.startswith(f"{ROOT}/"), (path, link)
                followed.add(link)
    assert f"{ROOT}/v1/jobs/1/charts" in followed
    for link in followed:
        if not re.search(r"/(events|logout|login|cancel|resume|delete|clone)\b", link):
            status = browser.get(link, headers=SEES, follow_redirects=False).status_code
            # Results of a job that goes on are not there yet.
            assert status in (200, 404, 409, 405), (link, status)


def test_redirects_and_locations_lead_below_it(
    browser: TestClient, tokens: dict[Role, str]
) -> None:
    token = form_token(browser, f"{ROOT}/")
    answer = send_form(browser, f"{ROOT}/jobs/2/cancel", {"form_token": token})
    assert (answer.status_code, answer.headers["location"]) == (303, f"{ROOT}/jobs/2")
    headers = {"X-Form-Token": token}
    made = browser.post(f"{ROOT}/v1/jobs", json=QUEUED, headers=headers)
    assert made.headers["location"] == f"{ROOT}/v1/jobs/3"
    assert browser.get(made.headers["location"]).json()["id"] == 3
    gone = send_form(browser, f"{ROOT}/logout", {"form_token": token})
    assert gone.headers["location"] == f"{ROOT}/login"
    asked = see(browser, f"{ROOT}/jobs/2")
    assert asked.headers["location"] == f"{ROOT}/login?next=/jobs/2"
    led = log_in(browser, tokens[Role.READ], next="/jobs/2")
    assert led.headers["location"] == f"{ROOT}/jobs/2"


def test_its_session_is_not_that_of_a_service_below_another_path(
    browser: TestClient, database: Engine
) -> None:
    assert set(browser.cookies) == {"rocktune-tuning-rocktune"}
    with stranger(make_app(database)) as other:
        other.cookies.update(browser.cookies)
        assert see(other, "/").headers["location"] == "/login?next=/"


def test_a_path_that_only_begins_like_it_is_another(browser: TestClient) -> None:
    assert browser.get(f"{ROOT}x/healthz").status_code == 404
    assert browser.get(f"{ROOT}/healthz").json() == {"status": "ok"}
    assert browser.get("/healthz").json() == {"status": "ok"}
    assert browser.get(f"{ROOT}/openapi.json").json()["servers"] == [{"url": ROOT}]


@pytest.mark.parametrize("wrong", ["rocktune", "/rocktune/", "/", "//x", "/a b", '/"x'])
def test_a_path_begins_with_a_slash_and_ends_without(wrong: str) -> None:
    with pytest.raises(ValidationError):
        ServiceSettings(root_path=wrong)


@pytest.mark.slow
@pytest.mark.nginx
def test_behind_nginx_a_browser_logs_in_and_follows_a_job(tmp_path: Path) -> None:
    """Whether ``proxy_pass`` ends with the path, takes it off, or says nothing of it."""
    proxy = {"location": f"{ROOT}/", "more": HOST}
    with real_server(tmp_path / "rocktune.db", tmp_path, ROCKTUNE_ROOT_PATH=ROOT) as url:
        for number, passed_on in enumerate((f"{url}{ROOT}/", f"{url}/", url), start=1):
            folder = tmp_path / f"proxy-{number}"
            folder.mkdir()
            with nginx_before(passed_on, folder, **proxy) as client:
                follow_a_job(client, own_token(tmp_path), number)


def follow_a_job(client: httpx2.Client, token: str, number: int) -> None:
    asked = client.get(f"{ROOT}/", headers=SEES)
    assert asked.headers["location"] == f"{ROOT}/login?next=/"
    origin = {"Origin": "http://tuning.example", **SEES}
    form = {"token": token, "next": "/jobs/new"}
    answer = client.post(f"{ROOT}/login", data=form, headers=origin)
    assert answer.headers["location"] == f"{ROOT}/jobs/new"
    shown = client.get(answer.headers["location"], headers=SEES)
    assert shown.status_code == 200
    (style,) = re.findall(r'<link rel="stylesheet" href="([^"]+)"', shown.text)
    assert client.get(style).headers["content-type"].startswith("text/css")
    made = client.post(f"{ROOT}/v1/jobs", json=QUEUED, headers=bearer(token))
    assert made.headers["location"] == f"{ROOT}/v1/jobs/{number}"
    client.post(f"{made.headers['location']}/cancel", headers=bearer(token))
    told = client.get(f"{made.headers['location']}/events", headers=bearer(token))
    assert [each.kind for each in events(told.text.splitlines())] == ["job", "end"]
