"""A job that is cancelled while it is measured, and jobs that cannot begin."""

import pytest

from db.schema.job_row import JobState
from jobs.queue import lifecycle
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
