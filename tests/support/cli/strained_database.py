"""A job on a PostgreSQL server of the test's own, held in the middle of a run."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import Connection, create_engine, text

from sampler.bench.outcome import TrialState
from tests.support.cli.launched import Zygote
from tests.support.cli.terminal import Desk
from tests.support.db.private_server import PrivateServer, private_server
from tests.support.db.stored_trials import trials_of
from tests.support.jobs.instant import SCRIPT, read_from, write_space, write_workload

TRIALS = 24
HELD_AT = 9
# The run of this number waits until the test lets it go on.
HOLD = """\
echo run >> '{folder}/runs'
if [ "$(wc -l < '{folder}/runs')" -eq {at} ]; then
  echo held > '{folder}/measured'; read -r _ < '{folder}/go'
fi
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


def check_whole(desk: Desk, url: str) -> None:
    """All trials are there, each measured once."""
    trials = trials_of(url)
    assert [trial.number for trial in trials] == list(range(1, TRIALS + 1))
    assert {(trial.state, trial.attempt) for trial in trials} == {(TrialState.DONE, 1)}
    assert (desk.folder / "runs").read_text().count("run") == TRIALS
