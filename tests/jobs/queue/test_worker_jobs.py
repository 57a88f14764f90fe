"""A worker's jobs: which goes first, what is cancelled, cannot begin, or is old."""

import threading
from itertools import pairwise

import pytest

from db.schema.job_row import JobState
from jobs import worker
from jobs.queue import lifecycle
from jobs.queue.service_settings import ServiceSettings
from sampler.bench.outcome import TrialState
from sampler.machine.machine import start_time
from tests.support.jobs.service_desk import wait_until
from tests.support.jobs.worker_scene import Scene, at_work, scene

__all__ = ["scene"]


@pytest.mark.slow
def test_cancelled_while_it_runs_ends_the_benchmark_and_can_go_on(scene: Scene):
    job = scene.submit(trials=14)
    with at_work(scene):
        scene.await_trials(job, 3)
        scene.hold.touch()
        pid = scene.await_held()
        before = scene.store.trials(job)
        lifecycle.cancel_stored(scene.engine, job)
        # How soon that is on a free machine, `make prove-faults` measures: two seconds at most.
        wait_until(lambda: start_time(pid) is None, seconds=2, what="the benchmark is gone")
        scene.go_on()
        wait_until(lambda: scene.row(job).lease_owner is None, seconds=30, what="given back")
        kept = scene.store.trials(job)
        assert kept[:-1] == before[:-1]
        assert kept[-1].state is TrialState.LOST
        assert kept[-1].failure == "the job was cancelled; resuming it runs the trial again"
        assert scene.row(job).state is JobState.CANCELLED
        lifecycle.resume_stored(scene.engine, job)
        scene.await_state(job, JobState.DONE)
    scene.check_done(job, 14)
    trials = scene.store.trials(job)
    assert trials[: len(before) - 1] == before[:-1]
    assert [t.attempt for t in trials] == [1 + (n == len(before)) for n in range(1, 15)]
    assert list(scene.settings.bench_dir.iterdir()) == []


@pytest.mark.slow
def test_cancelled_and_let_go_on_before_the_worker_looked(scene: Scene):
    """Then it is queued, and what runs must not go on beside it, or under a row that says so."""
    scene.hold.touch()
    job = scene.submit()
    with at_work(scene):
        pid = scene.await_held()
        lifecycle.cancel_stored(scene.engine, job)
        lifecycle.resume_stored(scene.engine, job)
        wait_until(lambda: start_time(pid) is None, seconds=10, what="the benchmark is gone")
        scene.go_on()
        scene.await_state(job, JobState.DONE)
    scene.check_done(job)
    assert [t.attempt for t in scene.store.trials(job)] == [2] + [1] * 11
    assert scene.row(job).run == 2


@pytest.mark.one_database
@pytest.mark.slow
def test_a_job_that_cannot_begin_fails_and_the_next_one_runs(scene: Scene):
    gone, fine = scene.submit(priority=9, program="removed.sh"), scene.submit()
    program = scene.folder / "removed.sh"
    program.rename(scene.folder / "elsewhere.sh")
    with at_work(scene):
        row = scene.await_state(gone, JobState.FAILED)
        scene.await_state(fine, JobState.DONE)
        why = f"'{program}' is not an executable program on this host"
        assert row.error == f"workload.command.argv: {why}"
        assert scene.store.trials(gone) == []
        (scene.folder / "elsewhere.sh").rename(program)
        lifecycle.resume_stored(scene.engine, gone)
        scene.await_state(gone, JobState.DONE)
    scene.check_done(fine)
    scene.check_done(gone)


@pytest.mark.one_database
@pytest.mark.slow
def test_a_job_whose_baseline_fails_says_why_and_the_next_one_runs(scene: Scene):
    broken = scene.submit(priority=9)
    program = scene.folder / "bench.sh"
    whole = program.read_text()
    program.write_text("#!/bin/sh\necho no disk at all >&2\nexit 3\n")
    with at_work(scene):
        row = scene.await_state(broken, JobState.FAILED)
        assert row.error is not None
        assert "baseline: cannot be measured" in row.error
        assert "no disk at all" in row.error
        program.write_text(whole)
        fine = scene.submit()
        scene.await_state(fine, JobState.DONE)
    scene.check_done(fine)


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
