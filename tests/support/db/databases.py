"""Fixtures that run a test on SQLite and on a real PostgreSQL.

The server is the one that the ``PG*`` variables name; ``make test`` starts one for the run.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from pytest_postgresql import factories
from pytest_postgresql.janitor import DatabaseJanitor
from sqlalchemy import Engine
from sqlalchemy.engine import URL

from db.connection.engine import make_engine
from db.connection.migrate import HEAD, REVISION_TABLE, upgrade_tables
from db.schema.tables import metadata

BACKENDS = ("sqlite", "postgresql")

_server = {
    "host": os.environ.get("PGHOST"),
    "port": os.environ.get("PGPORT"),
    "user": os.environ.get("PGUSER"),
    "password": os.environ.get("PGPASSWORD"),
}
# One for each process that runs tests beside others.
_worker = os.environ.get("PYTEST_XDIST_WORKER", "")
rocktune_server = factories.postgresql_noproc(**_server, dbname=f"rocktune_test{_worker}")


def _migrate(url: str) -> None:
    engine = make_engine(url)
    try:
        upgrade_tables(engine)
    finally:
        engine.dispose()


@pytest.fixture(scope="session")
def _server_url(request: pytest.FixtureRequest) -> Iterator[str]:
    if not _server["host"]:
        pytest.fail("no PostgreSQL: the PG* variables are not set; run `make test`", pytrace=False)
    server = request.getfixturevalue("rocktune_server")
    about = {"user": server.user, "password": server.password, "host": server.host}
    with DatabaseJanitor(
        **about, port=server.port, dbname=server.dbname, template_dbname=server.template_dbname
    ):
        url = URL.create(
            "postgresql",
            server.user,
            server.password,
            server.host,
            int(server.port),
            server.dbname,
        )
        yield url.render_as_string(hide_password=False)


def _emptied(url: str, *, tables: bool) -> str:
    """The one database of the run, as new: making another takes longer than most tests."""
    with psycopg.connect(url, autocommit=True) as connection:
        # What a killed process left running is still at work for a moment.
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        present = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        ).fetchall()
        revision = None
        if tables and {name for (name,) in present} == {*metadata.tables, REVISION_TABLE}:
            found = connection.execute(f"SELECT version_num FROM {REVISION_TABLE}").fetchone()
            revision = found[0] if found else None
        if revision == HEAD:
            # Tables of a few rows: TRUNCATE would make new files for each of them and its indexes.
            tables_last_first = reversed(metadata.sorted_tables)
            connection.execute(
                "; ".join(f"DELETE FROM {table.name}" for table in tables_last_first)
                + "; SELECT setval(oid::regclass, 1, false) FROM pg_class "
                "WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace"
            )
            return url
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    if tables:
        _migrate(url)
    return url


@pytest.fixture(scope="session")
def _sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "rocktune.db"
    _migrate(str(path))
    return path


@pytest.fixture(params=BACKENDS)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database with all tables and nothing in them."""
    if request.param == "postgresql":
        return _emptied(request.getfixturevalue("_server_url"), tables=True)
    path = tmp_path / "rocktune.db"
    shutil.copy(request.getfixturevalue("_sqlite_template"), path)
    return f"sqlite:///{path}"


@pytest.fixture
def database(database_url: str) -> Iterator[Engine]:
    """An engine on a database with all tables and nothing in them."""
    engine = make_engine(database_url)
    yield engine
    engine.dispose()


@pytest.fixture(params=BACKENDS)
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database without tables; for SQLite, of a file that does not exist yet."""
    if request.param == "postgresql":
        return _emptied(request.getfixturevalue("_server_url"), tables=False)
    return f"sqlite:///{tmp_path / 'empty.db'}"


@pytest.fixture
def empty_database(empty_database_url: str) -> Iterator[Engine]:
    """An engine on a database without tables."""
    engine = make_engine(empty_database_url)
    yield engine
    engine.dispose()
