"""A controller that computes for longer than its lease holds keeps the job."""

import threading
from datetime import datetime

import pytest
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.leases.lease import LeaseHeld, acquire
from db.leases.process import this_process_name
from jobs.execution.held_job import renewed_meanwhile
from tests.support.jobs.service_desk import wait_until

ANOTHER = "elsewhere:another-boot:1:4711:99"


def names() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def test_it_is_renewed_until_the_block_ends(database: Engine):
    store = JobStore(database)
    job_id = store.create_job({}, "d")
    lease = acquire(database, job_id, this_process_name(), seconds=0)

    def until() -> datetime:
        found = store.job(job_id).lease_expires_at
        assert found is not None
        return found

    with renewed_meanwhile(database, lease, every=0.01):
        first = until()
        wait_until(lambda: until() > first, seconds=30, what="it is renewed")
        second = until()
        wait_until(lambda: until() > second, seconds=30, what="it is renewed again")
        with pytest.raises(LeaseHeld):
            acquire(database, job_id, ANOTHER)
    assert f"lease of job {job_id}" not in names()


def test_one_that_another_has_taken_is_left_to_it(database: Engine):
    store = JobStore(database)
    job_id = store.create_job({}, "d")
    lease = acquire(database, job_id, this_process_name(), seconds=0)
    taken = acquire(database, job_id, ANOTHER, seconds=0)
    before = store.job(job_id)
    with renewed_meanwhile(database, lease, every=0.01):
        wait_until(lambda: f"lease of job {job_id}" not in names(), seconds=30, what="it gives up")
    assert store.job(job_id) == before
    assert taken.epoch == lease.epoch + 1


def test_it_ends_with_a_failure_too(database: Engine):
    lease = acquire(database, JobStore(database).create_job({}, "d"), this_process_name())
    with pytest.raises(ZeroDivisionError), renewed_meanwhile(database, lease):
        raise ZeroDivisionError
    assert f"lease of job {lease.job_id}" not in names()
