"""A PostgreSQL that takes no more connections, or its time: nothing is lost, and it is told."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from instant import SCRIPT, read_from, write_space, write_workload
from private_server import PrivateServer, private_server
from service_desk import wait_until
from sqlalchemy import Connection, create_engine, text
from terminal import Desk, Zygote

from db.engine import make_engine
from db.job_store import Store
from optimizer.trial import Trial
from sampler.outcome import TrialState

TRIALS = 24
HELD_AT = 9
# The run of this number waits until the test lets it go on.
HOLD = """\
echo run >> '{folder}/runs'
if [ "$(wc -l < '{folder}/runs')" -eq {at} ]; then
  echo held > '{folder}/measured'; read -r _ < '{folder}/go'
fi
"""
SLOW = """
CREATE OR REPLACE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_sleep(0.1); RETURN NEW; END $$;
CREATE TRIGGER slow BEFORE INSERT OR UPDATE ON trial FOR EACH ROW EXECUTE FUNCTION slow();
"""


@pytest.fixture(scope="module")
def server() -> Iterator[PrivateServer]:
    with private_server() as running:
        yield running


@contextmanager
def superuser(server: PrivateServer) -> Iterator[Connection]:
    engine = create_engine(server.url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        yield connection
    engine.dispose()


@pytest.fixture
def url(server: PrivateServer) -> str:
    """Of an empty database that belongs to a role of its own."""
    with superuser(server) as connection:
        connection.execute(text("DROP DATABASE IF EXISTS strained WITH (FORCE)"))
        connection.execute(text("DROP ROLE IF EXISTS tuner"))
        connection.execute(text("CREATE ROLE tuner LOGIN PASSWORD 'not-to-be-told'"))
        connection.execute(text("CREATE DATABASE strained OWNER tuner"))
    return f"postgresql://tuner:not-to-be-told@127.0.0.1:{server.port}/strained"


def arguments(desk: Desk, url: str, script: str | None = None) -> list[object]:
    workload = write_workload(desk.folder, script=script)
    return ["tune", "--workload", workload, "--space", write_space(desk.folder),
            "--objective", "waf", "--strategy", "random", "--trials", TRIALS,
            "--db", url, "--out", desk.out, "--resume"]  # fmt: skip


def trials_of(url: str) -> list[Trial]:
    engine = make_engine(url)
    try:
        return Store(engine).trials(1)
    finally:
        engine.dispose()


def limit(server: PrivateServer, connections: int) -> None:
    with superuser(server) as connection:
        connection.execute(text(f"ALTER ROLE tuner CONNECTION LIMIT {connections}"))
        if connections == 0:
            connection.execute(
                text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                     "WHERE usename = 'tuner'")
            )  # fmt: skip


def test_no_connection_at_first_is_one_clear_line(desk: Desk, server: PrivateServer, url: str):
    limit(server, 0)
    ended = desk.run(*arguments(desk, url))
    assert ended.returncode == 2
    (said,) = ended.stderr.splitlines()
    assert said.startswith("rocktune: --db: cannot use ") and "too many connections" in said
    assert "not-to-be-told" not in said


def held_in_the_middle(desk: Desk, zygote: Zygote, url: str) -> int:
    """The process of a job whose run waits to be let go on."""
    for name in ("measured", "go"):
        os.mkfifo(desk.folder / name)
    pipe = os.open(desk.folder / "measured", os.O_RDWR)
    hold = HOLD.format(folder=desk.folder, at=HELD_AT)
    script = SCRIPT.format(wins="fast", record=hold, noise=50)
    pid = zygote.start(desk, *arguments(desk, url, script))
    assert read_from(pipe, pid) == b"held\n"
    os.close(pipe)
    return pid


def test_no_connection_in_the_middle_is_waited_for(
    desk: Desk, zygote: Zygote, server: PrivateServer, url: str
):
    pid = held_in_the_middle(desk, zygote, url)
    limit(server, 0)
    (desk.folder / "go").write_text("on\n")
    log = desk.folder / "log"
    wait_until(lambda: "own words" in log.read_text(), seconds=60, what=f"told in {log}")
    limit(server, -1)
    assert zygote.wait(pid) in (0, 3), log.read_text()
    said = log.read_text()
    assert "too many connections" in said and "the database is back" in said
    assert "not-to-be-told" not in said
    trials = trials_of(url)
    assert [trial.number for trial in trials] == list(range(1, TRIALS + 1))
    assert {(trial.state, trial.attempt) for trial in trials} == {(TrialState.DONE, 1)}
    assert (desk.folder / "runs").read_text().count("run") == TRIALS


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
        "rocktune: interrupted; the database does not answer, and keeps what it had of job 1. "
        "The same command with --resume goes on"
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
