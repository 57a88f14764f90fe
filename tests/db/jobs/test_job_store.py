from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.leases import Lease
from db.schema.job_row import JobState
from db.trials.trial_log import StoredTrialLog
from optimizer.run.ports import LeaseLost
from optimizer.trials.trial import Phase
from sampler.bench.outcome import TrialState
from tests.support.db.writing_process import ended_trial, proposed_trial


class TestJobs:
    def test_a_new_job_waits(self, store: JobStore):
        before = datetime.now(UTC)
        job_id = store.create_job({"workload": "load", "space": {"a": [1, 2.5]}}, "d1")
        job = store.job(job_id)
        assert job.id == job_id
        assert job.state is JobState.QUEUED
        assert job.specification == {"workload": "load", "space": {"a": [1, 2.5]}}
        assert job.specification_digest == "d1"
        assert before <= job.created_at == job.updated_at <= datetime.now(UTC)
        assert (job.phase, job.why, job.error, job.environment) == (None, "", None, None)
        assert (job.lease_owner, job.lease_expires_at) == (None, None)
        assert store.result(job_id) is None

    def test_what_is_not_there(self, store: JobStore):
        for ask in (store.job, store.result, store.delete_job):
            with pytest.raises(KeyError, match="there is no job 7"):
                ask(7)
        with pytest.raises(KeyError, match="there is no job 7"):
            store.set_state(7, JobState.DONE)
        assert store.recall(7, "ranking") is None
        assert store.trials(7) == []
        assert store.count_trials(7) == {}

    def test_a_specification_that_is_not_finite_is_refused(self, store: JobStore):
        with pytest.raises(ValueError, match=r"specification\.budget is nan"):
            store.create_job({"budget": float("nan")}, "d")
        assert store.jobs() == []

    def test_the_newest_of_the_same_specification(self, store: JobStore):
        store.create_job({}, "same")
        newest = store.create_job({}, "same")
        store.create_job({}, "other")
        found = store.newest_job_with("same")
        assert found.id == newest
        assert store.newest_job_with("never") is None

    def test_the_newest_come_first(self, store: JobStore):
        ids = [store.create_job({}, "d") for _ in range(5)]
        assert [job.id for job in store.jobs(limit=2)] == [ids[4], ids[3]]

    def test_a_state_is_changed_only_from_what_was_expected(self, store: JobStore):
        job_id = store.create_job({}, "d")
        assert store.set_state(job_id, JobState.CANCELLED, expected=[JobState.QUEUED])
        assert not store.set_state(job_id, JobState.RUNNING, expected=[JobState.QUEUED])
        assert store.job(job_id).state is JobState.CANCELLED
        assert store.set_state(job_id, JobState.FAILED, why="the bench", error="No space\0left")
        job = store.job(job_id)
        assert (job.why, job.error) == ("the bench", "No space\\x00left")
        assert job.updated_at > job.created_at

    def test_environment_and_result(self, store: JobStore, lease: Lease):
        store.save_environment(lease.job_id, {"cpu": "Xeon", "cores": 2}, lease=lease)
        store.save_result(lease.job_id, {"best": None, "time": {"wall_seconds": 1e23}})
        assert store.job(lease.job_id).environment == {"cpu": "Xeon", "cores": 2}
        assert store.result(lease.job_id) == {"best": None, "time": {"wall_seconds": 1e23}}

    def test_a_lease_of_another_job_is_refused(self, store: JobStore, lease: Lease):
        other = store.create_job({}, "d")
        with pytest.raises(ValueError, match="the lease of job"):
            store.set_state(other, JobState.DONE, lease=lease)


class TestDeletion:
    def test_takes_all_that_belongs_to_the_job(
        self, store: JobStore, log: StoredTrialLog, lease: Lease, database: Engine
    ):
        log.propose(proposed_trial(1))
        log.remember("ranking", {"a": 1})
        store.set_state(lease.job_id, JobState.DONE)

        assert store.delete_job(lease.job_id)

        with database.connect() as connection:
            for table in ("job", "trial", "document"):
                count = connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one()
                assert (table, count) == (table, 0)
        with pytest.raises(LeaseLost, match="has been deleted"):
            log.propose(proposed_trial(2))

    def test_waits_until_the_job_has_ended(self, store: JobStore):
        job_id = store.create_job({}, "d")
        for state in (JobState.QUEUED, JobState.RUNNING):
            store.set_state(job_id, state)
            assert not store.delete_job(job_id)
            assert store.job(job_id).state is state

    def test_the_number_is_never_used_again(self, store: JobStore):
        deleted = store.create_job({}, "d")
        store.set_state(deleted, JobState.CANCELLED)
        store.delete_job(deleted)
        assert store.create_job({}, "d") > deleted


class TestWhatAJobHasDone:
    def test_is_read_without_its_lease(self, store: JobStore, log: StoredTrialLog, lease: Lease):
        for number in (1, 2, 3, 4):
            log.propose(proposed_trial(number))
        for number in (1, 3):
            log.finish(ended_trial(number))
        log.remember("ranking", {"a": 1})
        log.enter(Phase.RANK, "24 trials are enough")

        assert [trial.number for trial in store.trials(lease.job_id)] == [1, 2, 3, 4]
        page = store.trials(lease.job_id, after=1, limit=2)
        assert page == [proposed_trial(2), ended_trial(3)]
        assert store.count_trials(lease.job_id) == {TrialState.RUNNING: 2, TrialState.DONE: 2}
        assert store.recall(lease.job_id, "ranking") == {"a": 1}
        job = store.job(lease.job_id)
        assert (job.phase, job.why) == (Phase.RANK, "24 trials are enough")
        assert job.lease_owner == lease.owner
