"""The rows of the jobs are the queue: what they say is to be run is run."""

import threading

import psycopg
import pytest

from db.jobs.job_store import JobStore
from db.leases import LeaderLease, take_lead
from db.schema.job_row import JobState
from jobs import worker
from tests.support.jobs.worker_scene import Scene, at_work, scene

__all__ = ["scene"]


@pytest.mark.slow
def test_what_was_queued_while_no_worker_ran(scene: Scene):
    """As a server leaves it that is killed between taking a job and telling anybody."""
    jobs = [scene.submit() for _ in range(3)]
    with at_work(scene):
        for job in jobs:
            scene.await_state(job, JobState.DONE)
    for job in jobs:
        scene.check_done(job)
        assert scene.row(job).run == 1


@pytest.mark.slow
def test_a_job_that_nobody_runs_is_ended_from_its_trials(scene: Scene):
    """As a worker leaves it that is killed between the last trial and the result."""
    job = scene.submit()
    with at_work(scene):
        scene.await_state(job, JobState.DONE)
        before = scene.store.trials(job)
        scene.execute(f"UPDATE job SET state = 'running', result = NULL WHERE id = {job}")
        scene.await_state(job, JobState.DONE)
    scene.check_done(job)
    assert scene.store.trials(job) == before


@pytest.mark.slow
def test_jobs_of_the_terminal_are_left_alone(scene: Scene):
    theirs = JobStore(scene.engine).create_job({"workload": {}}, "d")
    ours = scene.submit()
    with at_work(scene):
        scene.await_state(ours, JobState.DONE)
    assert scene.row(theirs).state is JobState.QUEUED


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_no_session_is_left_in_a_transaction(scene: Scene):
    scene.hold.touch()
    job = scene.submit()
    with at_work(scene), psycopg.connect(scene.url, autocommit=True) as watching:
        scene.await_held()
        left = []
        for _ in range(50):
            left += watching.execute(
                "SELECT query FROM pg_stat_activity WHERE application_name = 'rocktune' "
                "AND state LIKE 'idle in transaction%' AND datname = current_database() "
                "AND state_change < clock_timestamp() - interval '200 ms'"
            ).fetchall()
        assert left == []
        scene.go_on()
        scene.await_state(job, JobState.DONE)


def test_a_job_whose_row_is_gone_just_then_stops_nobody(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    """Not even its failure can be kept."""
    real, gone = worker.next_job, [(4711, 1)]
    monkeypatch.setattr(worker, "next_job", lambda engine: gone.pop() if gone else real(engine))
    job = scene.submit()
    with at_work(scene):
        scene.await_state(job, JobState.DONE)
    scene.check_done(job)


def test_schedules_that_fail_end_the_worker_and_say_why(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    def stumble(_: object, **_more: object) -> None:
        raise RuntimeError("stumbled")

    monkeypatch.setattr(worker, "keep_schedules", stumble)
    with pytest.raises(RuntimeError, match="stumbled"):
        worker.Worker(scene.engine, scene.settings).run()
    assert isinstance(take_lead(scene.engine, worker.BENCH, "another"), LeaderLease)


def test_no_thread_outlives_the_worker(scene: Scene):
    before = set(threading.enumerate())
    with at_work(scene):
        scene.await_state(scene.submit(), JobState.DONE)
    assert set(threading.enumerate()) <= before
