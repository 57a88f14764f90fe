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
from tests.support.api.callers import local


@pytest.fixture
def client(database: Engine) -> Iterator[TestClient]:
    """Whoever is on this machine, while no token was ever made."""
    with local(make_app(database)) as client:
        yield client


@pytest.fixture(scope="session")
def anyone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client for questions whose answers are the same whatever the database and what is in it.

    No test may make a token here: it would close the door to all others.
    """
    engine = make_engine(tmp_path_factory.mktemp("anyone") / "rocktune.db")
    upgrade_tables(engine)
    app = make_app(engine, ServiceSettings(rate_limit="100000/second"))
    with local(app) as client:
        yield client
    engine.dispose()


@pytest.fixture
def served(database: Engine) -> Iterator[Callable[..., TestClient]]:
    """Makes clients of applications with other settings."""
    with ExitStack() as stack:

        def serve(settings: ServiceSettings | None = None, **others: object) -> TestClient:
            app = make_app(database, settings, **others)  # type: ignore[arg-type]
            return stack.enter_context(local(app))

        yield serve


@pytest.fixture
def tokens(database: Engine) -> dict[Role, str]:
    """A token of each role."""
    return {role: make_token(database, f"has-{role.value}", role) for role in Role}
