from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from api.app import make_app
from db.access.tokens import Role, make_token
from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from tests.support.api.callers import EXTERNAL, QUEUED, admin, submit
from tests.support.api.fake_runner import ask, drive, measure, tell
from tests.support.api.real_server import serving
from tests.support.api.seen_page import FLAGS, PROGRAM, SeenPage, seen_page
from tests.support.api.stored_experiment import COMPARE, end_experiment


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The distribution's Chromium, one for all tests of a file.

    Not for longer: as long as it is open an event loop runs in this thread, in which no command
    that needs one of its own could be tried.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[SeenPage]:
    """A page of its own in a fresh session; what it may not do fails the test."""
    with seen_page(browser) as page:
        yield page


@pytest.fixture(scope="package")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A server's URL and a token of an administrator.

    Job 1 is done, job 2 runs and has a failure, job 3 is queued, job 4 was cancelled,
    job 5 has compared two configurations.
    """
    engine = make_engine(tmp_path_factory.mktemp("stocked") / "rocktune.db")
    upgrade_tables(engine)
    app = make_app(engine)
    with admin(app) as client:
        submit(client, {**EXTERNAL, "trials": 16, "strategy": "random"})
        drive([client], 1, at_once=2)
        submit(client, {**EXTERNAL, "trials": 24, "strategy": "random"})
        for _ in range(4):
            for suggestion in ask(client, 2, count=2)["suggestions"]:
                failed = {"state": "failed", "failure": "Corruption: block checksum mismatch"}
                broke = suggestion["number"] == 5
                tell(client, 2, {"number": 5, **failed} if broke else measure(suggestion))
        submit(client, QUEUED)
        submit(client, EXTERNAL)
        client.post("/v1/jobs/4/cancel")
        submit(client, COMPARE)
        end_experiment(engine, 5, "compare")
    token = make_token(engine, "has-admin", Role.ADMIN)
    with serving(app) as url:
        yield url, token
    engine.dispose()
