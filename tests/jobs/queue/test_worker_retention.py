"""Old jobs are deleted."""

import pytest

from db.schema.job_row import JobState
from jobs import worker
from jobs.queue import lifecycle
from jobs.queue.service_settings import ServiceSettings
from tests.support.jobs.service_desk import wait_until
from tests.support.jobs.worker_scene import Scene, at_work, scene

__all__ = ["scene"]


@pytest.mark.one_database
@pytest.mark.slow
def test_ended_jobs_are_deleted_when_they_are_old(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker, "_RETENTION_SECONDS", 0.2)
    old, young, cancelled = (scene.submit() for _ in range(3))
    with at_work(scene, service=ServiceSettings(keep_days=2)):
        for job in (old, young, cancelled):
            scene.await_state(job, JobState.DONE)
        assert len(scene.store.jobs()) == 3
        scene.hold.touch()
        live = scene.submit()
        scene.await_held()
        # Two runs of one job.
        scene.execute(f"UPDATE job SET state = 'failed' WHERE id = {old}")
        lifecycle.resume_stored(scene.engine, old)
        lifecycle.cancel_stored(scene.engine, old)
        month = "UPDATE job SET updated_at = '2026-01-01 00:00:00' WHERE id IN"
        scene.execute(f"{month} ({old}, {cancelled}, {live})")
        wait_until(lambda: len(scene.store.jobs()) == 2, seconds=10, what="two are deleted")
        scene.go_on()
        scene.await_state(live, JobState.DONE)
    assert {job.id for job in scene.store.jobs()} == {young, live}
    assert scene.store.trials(old) == []
    scene.check_done(young)
    scene.check_done(live)


@pytest.mark.one_database
@pytest.mark.slow
def test_a_job_that_another_deletes_first_is_no_failure(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(worker, "_RETENTION_SECONDS", 0.1)
    looked = []
    gone = [4711]

    def ended_for(*_: object, **__: object) -> list[int]:
        looked.append(1)
        return gone

    monkeypatch.setattr(worker, "ended_for", ended_for)
    job = scene.submit()
    with at_work(scene, service=ServiceSettings(keep_days=1)):
        scene.await_state(job, JobState.DONE)
        wait_until(lambda: len(looked) > 2, seconds=10, what="it has looked")
    scene.check_done(job)
