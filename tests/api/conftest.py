from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.app import make_app
from db.access.tokens import Role, make_token
from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from jobs.queue.service_settings import ServiceSettings
from tests.support.api.browser import log_in
from tests.support.api.callers import EXTERNAL, admin, stranger, submit
from tests.support.api.fake_runner import drive


@pytest.fixture
def client(database: Engine) -> Iterator[TestClient]:
    """An administrator, by a token."""
    with admin(make_app(database)) as client:
        yield client


@pytest.fixture
def logged_in(database: Engine) -> Iterator[TestClient]:
    """A browser in which an administrator has logged in."""
    with stranger(make_app(database)) as client:
        log_in(client, make_token(database, "in-a-browser", Role.ADMIN))
        yield client


@pytest.fixture(scope="session")
def anyone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client for questions whose answers are the same whatever the database and what is in it.

    It bears a token of an administrator.
    """
    engine = make_engine(tmp_path_factory.mktemp("anyone") / "rocktune.db")
    upgrade_tables(engine)
    app = make_app(engine, ServiceSettings(rate_limit="100000/second"))
    with admin(app) as client:
        yield client
    engine.dispose()


@pytest.fixture(scope="session")
def ended(anyone: TestClient) -> int:
    """A job of ``anyone`` that is done, of 12 trials; tests only read it."""
    number = submit(anyone, EXTERNAL)
    drive([anyone], number, at_once=4)
    return number


@pytest.fixture
def served(database: Engine) -> Iterator[Callable[..., TestClient]]:
    """Makes clients of applications with other settings."""
    with ExitStack() as stack:

        def serve(settings: ServiceSettings | None = None, **others: object) -> TestClient:
            app = make_app(database, settings, **others)  # type: ignore[arg-type]
            return stack.enter_context(admin(app))

        yield serve


@pytest.fixture
def hurried(served: Callable[..., TestClient]) -> TestClient:
    """A client that may ask as often as it likes."""
    return served(ServiceSettings(rate_limit="100000/second"))


@pytest.fixture
def tokens(database: Engine) -> dict[Role, str]:
    """A token of each role."""
    return {role: make_token(database, f"has-{role.value}", role) for role in Role}
