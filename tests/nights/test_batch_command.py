"""`rocktune batch`: what it leaves, how it ends, and that it loses nothing when it is killed."""

import json
import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from db.jobs.job_store import JobStore
from db.nightly.batches import batch_jobs, batch_result
from db.nightly.nights import nights_of_batch
from db.schema.job_row import JobState
from jobs.batch.batch_run import BatchTurn
from optimizer.trials.trial import Trial
from sampler.bench.outcome import TrialState
from tests.support.cli.launched import Zygote
from tests.support.cli.terminal import Desk, rest
from tests.support.jobs.instant import (
    ended_within,
    left_running,
    pidfd,
    read_from,
    write_space,
    write_workload,
)
from tests.support.jobs.night_scene import ITEMS, NIGHTLY, batches, write_nightly

pytestmark = pytest.mark.slow

Here = Callable[..., int]
FILES = {"result.json", "trials.csv", "report.html"}
TRIALS = 12


def arguments(desk: Desk, file: Path, *more: object, db: str | None = None) -> list[object]:
    return ["batch", file, "--db", db or desk.database, "--out", desk.out, *more]


def written(desk: Desk) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((desk.out / "batch.json").read_text())
    return document


def trials_of(url: str) -> dict[int, list[Trial]]:
    """By job."""
    engine = make_engine(url)
    try:
        upgrade_tables(engine)
        store = JobStore(engine)
        return {row.id: store.trials(row.id) for row in store.jobs()}
    finally:
        engine.dispose()


def in_flight(found: dict[int, list[Trial]]) -> int:
    return sum(trial.state is TrialState.RUNNING for each in found.values() for trial in each)


def test_killed_in_the_middle_it_goes_on_and_repeats_nothing(
    desk: Desk, zygote: Zygote, database_url: str
) -> None:
    os.mkfifo(desk.folder / "measured")
    pipe = os.open(desk.folder / "measured", os.O_RDWR)
    write_workload(desk.folder, record=desk.folder / "measured")
    write_space(desk.folder)
    (desk.folder / "nightly.toml").write_text(NIGHTLY)
    given = arguments(desk, desk.folder / "nightly.toml", "--resume", db=database_url)
    ended: dict[tuple[int, int], Trial] = {}
    seen = Counter[str]()
    # In the first job, in the second, and in the second again, where it is asked to end.
    for wanted, number in ((5, signal.SIGKILL), (11, signal.SIGKILL), (3, signal.SIGTERM)):
        pid = zygote.start(desk, *given)
        came = b""
        while came.count(b"\n") < wanted:
            came += read_from(pipe, pid)
        os.kill(pid, number)
        status = zygote.wait(pid)
        assert status == (-number if number == signal.SIGKILL else 130), log(desk)
        assert left_running(desk.mark) == []
        seen.update((came + rest(pipe)).decode().splitlines())
        stored = trials_of(database_url)
        assert in_flight(stored) <= 1
        now = {
            (job, trial.number): trial
            for job, trials in stored.items()
            for trial in trials
            if trial.state is not TrialState.RUNNING
        }
        assert {key: now[key] for key in ended} == ended, "what had ended is as it was"
        ended = now
    assert "interrupted; batch 1 is kept" in log(desk)
    pid = zygote.start(desk, *given)
    assert zygote.wait(pid) == 0, log(desk)
    seen.update(rest(pipe).decode().splitlines())
    os.close(pipe)
    stored = trials_of(database_url)
    assert sorted(stored) == [1, 2]
    for trials in stored.values():
        assert [trial.number for trial in trials] == list(range(1, TRIALS + 1))
        assert {trial.state for trial in trials} == {TrialState.DONE}
    again = sum(trial.attempt - 1 for trials in stored.values() for trial in trials)
    assert again <= 3
    assert 2 * TRIALS <= seen.total() <= 2 * TRIALS + again
    engine = make_engine(database_url)
    (batch,) = batches(engine)
    assert (batch.state.value, batch.why) == ("done", "all jobs are done")
    assert written(desk) == batch_result(engine, batch.id)
    (night,) = nights_of_batch(engine, "nightly")
    assert list(night.items) == ITEMS
    engine.dispose()
    for item in ITEMS:
        assert {path.name for path in (desk.out / item).iterdir()} >= FILES


def log(desk: Desk) -> str:
    return (desk.folder / "log").read_text()


