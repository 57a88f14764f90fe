"""A nightly batch that a real worker fires by cron, with nights on which no worker was there."""

import threading
from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine, func, select, update

from db.connection.engine import writing
from db.jobs.job_store import JobStore
from db.nightly.batches import batch_jobs, batch_result, find_schedule, remove_schedule
from db.nightly.nights import nights_of_batch
from db.schema.job_row import JobState
from db.schema.tables import job
from db.schema.tables import schedule as schedules
from jobs.queue.lifecycle import cancel_stored
from jobs.schedule import (
    BatchGoesOn,
    ScheduleTaken,
    fire_due,
    keep_schedule,
    keep_schedules,
    run_now,
)
from tests.support.jobs.night_scene import ITEMS, Clock, await_batches, batches, plan_of
from tests.support.jobs.worker_scene import Scene, at_work

pytestmark = pytest.mark.slow

# 02:30 in Berlin. On the 29th the clock goes from 02:00 to 03:00, and 02:30 comes at 03:00.
FIRST, SECOND, THIRD = (
    datetime(2026, 3, 28, 1, 30, tzinfo=UTC),
    datetime(2026, 3, 29, 1, 0, tzinfo=UTC),
    datetime(2026, 3, 30, 0, 30, tzinfo=UTC),
)


def kept(scene: Scene, *, missed: str = "late", name: str = "nightly") -> int:
    """The schedule's number."""
    keep_schedule(
        scene.engine, plan_of(scene), name=name, cron="30 2 * * *", time_zone="Europe/Berlin",
        missed=missed,
    )  # fmt: skip
    row = find_schedule(scene.engine, name)
    return row.id


def jobs_in_all(engine: Engine) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(job)).scalar_one()


@pytest.mark.parametrize(
    ("database_url", "missed"), [("postgresql", "late"), ("sqlite", "skip")],
    indirect=["database_url"],
)  # fmt: skip
def test_it_fires_twice_with_one_night_missed_between(
    scene: Scene, clock: Clock, missed: str
) -> None:
    kept(scene, missed=missed)
    second = "done" if missed == "late" else "skipped"
    with at_work(scene):
        clock.set("2026-03-28 01:29:59")
        assert batches(scene.engine) == []
        clock.set("2026-03-28 01:30:00")
        await_batches(scene.engine, "done")
    clock.set("2026-03-29 09:00")  # no worker was there at 03:00
    with at_work(scene):
        await_batches(scene.engine, "done", second)
        clock.set("2026-03-30 00:30:02")
        found = await_batches(scene.engine, "done", second, "done")
    assert [each.due_at for each in found] == [FIRST, SECOND, THIRD]
    assert found[0].why == found[2].why == "all jobs are done"
    schedule = find_schedule(scene.engine, "nightly")
    assert schedule.next_at == datetime(2026, 3, 31, 0, 30, tzinfo=UTC)
    measured = [each for each in found if each.state.value == "done"]
    for each in measured:
        jobs = batch_jobs(scene.engine, each.id)
        assert list(jobs) == ITEMS
        for row in jobs.values():
            scene.check_done(row.id)
        document = batch_result(scene.engine, each.id)
        assert [item["item"] for item in document["items"]] == ITEMS
        assert all(item["fitness"]["fitness"] is not None for item in document["items"])
    assert jobs_in_all(scene.engine) == len(ITEMS) * len(measured)
    seen = nights_of_batch(scene.engine, "nightly")
    assert [night.batch_id for night in seen] == [each.id for each in measured]
    for night in seen:
        assert list(night.items) == ITEMS
        for item in night.items.values():
            result = JobStore(scene.engine).result(item.job_id)
            assert item.result["baseline"] == result["baseline"]
            assert item.result["job"]["workload"].keys() == {"name", "digest"}
            assert "parameters" not in item.result
    for row in batch_jobs(scene.engine, found[0].id).values():
        assert scene.store.delete_job(row.id)
    assert nights_of_batch(scene.engine, "nightly") == seen, (
        "the batch keeps what its jobs measured"
    )
    assert nights_of_batch(scene.engine, "another") == []
    if missed == "skip":
        assert found[1].why == (
            "nothing ran at 2026-03-29 01:00 UTC; missed times of this schedule are skipped"
        )
        assert batch_jobs(scene.engine, found[1].id) == {}


