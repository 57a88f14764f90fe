"""A full disk is told as what it is, and as which, wherever the database's errors are told."""

import errno
from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, event, text
from sqlalchemy.exc import DBAPIError

from api.app import make_app
from api.services import submission
from db.access.tokens import Role, make_token
from db.connection.engine import full_disk
from db.jobs.job_store import JobStore
from jobs.execution.held_job import Retry, is_away
from tests.support.api.callers import QUEUED, bearer, require_problem, stranger

# PostgreSQL says so itself here: an error of the server with the state that a full disk has.
FULL = "DO $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$"


def fill(engine: Engine) -> None:
    """From now on SQLite's file may not grow: SQLite says what it says of a full disk."""
    with engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    engine.dispose()  # the setting is of a connection, and the pool has one

    @event.listens_for(engine, "connect")
    def _limited(connection, _record):  # type: ignore[no-untyped-def]
        connection.execute(f"PRAGMA max_page_count = {pages}")


def error_of(engine: Engine) -> DBAPIError:
    with pytest.raises(DBAPIError) as found:
        if engine.dialect.name == "postgresql":
            with engine.begin() as connection:
                connection.execute(text(FULL))
        else:
            JobStore(engine).create_job({"workload": "x" * 10**6}, "d")
    return found.value


def test_its_error_names_the_disk(database: Engine) -> None:
    if database.dialect.name == "sqlite":
        fill(database)
    error = error_of(database)
    said = full_disk(error, database.url)
    if database.dialect.name == "sqlite":
        named = f"the disk of the database {database.url.database}"
        assert said == f"{named} is full; free space on it"
    else:
        assert said.startswith("the disk of the database server is full (postgresql://")
        assert said.endswith("); free space on it")
        # The trial that was measured is kept, and written when there is room.
        assert is_away(error, database)
        told: list[str] = []

        def again() -> None:
            if not told:
                raise error

        Retry(database, pause=lambda _: None, told=told.append)(again)
        assert told[0] == f"{said}; finished trials are kept in memory"


@pytest.mark.one_database
def test_other_errors_are_none(database: Engine) -> None:
    with pytest.raises(DBAPIError) as found, database.connect() as connection:
        connection.execute(text("SELECT 1 FROM nothing"))
    for error in (found.value, OSError(errno.EACCES, "denied", "/x"), ValueError("full")):
        assert full_disk(error, database.url) is None
    no_room = OSError(errno.ENOSPC, "No space left on device", "/data/x")
    assert full_disk(no_room, database.url) == "the disk of /data/x is full; free space on it"


def test_a_service_says_so_and_in_its_log_where(
    database: Engine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    token = make_token(database, "ci", Role.SUBMIT)
    app = make_app(database)
    with stranger(app) as client:
        answer = _refused(client, database, token, monkeypatch)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "60")
    assert require_problem(answer)["detail"] == (
        "a disk of the service is full; free space on it (its log says which), then try again"
    )
    logged = capsys.readouterr()
    assert str(full_disk(error_of(database), database.url)) in logged.out + logged.err


def _refused(
    client: TestClient, engine: Engine, token: str, monkeypatch: pytest.MonkeyPatch
) -> object:
    if engine.dialect.name == "sqlite":
        fill(engine)
        body = {**QUEUED, "baseline_options": OPTIONS}
    else:
        error, body = error_of(engine), QUEUED

        def full(*_: object, **__: object) -> Callable[[], None]:
            raise error

        monkeypatch.setattr(submission, "enqueue_job", full)
    return client.post("/v1/jobs", json=body, headers=bearer(token))


OPTIONS = """\
[Version]
rocksdb_version=7.8.3
options_file_version=1.1
[DBOptions]
[CFOptions "default"]
[TableOptions/BlockBasedTable "default"]
""" + "".join(f"# {n} {'x' * 100}\n" for n in range(2000))
