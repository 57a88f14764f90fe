"""Several workers of one database: one is at work, the others wait for it to go."""

import signal

import pytest

from db.leases import BENCH, LeaderLease, take_lead
from db.schema.job_row import JobState
from jobs.cluster.cluster import Cluster
from jobs.worker import Worker
from sampler.common.errors import InputError
from sampler.machine.machine import start_time
from tests.support.jobs.instant import left_running
from tests.support.jobs.worker_process import worker_process
from tests.support.jobs.worker_scene import Scene, scene

__all__ = ["scene"]
LATE = "2000-01-01 00:00:00"


@pytest.mark.slow
@pytest.mark.parametrize("end", ["killed", "stopped"])
def test_a_second_worker_waits_and_takes_over(scene: Scene, end: str):
    job = scene.submit()
    scene.hold.touch()
    with worker_process(scene) as first:
        pid = scene.await_held()
        with worker_process(scene, "second") as second:
            second.await_said("another worker is running; waiting")
            assert not second.said("worker is ready")
            if end == "killed":
                first.kill()
            else:
                assert first.stop() == 0
                assert start_time(pid) is None
                assert "Traceback" not in first.log.read_text()
            second.await_said("worker is ready")
            again = scene.await_held()
            assert again != pid
            assert start_time(pid) is None
            scene.go_on()
            scene.await_state(job, JobState.DONE)
            assert second.stop() == 0
            assert "Traceback" not in second.log.read_text()
    scene.check_done(job)
    assert scene.row(job).run == 1
    assert [trial.attempt for trial in scene.store.trials(job)] == [2] + [1] * 11
    assert left_running(str(scene.folder / "bench.sh")) == []
    assert list(scene.settings.bench_dir.iterdir()) == []


@pytest.mark.slow
def test_a_worker_that_sleeps_through_its_turn_writes_nothing_and_waits(scene: Scene):
    job = scene.submit()
    scene.hold.touch()
    with worker_process(scene) as sleeper:
        sleeper.await_said("job started")
        with worker_process(scene, "second", other_host=True) as second:
            second.await_said("another worker is running; waiting")
            scene.await_held()
            scene.freeze(sleeper.send)
            scene.execute(f"UPDATE leader SET expires_at = '{LATE}'")
            second.await_said("another process has the job; waiting")
            scene.execute(f"UPDATE job SET lease_expires_at = '{LATE}'")
            scene.go_on()
            scene.await_trials(job, 3)
            scene.hold.touch()
            scene.await_held()
            before = scene.store.trials(job)
            sleeper.send(signal.SIGCONT)
            sleeper.await_said("another worker is running; waiting")
            assert sleeper.said("job stopped")
            assert scene.store.trials(job) == before
            scene.go_on()
            scene.await_state(job, JobState.DONE)
            assert second.stop() == 0
        sleeper.await_said("worker is ready", 2)
        following = scene.submit()
        scene.await_state(following, JobState.DONE)
        assert sleeper.stop() == 0
    for each in (job, following):
        scene.check_done(each)
    trials = scene.store.trials(job)
    assert trials[: len(before) - 1] == before[:-1]
    assert [trial.attempt for trial in trials] == [2] + [1] * 11


@pytest.mark.one_database
@pytest.mark.slow
def test_a_replaced_worker_can_be_stopped_while_the_other_is_at_work(scene: Scene):
    """It must not wait for the end of what it no longer runs."""
    job = scene.submit()
    scene.hold.touch()
    with worker_process(scene) as sleeper:
        scene.await_held()
        scene.freeze(sleeper.send)
        scene.execute(f"UPDATE leader SET expires_at = '{LATE}'")
        scene.execute(f"UPDATE job SET lease_expires_at = '{LATE}'")
        with worker_process(scene, "second", other_host=True) as second:
            second.await_said("phase")
            scene.await_held()
            sleeper.send(signal.SIGCONT)
            sleeper.await_said("another worker is running; waiting")
            assert sleeper.stop() == 0
            scene.go_on()
            scene.await_state(job, JobState.DONE)
            assert second.stop() == 0
    scene.check_done(job)


def test_a_worker_whose_line_to_the_cluster_is_refused_ends_and_says_why(scene: Scene):
    job = scene.submit()

    def ended() -> Cluster:
        raise InputError("certificates", "'controller.pem' ended on 2026-11-01")

    working = Worker(scene.engine, scene.settings, cluster=ended)
    with pytest.raises(InputError, match=r"controller\.pem"):
        working.run()
    assert scene.row(job).state is JobState.QUEUED
    # The lease is free again, for a worker with better ones.
    assert isinstance(take_lead(scene.engine, BENCH, "another"), LeaderLease)
