"""A job whose process is killed again and again loses nothing and measures nothing twice."""

import json
import os
import random
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from db.connection.engine import make_engine
from db.jobs.job_store import JobStore
from db.schema.job_row import JobState
from optimizer.trials.trial import Trial
from sampler.bench.outcome import TrialState
from tests.support.cli.launched import Zygote
from tests.support.cli.terminal import Desk, rest
from tests.support.db.stored_trials import trials_of
from tests.support.jobs.instant import (
    ended_within,
    left_running,
    pidfd,
    read_from,
    write_space,
    write_workload,
)

pytestmark = pytest.mark.slow

KILLS = 6
TRIALS = 40


@pytest.fixture
def pipe(desk: Desk) -> Iterator[int]:
    """Every run writes its configuration here, before it measures."""
    os.mkfifo(desk.folder / "measured")
    descriptor = os.open(desk.folder / "measured", os.O_RDWR)
    yield descriptor
    os.close(descriptor)


def written(configuration: object) -> str:
    return json.dumps(configuration)


@pytest.mark.parametrize(
    "strategy", ["random", pytest.param("genetic", marks=pytest.mark.one_database)]
)
def test_killed_at_any_moment(
    desk: Desk, zygote: Zygote, database_url: str, pipe: int, strategy: str
):
    workload = write_workload(desk.folder, record=desk.folder / "measured")
    arguments = ["tune", "--workload", workload, "--space", write_space(desk.folder),
                 "--objective", "waf", "--strategy", strategy, "--trials", TRIALS,
                 "--db", database_url, "--out", desk.out, "--resume"]  # fmt: skip
    chance = random.Random(f"{strategy}/{database_url.partition(':')[0]}")
    measured = b""
    ended: dict[int, Trial] = {}
    for _ in range(KILLS):
        pid = zygote.start(desk, *arguments)
        wanted = chance.randrange(1, 6)
        seen = b""
        while seen.count(b"\n") < wanted:
            seen += read_from(pipe, pid)
        with pidfd(pid) as process:  # somewhere in this trial, or after it
            assert process is not None
            ended_within(process, chance.uniform(0, 0.02))
        os.kill(pid, signal.SIGKILL)
        assert zygote.wait(pid) == -signal.SIGKILL
        assert left_running(desk.mark) == []
        measured += seen + rest(pipe)
        stored = {trial.number: trial for trial in trials_of(database_url)}
        # What had ended is there as it was; of the others one at most was in flight.
        assert {number: stored[number] for number in ended} == ended
        assert sum(trial.state is TrialState.RUNNING for trial in stored.values()) <= 1
        ended = {n: t for n, t in stored.items() if t.state is not TrialState.RUNNING}
    pid = zygote.start(desk, *arguments)
    assert zygote.wait(pid) == 0, (desk.folder / "log").read_text()
    measured += rest(pipe)
    check_whole(desk, database_url, ended, Counter(measured.decode().splitlines()))


def check_whole(desk: Desk, url: str, ended: dict[int, Trial], measured: Counter[str]) -> None:
    trials = {trial.number: trial for trial in trials_of(url)}
    assert sorted(trials) == list(range(1, TRIALS + 1))
    assert {trial.state for trial in trials.values()} == {TrialState.DONE}
    assert {number: trials[number] for number in ended} == ended
    again = sum(trial.attempt - 1 for trial in trials.values())
    assert again <= KILLS
    # Each was measured once, and those that were in flight when the process died once more for
    # each time (or not, had they not begun).
    once = Counter(written(trial.configuration) for trial in trials.values())
    most = Counter[str]()
    for trial in trials.values():
        most[written(trial.configuration)] += trial.attempt
    assert once <= measured <= most
    assert measured.total() <= TRIALS + KILLS
    assert json.loads((desk.out / "result.json").read_text())["trials"]["total"] == TRIALS
    assert list(desk.bench.iterdir()) == []
    engine = make_engine(url)
    row = JobStore(engine).job(1)
    engine.dispose()
    assert (row.state, row.lease_owner) == (JobState.DONE, None)


@pytest.mark.db_bench
def test_killed_with_the_real_db_bench(desk: Desk, zygote: Zygote):
    workload = desk.folder / "tiny.toml"
    workload.write_text('name = "tiny"\nnum = 20000\nscale = 128\nsettle = "none"\n')
    arguments = ["tune", "--workload", workload, "--objective", "waf", "--strategy", "random",
                 "--trials", 12, "--db", desk.database, "--out", desk.out,
                 "--no-price", "--resume"]  # fmt: skip
    ended: dict[int, Trial] = {}
    for _ in range(2):
        pid = zygote.start(desk, *arguments)
        running = wait_for_db_bench(desk, pid)
        os.kill(pid, signal.SIGKILL)
        assert zygote.wait(pid) == -signal.SIGKILL
        assert left_running(str(desk.bench)) == []
        with pidfd(running) as process:  # nobody may have taken its status yet
            assert process is None or ended_within(process, 20)
        stored = {trial.number: trial for trial in trials_of(desk.database)}
        assert {number: stored[number] for number in ended} == ended
        ended = {n: t for n, t in stored.items() if t.state is not TrialState.RUNNING}
    assert zygote.wait(zygote.start(desk, *arguments)) in (0, 3)
    trials = trials_of(desk.database)
    assert [trial.number for trial in trials] == list(range(1, 13))
    assert {trial.number: trial for trial in trials if trial.number in ended} == ended
    assert sum(trial.attempt - 1 for trial in trials) == 2
    assert list(desk.bench.iterdir()) == []


def wait_for_db_bench(desk: Desk, controller: int) -> int:
    """The number of the db_bench that measures a trial, once it does."""
    with pidfd(controller) as process:
        assert process is not None
        while not ended_within(process, 0.005):
            for folder in Path("/proc").iterdir():
                try:
                    command = (folder / "cmdline").read_bytes()
                except OSError:
                    continue
                if f"--db={desk.bench}".encode() in command and b"setpriv" not in command:
                    return int(folder.name)
    raise AssertionError("the job ended before it measured anything")