def test_a_job_whose_files_cannot_be_written_is_done_all_the_same(
    desk: Desk, here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    write_workload(desk.folder)
    file = write_nightly(desk.folder, NIGHTLY)
    first, second = ITEMS
    (desk.out / first / "result.json").mkdir(parents=True)  # where a file should go
    assert here(*arguments(desk, file)) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert f"{first}: job 1 is done, but its files could not be written: " in said
    assert "`rocktune report 1` and `rocktune options 1` give them" in said
    assert written(desk)["state"] == "done"
    assert {path.name for path in (desk.out / second).iterdir()} >= FILES
    (desk.out / first / "result.json").rmdir()
    capsys.readouterr()
    assert here("report", 1, "--db", desk.database, "--out", desk.folder / "one.html") == 0
    assert (desk.folder / "one.html").stat().st_size > 10_000


def test_a_failed_job_is_told_and_the_others_run(
    desk: Desk, here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = desk.folder / "broken"
    broken.mkdir()
    write_workload(broken, script="echo 'the disk is on fire' >&2; exit 3\n")
    file = write_nightly(
        desk.folder,
        NIGHTLY.replace('["workload.toml"]', '["broken/workload.toml"]').replace(
            '["space.toml"]', '["space.toml"]\nseed = 3'
        ),
    )
    assert here(*arguments(desk, file, "--json")) == 1
    shown = capsys.readouterr()
    document = json.loads(shown.out)
    assert document == written(desk)
    first, second = document["items"]
    assert (first["item"], first["state"], first["result"]) == ("workload/space", "failed", None)
    assert "the disk is on fire" in first["error"]
    assert (second["item"], second["state"], second["trials"]) == ("again", "done", TRIALS)
    assert second["confirmed"] in (True, False)
    keys = {"percent", "low", "high", "p", "p_adjusted", "detectable"}
    assert second["change"]["waf"].keys() == keys
    assert "1 of 2 jobs are done, 1 failed" in shown.err
    assert "rocktune: workload/space: " in shown.err
    assert not (desk.out / "workload/space/result.json").exists()


def test_resume_begins_another_once_all_is_done_and_gives_up_what_is_left(
    desk: Desk, here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_nightly(desk.folder, NIGHTLY.partition("[[job]]")[0])
    assert here(*arguments(desk, file)) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[0].split()[:5] == ["job", "trials", "fitness", "95%", "interval"]
    assert table[1].startswith("workload/space")
    assert table[-1] == f"Batch 1: all jobs are done. Written to {desk.out}."
    assert here(*arguments(desk, file, "--resume")) == 0
    engine = make_engine(desk.database)
    assert [each.state.value for each in batches(engine)] == ["done", "done"]
    # A third was interrupted; the file has changed since, so it is given up.
    from jobs.batch.batch_plan import read_batch
    from jobs.batch.batch_run import open_batch

    third = open_batch(engine, read_batch(file), resume=False).row.id
    file.write_text(file.read_text().replace("trials = 12", "trials = 13"))
    assert here(*arguments(desk, file, "--resume")) == 0
    assert f"batch {third} was interrupted and is abandoned" in capsys.readouterr().err
    assert [each.state.value for each in batches(engine)] == ["done", "done", "failed", "done"]
    (job,) = batch_jobs(engine, third).values()
    assert job.state is JobState.CANCELLED
    engine.dispose()


def test_a_batch_that_is_being_run_is_not_started_twice(
    desk: Desk, here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_nightly(desk.folder)
    engine = make_engine(desk.database)
    upgrade_tables(engine)
    turn = BatchTurn(engine, "nightly")
    for more in ((), ("--resume",)):
        assert here(*arguments(desk, file, *more)) == 1
        said = capsys.readouterr().err
        assert f"nightly is being run by process {os.getpid()}" in said
        assert "cannot be started twice" in said
    assert batches(engine) == []
    turn.give_back()
    engine.dispose()


def test_all_is_checked_before_the_first_job_begins(
    desk: Desk, here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_nightly(desk.folder, NIGHTLY + 'trials = 3\n[[job]]\nname = "x"\nseed = -1\n')
    assert here(*arguments(desk, file)) == 2
    said = capsys.readouterr().err
    assert "again: trials: 3 are too few" in said and "x: seed: -1 is not between" in said
    # What only this machine can tell is checked before, too.
    text = (desk.folder / "workload.toml").read_text().replace("/bin/sh", "/no/such/program")
    (desk.folder / "away.toml").write_text(text)
    file = write_nightly(desk.folder, NIGHTLY + '[[job]]\nworkload = "away.toml"\nname = "x"\n')
    file.write_text(file.read_text().replace('name = "x"', 'name = "x"\nspace = "space.toml"'))
    assert here(*arguments(desk, file)) == 2
    assert "x: workload.command.argv" in capsys.readouterr().err
    engine = make_engine(desk.database)
    upgrade_tables(engine)
    assert batches(engine) == [] and JobStore(engine).jobs() == []
    engine.dispose()


def test_a_process_that_ended_leaves_no_turn(desk: Desk) -> None:
    """`pidfd` of one that is gone: its turn is free at once."""
    engine = make_engine(desk.database)
    upgrade_tables(engine)
    child = os.fork()
    if child == 0:
        BatchTurn(engine, "nightly")
        os._exit(0)
    with pidfd(child) as process:
        assert process is not None and ended_within(process, 60)
    os.waitpid(child, 0)
    BatchTurn(engine, "nightly").give_back()
    engine.dispose()
