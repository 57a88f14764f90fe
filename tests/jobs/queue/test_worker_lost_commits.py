"""A database that is lost in the middle of a commit: whether it arrived, nobody knows."""

import random
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from db.jobs.job_store import JobStore
from db.leases import acquire
from db.schema.job_row import JobState
from db.trials.trial_log import StoredTrialLog
from jobs.execution.assembly import assemble
from jobs.execution.held_job import Retry, RetryingLog, held_job
from jobs.execution.run_job import run_job
from optimizer.trials.trial import Trial
from sampler.bench.settings import Settings
from tests.support.jobs.instant import Watcher, codec_job, write_workload
from tests.support.jobs.lost_commits import LOST, lose
from tests.support.jobs.worker_scene import Scene, at_work, scene

__all__ = ["scene"]
pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


@pytest.mark.parametrize("arrives", [True, False], ids=["answer lost", "commit lost"])
def test_a_job_comes_through(
    database: Engine,
    tmp_path: Path,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    arrives: bool,
):
    workload = write_workload(tmp_path, record=tmp_path / "record")
    specification = codec_job(tmp_path, workload)
    store = JobStore(database)
    job = store.create_job(specification.document(), specification.digest())
    # The first is that of the lease: a controller that cannot even take it gives up.
    chance = random.Random(1)
    broken = lose(
        database, monkeypatch, lambda n: n > 1 and chance.random() < 0.3, arrives=arrives
    )
    told: list[str] = []
    finished = run_job(
        database, job, specification, assemble(specification, settings), settings,
        progress=Watcher(), away=told.append, pause=lambda _: None,
    )  # fmt: skip
    monkeypatch.undo()
    assert len(broken) > 8
    assert told[0].startswith("the database does not answer")
    assert told[1] == f"database error: {LOST}"
    assert told[2] == "the database answers again"
    row = store.job(job)
    assert (row.state, row.error) == (JobState.DONE, None)
    assert store.trials(job) == list(finished.trials)
    assert [trial.attempt for trial in finished.trials] == [1] * 12
    assert len((tmp_path / "record").read_text().splitlines()) == 12
    assert store.result(job) == finished.result


def test_an_outcome_whose_answer_was_lost_is_kept_once(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    log, trial = log_with_trial(scene)
    broken = lose(scene.engine, monkeypatch, lambda n: n == 1, arrives=True)
    log.finish(trial)
    assert broken == [1]
    assert list(log.trials()) == [trial]
    with pytest.raises(ValueError, match="has already ended"):
        log.finish(trial)  # it was no lost answer this time


def test_another_outcome_in_its_place_is_told(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    """Not everything that is found after a lost answer is one's own."""
    log, trial = log_with_trial(scene)

    def lost(*_: object, **__: object) -> None:
        scene.execute("UPDATE trial SET attempt = 7")
        monkeypatch.undo()
        raise OperationalError("COMMIT", {}, psycopg.OperationalError(LOST))

    monkeypatch.setattr(StoredTrialLog, "finish", lost)
    with pytest.raises(ValueError, match="attempt 7 is in flight, not 1"):
        log.finish(trial)


@pytest.mark.parametrize(
    "moment",
    [
        "jobs.worker.take_lead",
        "jobs.worker.see_host",
        "jobs.worker.next_job",
        "jobs.worker.keep_lead",
        "jobs.worker.keep_schedules",
        "jobs.execution.run_job.is_to_run",
        "jobs.execution.held_job.acquire",
    ],
)
def test_the_database_goes_away_just_when_a_job_begins(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, moment: str
):
    """That is no fault of the job."""
    module, name = moment.rsplit(".", 1)
    real, tries = getattr(__import__(module, fromlist=[name]), name), []

    def lost(*arguments: object, **named: object) -> object:
        tries.append(1)
        if len(tries) == 1:
            raise OperationalError("SELECT 1", {}, psycopg.OperationalError(LOST))
        return real(*arguments, **named)

    monkeypatch.setattr(moment, lost)
    job = scene.submit()
    with at_work(scene):
        scene.await_state(job, JobState.DONE)
    assert len(tries) >= 2
    scene.check_done(job)
    assert scene.row(job).error is None


def test_what_nobody_tries_again_is_no_fault_of_the_job(scene: Scene):
    job = scene.submit()
    scene.store.set_state(job, JobState.RUNNING)
    lost = OperationalError("SELECT 1", {}, psycopg.OperationalError(LOST))
    with pytest.raises(OperationalError), held_job(scene.engine, job, progress=Watcher()):
        raise lost
    row = scene.row(job)
    assert (row.state, row.error, row.lease_owner) == (JobState.RUNNING, None, None)
    with at_work(scene):
        scene.await_state(job, JobState.DONE)


def log_with_trial(scene: Scene) -> tuple[RetryingLog, Trial]:
    """A log that holds one running trial, and the trial as it will have ended."""
    job = scene.submit()
    with at_work(scene):
        scene.await_state(job, JobState.DONE)
    trial = scene.store.trials(job)[0]
    scene.execute("DELETE FROM trial WHERE number > 1")
    scene.execute("UPDATE trial SET state = 'running', finished_at = NULL")
    lease = acquire(scene.engine, job, "a controller")
    retry = Retry(scene.engine, pause=lambda _: None, told=lambda _: None)
    return RetryingLog(StoredTrialLog(scene.engine, lease), retry), trial
