"""The queue and the jobs' rows are brought together again, whatever either has lost."""

import threading

import psycopg
import pytest

from db.jobs.job_store import Store
from db.schema.job_row import JobState
from jobs.queue import durable_queue
from sampler.common.errors import InputError
from tests.support.jobs.service_desk import wait_until
from tests.support.jobs.worker_scene import Scene, at_work, scene

__all__ = ["scene"]


def test_what_was_queued_while_no_worker_ran(scene: Scene):
    """As a server leaves it that is killed between taking a job and telling anybody."""
    jobs = [scene.submit() for _ in range(3)]
    with at_work(scene):
        for job in jobs:
            scene.await_state(job, JobState.DONE)
    for job in jobs:
        scene.check_done(job)
        assert scene.row(job).run == 1


def test_a_run_that_has_ended_though_the_job_has_not(scene: Scene):
    job = scene.submit()
    with at_work(scene):
        scene.await_state(job, JobState.DONE)
        scene.await_ended_run(job, 1)
        before = scene.store.trials(job)
        scene.execute(f"UPDATE job SET state = 'running', result = NULL WHERE id = {job}")
        scene.await_state(job, JobState.DONE)
        assert scene.row(job).run == 2
    scene.check_done(job)
    assert scene.store.trials(job) == before


def test_the_queue_is_emptied_while_a_job_runs_and_another_waits(scene: Scene):
    scene.hold.touch()
    first, second = scene.submit(), scene.submit()
    with at_work(scene):
        scene.await_held()
        for table in ("workflow_status", "queues"):
            scene.execute(f"DELETE FROM {scene.queue_table(table)}")
        scene.go_on()
        for job in (first, second):
            scene.await_state(job, JobState.DONE)
        third = scene.submit()
        scene.await_state(third, JobState.DONE)
    for job in (first, second, third):
        scene.check_done(job)
        assert {trial.attempt for trial in scene.store.trials(job)} == {1}


def test_the_queue_is_gone(scene: Scene):
    """A file's is made again by itself; of a server's the user is told."""
    job = scene.submit()
    if scene.engine.dialect.name == "sqlite":
        with at_work(scene):
            scene.await_state(job, JobState.DONE)
        second = scene.submit()
        for name in scene.queue_tables():
            scene.execute(f'DROP TABLE "{name}"')
        job = second
    else:
        scene.execute("DROP SCHEMA dbos CASCADE")
        queue = durable_queue.DurableQueue(scene.engine, lambda *_: None)
        with pytest.raises(InputError, match=r"has no tables of the queue.*--migrate"):
            queue.open()
        queue.close()
        durable_queue.migrate_queue(scene.engine)
    with at_work(scene):
        scene.await_state(job, JobState.DONE)
    scene.check_done(job)


def test_a_run_that_was_handed_out_to_nobody(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    """As a server leaves it that goes away at the wrong moment: it would block all others."""
    monkeypatch.setattr(durable_queue, "_STRANDED_SECONDS", 0.5)
    scene.hold.touch()
    first, second, third = (scene.submit() for _ in range(3))
    with at_work(scene):
        scene.await_held()
        handed_out = (
            f"UPDATE {scene.queue_table('workflow_status')} SET status = 'PENDING', "
            f"executor_id = 'rocktune' WHERE workflow_uuid = 'job-{second}-1'"
        )
        wait_until(lambda: scene.execute(handed_out), seconds=10, what="the second is queued")
        wait_until(lambda: scene.row(second).run == 2, seconds=10, what="it is queued again")
        assert scene.row(first).run == 1  # what somebody runs is left alone
        scene.go_on()
        for job in (first, second, third):
            scene.await_state(job, JobState.DONE)
    for job in (first, second, third):
        scene.check_done(job)


def test_jobs_of_the_terminal_are_left_alone(scene: Scene):
    theirs = Store(scene.engine).create_job({"workload": {}}, "d")
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
                # The queue's library holds a lock that way, and on purpose.
                "SELECT query FROM pg_stat_activity WHERE application_name = 'rocktune' "
                "AND state LIKE 'idle in transaction%' AND datname = current_database() "
                "AND state_change < clock_timestamp() - interval '200 ms'"
            ).fetchall()
        assert left == []
        scene.go_on()
        scene.await_state(job, JobState.DONE)


def test_no_thread_outlives_the_queue(scene: Scene):
    """One that waits for the end of what another took over would keep the process from ending."""
    table = scene.queue_table("workflow_status")
    taken = []

    def run(*_: int) -> None:
        taken.append(scene.execute(f"UPDATE {table} SET owner_xid = 'another'"))

    queue = durable_queue.DurableQueue(scene.engine, run)
    queue.open()
    queue.put(1, 1, 0)
    wait_until(lambda: taken, seconds=10, what="it was run")
    queue.close()
    assert taken == [1]

    def left() -> list[threading.Thread]:
        return [each for each in threading.enumerate() if each.name.startswith("dbos-executor")]

    wait_until(lambda: not left(), seconds=10, what="its threads have ended")
