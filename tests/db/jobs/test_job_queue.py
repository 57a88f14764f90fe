from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Engine

from db.connection.engine import writing
from db.jobs.job_queue import (
    KeyReusedError,
    QueueFullError,
    ended_for,
    enqueue_job,
    next_job,
    queue_again,
    require_room,
    state_of,
)
from db.jobs.job_store import JobStore
from db.leases import acquire, release, this_process_name
from db.schema.job_row import JobState
from tests.support.db.server_clock import Clock, server_clock
from tests.support.db.threads import at_once

__all__ = ["server_clock"]


def put(engine: Engine, **more: Any) -> tuple[int, bool]:
    return enqueue_job(engine, {"workload": {"name": "load"}}, "d", why="waits", **more)


class TestSubmit:
    def test_keeps_what_was_asked_for(self, database: Engine, store: JobStore):
        job_id, new = put(database, priority=7, submitter="ci", key="k", request_digest="r")
        assert new
        row = store.job(job_id)
        assert (row.state, row.why, row.run, row.priority) == (JobState.QUEUED, "waits", 1, 7)
        assert (row.by_service, row.submitter, row.standing) == (True, "ci", None)
        assert row.specification == {"workload": {"name": "load"}}

    def test_that_is_not_finite_is_refused(self, database: Engine, store: JobStore):
        with pytest.raises(ValueError, match="nan"):
            enqueue_job(database, {"minutes": float("nan")}, "d", why="")
        assert store.jobs() == []

    def test_the_same_key_makes_one_job(self, database: Engine, store: JobStore):
        first = put(database, key="k", request_digest="r")
        assert put(database, key="k", request_digest="r") == (first[0], False)
        assert put(database, key="other", request_digest="r")[1]
        assert len(store.jobs()) == 2

    def test_without_a_key_each_makes_one(self, database: Engine, store: JobStore):
        assert [put(database)[1] for _ in range(3)] == [True] * 3
        assert len(store.jobs()) == 3

    def test_a_key_with_another_request_is_refused(self, database: Engine, store: JobStore):
        job_id, _ = put(database, key="k", request_digest="r")
        with pytest.raises(KeyReusedError, match=f"another request .job {job_id}"):
            put(database, key="k", request_digest="s")
        assert len(store.jobs()) == 1

    def test_one_key_from_many_threads_at_once_makes_one_job(
        self, database: Engine, store: JobStore
    ):
        made = at_once(
            lambda index: put(database, key=f"k{index % 2}", request_digest="r"), range(8)
        )
        assert sum(new for _, new in made) == 2
        assert len({job_id for job_id, _ in made}) == len(store.jobs()) == 2

    def test_of_many_at_once_no_more_are_taken_than_the_queue_holds(
        self, database: Engine, store: JobStore
    ):
        for most in range(1, 30, 3):
            asked = partial(put, database, request_digest="r", most_queued=most)
            keys = [f"{most}-{index}" for index in range(8)]
            made = at_once(lambda key, asked=asked: asked(key=key), keys)
            assert len(store.jobs()) == most
            full = [isinstance(each, QueueFullError) for each in made]
            assert full.count(False) == min(most, 3)

    def test_one_key_at_once_on_the_last_place_finds_the_one_job(
        self, database: Engine, store: JobStore
    ):
        for most in range(1, 11):
            asked = partial(put, database, request_digest="r", most_queued=most)
            made = at_once(lambda key, asked=asked: asked(key=key)[0], [f"k{most}"] * 8)
            assert len(set(made)) == 1
            assert len(store.jobs()) == most

    def test_a_full_queue_takes_no_more_but_knows_its_keys(
        self, database: Engine, store: JobStore
    ):
        first = put(database, key="k", request_digest="r", most_queued=2)
        put(database, most_queued=2)
        with pytest.raises(QueueFullError, match=r"the queue is full \(2 jobs\); try again"):
            put(database, most_queued=2)
        assert put(database, key="k", request_digest="r", most_queued=2) == (first[0], False)
        store.set_state(first[0], JobState.RUNNING)
        assert put(database, most_queued=2)[1]


class TestRoom:
    def test_is_counted_for_every_way_into_the_queue(self, database: Engine, store: JobStore):
        first = put(database)[0]
        put(database, state=JobState.RUNNING)  # is no longer queued
        put(database, by_service=False)  # a terminal measures it
        with writing(database) as connection:
            require_room(connection, 2, 3)
            require_room(connection, 99, None)
            with pytest.raises(QueueFullError, match=r"\(3 jobs\) has room for 2 more, not for 3"):
                require_room(connection, 3, 3)
        store.set_state(first, JobState.FAILED)
        put(database)
        with pytest.raises(QueueFullError, match=r"the queue is full \(1 jobs\); try again"):
            queue_again(database, first, expected=[JobState.FAILED], why="", most_queued=1)
        assert store.job(first).state is JobState.FAILED
        assert queue_again(database, first, expected=[JobState.FAILED], why="", most_queued=2)

    def test_of_many_that_are_resumed_at_once_is_for_so_many(
        self, database: Engine, store: JobStore
    ):
        jobs = [put(database)[0] for _ in range(8)]
        for job in jobs:
            store.set_state(job, JobState.CANCELLED)
        again = partial(queue_again, expected=[JobState.CANCELLED], why="", most_queued=3)
        resumed = at_once(lambda job: again(database, job), jobs)
        assert sum(each is True for each in resumed) == 3
        assert sum(isinstance(each, QueueFullError) for each in resumed) == 5


