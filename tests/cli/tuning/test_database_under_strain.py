"""A PostgreSQL that takes no more connections, or its time: nothing is lost, and it is told."""

import os
import signal
from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import Connection, create_engine, text

from sampler.bench.outcome import TrialState
from tests.support.cli.launched import Zygote
from tests.support.cli.strained_database import (
    HELD_AT,
    TRIALS,
    arguments,
    check_whole,
    held_in_the_middle,
    server,
    superuser,
    url,
)
from tests.support.cli.terminal import Desk
from tests.support.db.private_server import PrivateServer
from tests.support.db.stored_trials import trials_of
from tests.support.jobs.service_desk import wait_until

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

__all__ = ["server", "url"]
SLOW = """
CREATE OR REPLACE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_sleep(0.1); RETURN NEW; END $$;
CREATE TRIGGER slow BEFORE INSERT OR UPDATE ON trial FOR EACH ROW EXECUTE FUNCTION slow();
"""
ALL_TAKEN = "remaining connection slots are reserved for"  # for superusers, in words that changed


def limit(server: PrivateServer, connections: int) -> None:
    with superuser(server) as connection:
        connection.execute(text(f"ALTER ROLE tuner CONNECTION LIMIT {connections}"))
        if connections == 0:
            end_sessions(connection)


def end_sessions(connection: Connection) -> None:
    ended = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'tuner'"
    connection.execute(text(ended))


class Crowd:
    """Takes every connection that the server gives to anybody but a superuser."""

    def __init__(self, server: PrivateServer, admin: Connection) -> None:
        self._url = f"postgresql://crowd@127.0.0.1:{server.port}/postgres"
        self._admin = admin
        self._taken: list[psycopg.Connection] = []
        admin.execute(text("DROP ROLE IF EXISTS crowd"))
        admin.execute(text("CREATE ROLE crowd LOGIN"))

    def fill(self) -> bool:
        """Takes all that is free, then at once the places of the job's own sessions."""
        self._take_free()
        end_sessions(self._admin)
        self._take_free()
        return True

    def _take_free(self) -> None:
        with pytest.raises(psycopg.OperationalError, match=ALL_TAKEN):
            while True:
                self._taken.append(psycopg.connect(self._url, connect_timeout=10))

    def go(self) -> None:
        while self._taken:
            self._taken.pop().close()


@pytest.fixture
def crowd(server: PrivateServer) -> Iterator[Crowd]:
    with superuser(server) as admin:  # who keeps this one connection, so that none becomes free
        crowd = Crowd(server, admin)
        yield crowd
        crowd.go()


def test_no_connection_at_first_is_one_clear_line(desk: Desk, server: PrivateServer, url: str):
    limit(server, 0)
    ended = desk.run(*arguments(desk, url))
    assert ended.returncode == 2
    (said,) = ended.stderr.splitlines()
    assert said.startswith("rocktune: --db: cannot use ") and "too many connections" in said
    assert "not-to-be-told" not in said


def test_no_connection_in_the_middle_is_waited_for(
    desk: Desk, zygote: Zygote, server: PrivateServer, url: str
):
    pid = held_in_the_middle(desk, zygote, url)
    limit(server, 0)
    (desk.folder / "go").write_text("on\n")
    log = desk.folder / "log"
    wait_until(lambda: "database error" in log.read_text(), seconds=60, what=f"told in {log}")
    limit(server, -1)
    assert zygote.wait(pid) in (0, 3), log.read_text()
    said = log.read_text()
    assert "too many connections" in said and "the database answers again" in said
    assert "not-to-be-told" not in said
    check_whole(desk, url)


def test_the_server_s_connections_used_up_at_first_is_one_clear_line(
    desk: Desk, crowd: Crowd, url: str
):
    crowd.fill()
    ended = desk.run(*arguments(desk, url))
    assert ended.returncode == 2
    (said,) = ended.stderr.splitlines()
    assert said.startswith("rocktune: --db: cannot use ") and ALL_TAKEN in said
    assert "not-to-be-told" not in said


def test_the_server_s_connections_used_up_in_the_middle_are_waited_for(
    desk: Desk, zygote: Zygote, crowd: Crowd, url: str
):
    pid = held_in_the_middle(desk, zygote, url)
    crowd.fill()
    (desk.folder / "go").write_text("on\n")
    log = desk.folder / "log"
    # A session that is ended in a statement is told first; that none is left, by the next attempt.
    wait_until(
        lambda: crowd.fill() and ALL_TAKEN in " ".join(log.read_text().split()),
        seconds=60,
        what=f"told in {log}",
    )
    crowd.go()
    assert zygote.wait(pid) in (0, 3), log.read_text()
    said = " ".join(log.read_text().split())
    assert ALL_TAKEN in said and "the database answers again" in said
    assert "not-to-be-told" not in said
    check_whole(desk, url)


def test_interrupted_without_a_connection_it_says_so_and_goes_on_later(
    desk: Desk, zygote: Zygote, server: PrivateServer, url: str
):
    pid = held_in_the_middle(desk, zygote, url)
    limit(server, 0)
    os.kill(pid, signal.SIGINT)
    log = desk.folder / "log"
    assert zygote.wait(pid) == 130, log.read_text()
    *_, last = log.read_text().splitlines()
    assert last == (
        "rocktune: interrupted; the database does not answer; it keeps what it had of job 1. "
        "Continue with the same command and --resume"
    )
    limit(server, -1)
    assert [t.state for t in trials_of(url)].count(TrialState.DONE) == HELD_AT - 1
    ended = desk.run("resume", 1, "--db", url)
    assert "job 1 is queued; " in ended.stdout, ended.stderr


def test_a_slow_one_slows_the_job_and_nothing_else(desk: Desk, url: str):
    make_tables = desk.run("db", "upgrade", "--db", url)
    assert make_tables.returncode == 0, make_tables.stderr
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.execute(text(SLOW))
    engine.dispose()
    ended = desk.run(*arguments(desk, url))
    assert ended.returncode in (0, 3), ended.stderr
    assert {(t.state, t.attempt) for t in trials_of(url)} == {(TrialState.DONE, 1)}
    assert len(trials_of(url)) == TRIALS
