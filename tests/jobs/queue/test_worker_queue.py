"""The rows of the jobs are the queue: what they say is to be run is run."""

import psycopg
import pytest

from db.leases import LeaderLease, take_lead
from db.schema.job_row import JobState
from jobs import worker
from tests.support.jobs.worker_scene import Scene, at_work, scene

__all__ = ["scene"]


@pytest.mark.one_database
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


@pytest.mark.one_database
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


@pytest.mark.one_database
def test_schedules_that_fail_end_the_worker_and_say_why(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    def stumble(_: object, **_more: object) -> None:
        raise RuntimeError("stumbled")

    monkeypatch.setattr(worker, "keep_schedules", stumble)
    with pytest.raises(RuntimeError, match="stumbled"):
        worker.Worker(scene.engine, scene.settings).run()
    assert isinstance(take_lead(scene.engine, worker.BENCH, "another"), LeaderLease)