class TestNext:
    def test_is_the_services_oldest_live_job_of_the_highest_priority(
        self, database: Engine, store: JobStore
    ):
        assert next_job(database) is None
        ids = [put(database, priority=priority)[0] for priority in (0, 9, 9, 30, -1)]
        put(database, by_service=False, state=JobState.RUNNING, priority=99)
        store.create_job({}, "of a terminal")
        store.set_state(ids[1], JobState.RUNNING)
        store.set_state(ids[3], JobState.CANCELLED)
        for job_id in (ids[1], ids[2], ids[0], ids[4]):
            assert next_job(database) == (job_id, 1)
            store.set_state(job_id, JobState.DONE)
        assert next_job(database) is None

    def test_one_that_was_queued_again_keeps_its_place(self, database: Engine, store: JobStore):
        ids = [put(database)[0] for _ in range(2)]
        store.set_state(ids[0], JobState.CANCELLED)
        queue_again(database, ids[0], expected=[JobState.CANCELLED], why="")
        assert next_job(database) == (ids[0], 2)

    def test_a_state_is_told_with_its_run(self, database: Engine):
        job_id, _ = put(database)
        assert state_of(database, job_id) == (JobState.QUEUED, 1)
        assert state_of(database, 99) is None


class TestAgain:
    def test_is_a_new_run_without_the_old_error(self, database: Engine, store: JobStore):
        job_id, _ = put(database)
        store.set_state(job_id, JobState.FAILED, error="no disk")
        assert queue_again(database, job_id, expected=[JobState.FAILED], why="once more")
        row = store.job(job_id)
        assert (row.state, row.run, row.error, row.why) == (JobState.QUEUED, 2, None, "once more")

    @pytest.mark.parametrize("state", [s for s in JobState if s is not JobState.FAILED])
    def test_only_from_the_expected_state(
        self, database: Engine, store: JobStore, state: JobState
    ):
        job_id, _ = put(database)
        store.set_state(job_id, state)
        assert not queue_again(database, job_id, expected=[JobState.FAILED], why="")
        assert state_of(database, job_id) == (state, 1)

    def test_can_be_for_a_runner_of_the_users_own(self, database: Engine, store: JobStore):
        job_id, _ = put(database)
        store.set_state(job_id, JobState.CANCELLED)
        queue_again(database, job_id, expected=[JobState.CANCELLED], state=JobState.RUNNING,
                    why="", by_service=False)  # fmt: skip
        assert state_of(database, job_id) == (JobState.RUNNING, 2)
        assert next_job(database) is None

    def test_of_no_job_is_nothing(self, database: Engine):
        assert not queue_again(database, 99, expected=list(JobState), why="")


class TestRetention:
    def test_finds_ended_jobs_that_have_not_changed_since(self, database: Engine, store: JobStore):
        ids = [put(database)[0] for _ in range(5)]
        for job_id, state in zip(ids, JobState, strict=True):
            store.set_state(job_id, state)
        ended = [job_id for job_id in ids if store.job(job_id).state.value in
                 ("done", "failed", "cancelled")]  # fmt: skip
        assert ended_for(database, timedelta(0), limit=10) == ended
        assert ended_for(database, timedelta(0), limit=2) == ended[:2]
        assert ended_for(database, timedelta(hours=1), limit=10) == []

    def test_goes_by_one_clock_whatever_each_server_s_says(
        self, database: Engine, store: JobStore, server_clock: Clock
    ):
        job_id, _ = put(database)
        server_clock.set(-timedelta(days=3))
        store.set_state(job_id, JobState.DONE)
        server_clock.set(timedelta(days=3))
        assert ended_for(database, timedelta(days=1), limit=10) == []

    def test_leaves_out_a_job_that_is_measured_again(self, database: Engine, store: JobStore):
        job_id, _ = put(database)
        store.set_state(job_id, JobState.DONE)
        lease = acquire(database, job_id, this_process_name())
        assert ended_for(database, timedelta(0), limit=10) == []
        release(database, lease)
        assert ended_for(database, timedelta(0), limit=10) == [job_id]
        acquire(database, job_id, this_process_name(), seconds=-1)  # its holder has gone
        assert ended_for(database, timedelta(0), limit=10) == [job_id]
