"""Which job goes first, and what is cancelled before it began."""

import threading
from itertools import pairwise

import pytest

from db.schema.job_row import JobState
from jobs.queue import lifecycle
from tests.support.jobs.worker_scene import Scene, at_work, scene

__all__ = ["scene"]


@pytest.mark.one_database
@pytest.mark.slow
def test_the_highest_priority_goes_first_and_one_job_at_a_time(scene: Scene):
    jobs = [scene.submit(priority=priority) for priority in (0, -3, 5, 5, 1000, -1000)]
    with at_work(scene):
        for job in jobs:
            scene.await_state(job, JobState.DONE)
    spans = []
    for job in jobs:
        scene.check_done(job)
        trials = scene.store.trials(job)
        assert all(trial.attempt == 1 for trial in trials)
        spans.append((trials[0].started_at, trials[-1].finished_at, job))
    spans.sort()  # type: ignore[arg-type]
    assert [job for _, _, job in spans] == [jobs[i] for i in (4, 2, 3, 0, 1, 5)]
    assert all(first[1] <= second[0] for first, second in pairwise(spans))  # type: ignore[operator]


@pytest.mark.one_database
@pytest.mark.slow
def test_what_is_cancelled_while_it_waits_is_never_begun(scene: Scene):
    scene.hold.touch()
    first, second, third = (scene.submit() for _ in range(3))
    with at_work(scene):
        scene.await_held()
        lifecycle.cancel_stored(scene.engine, second)
        scene.go_on()
        scene.await_state(third, JobState.DONE)
        assert scene.row(second).state is JobState.CANCELLED
        assert scene.store.trials(second) == []
        lifecycle.resume_stored(scene.engine, second)
        scene.await_state(second, JobState.DONE)
    for job in (first, second, third):
        scene.check_done(job)


@pytest.mark.one_database
@pytest.mark.slow
def test_two_workers_in_turn_in_one_process(scene: Scene):
    """What the first has left is no burden to the second: no thread outlives a worker."""
    before = set(threading.enumerate())
    for _ in range(2):
        job = scene.submit()
        with at_work(scene):
            scene.await_state(job, JobState.DONE)
        scene.check_done(job)
        assert scene.row(job).run == 1
        assert set(threading.enumerate()) <= before