def test_a_schedule_that_could_not_be_read_starts_at_its_time_alone(
    scene: Scene, clock: Clock
) -> None:
    kept(scene)

    def in_zone(zone: str) -> None:
        with writing(scene.engine) as connection:
            connection.execute(update(schedules).values(time_zone=zone))

    in_zone("Nowhere/Else")
    clock.set("2026-03-28 01:30:00")
    fire_due(scene.engine)
    (skipped,) = batches(scene.engine)
    assert (skipped.state.value, "cannot be read" in skipped.why) == ("skipped", True)
    in_zone("Europe/Berlin")
    clock.set("2026-03-28 02:45:00")
    assert fire_due(scene.engine) == []
    row = find_schedule(scene.engine, "nightly")
    assert row.next_at == SECOND


def test_a_week_without_a_worker_is_one_late_night(scene: Scene, clock: Clock) -> None:
    kept(scene)
    clock.set("2026-04-04 12:00")
    (batch_id,) = fire_due(scene.engine)
    (found,) = batches(scene.engine)
    assert (found.id, found.due_at) == (batch_id, datetime(2026, 4, 4, 0, 30, tzinfo=UTC))
    assert found.why == (
        "nothing ran from 2026-03-28 01:30 UTC to 2026-04-04 00:30 UTC; it runs late"
    )
    assert fire_due(scene.engine) == []


@pytest.mark.one_database
def test_a_batch_that_still_runs_is_not_started_twice(scene: Scene, clock: Clock) -> None:
    schedule_id = kept(scene)
    scene.hold.touch()
    clock.set("2026-03-28 01:30")
    with at_work(scene):
        await_batches(scene.engine, "running")
        scene.await_held()
        clock.set("2026-03-29 01:00")
        _, skipped = await_batches(scene.engine, "running", "skipped")
        assert skipped.why == "the previous batch has not ended"
        assert skipped.due_at == SECOND
        with pytest.raises(BatchGoesOn, match="batch 1 of this schedule has not ended"):
            run_now(scene.engine, schedule_id)
        scene.go_on()
        await_batches(scene.engine, "done", "skipped")
        assert jobs_in_all(scene.engine) == len(ITEMS)
        assert run_now(scene.engine, schedule_id) == 3
        await_batches(scene.engine, "done", "skipped", "done")
    schedule = find_schedule(scene.engine, "nightly")
    assert schedule.next_at == THIRD


def test_two_workers_that_fire_at_once_start_it_once(scene: Scene, clock: Clock) -> None:
    kept(scene)
    fired: list[int] = []
    for night in range(6):
        clock.now = datetime(2026, 4, 1 + night, 0, 30, tzinfo=UTC)
        gate = threading.Barrier(4)

        def fire(gate: threading.Barrier = gate) -> None:
            gate.wait()
            fired.extend(fire_due(scene.engine))

        threads = [threading.Thread(target=fire) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # The first is left to run, and each that follows is skipped for it.
        assert len(fired) == night + 1
    assert sorted(fired) == [each.id for each in batches(scene.engine)]
    assert [each.state.value for each in batches(scene.engine)] == ["running", *["skipped"] * 5]
    assert jobs_in_all(scene.engine) == len(ITEMS)


def test_a_batch_ends_when_its_last_job_has_ended_however_it_did(
    scene: Scene, clock: Clock
) -> None:
    kept(scene)
    clock.set("2026-03-28 01:30")
    assert keep_schedules(scene.engine) == []
    first, second = batch_jobs(scene.engine, 1).values()
    cancel_stored(scene.engine, first.id)
    assert keep_schedules(scene.engine) == []
    scene.store.set_state(second.id, JobState.FAILED, error="the disk is on fire")
    assert keep_schedules(scene.engine) == ["nightly"]
    assert keep_schedules(scene.engine) == []
    (found,) = batches(scene.engine)
    assert (found.state.value, found.why) == (
        "failed",
        "0 of 2 jobs are done, 1 failed, 1 cancelled",
    )
    document = batch_result(scene.engine, found.id)
    assert [item["error"] for item in document["items"]] == [None, "the disk is on fire"]


def test_a_deleted_schedule_leaves_its_batch_alone(scene: Scene, clock: Clock) -> None:
    kept(scene)
    with pytest.raises(ScheduleTaken, match="'nightly' already"):
        kept(scene)
    clock.set("2026-03-28 01:30")
    assert len(fire_due(scene.engine)) == 1
    assert remove_schedule(scene.engine, "nightly")
    assert not remove_schedule(scene.engine, "nightly")
    for row in batch_jobs(scene.engine, 1).values():
        cancel_stored(scene.engine, row.id)
    assert keep_schedules(scene.engine) == ["nightly"]
    # Its name may be taken again, and its times are its own: nothing is skipped for the old one.
    kept(scene)
    clock.set("2026-03-29 01:00")
    assert len(fire_due(scene.engine)) == 1
    first, second = batches(scene.engine)
    assert (first.state.value, second.state.value) == ("failed", "running")
    assert first.schedule_id != second.schedule_id
