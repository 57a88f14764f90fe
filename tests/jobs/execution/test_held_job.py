"""A job in the hands of one process: it keeps the lease, and waits for a database that is away."""

import threading
from collections.abc import Callable
from datetime import datetime

import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.exc import OperationalError

from db.jobs.job_store import JobStore
from db.leases import LeaseHeld, acquire, this_process_name
from db.schema.job_row import JobState
from db.trials.trial_log import WAITS_FOR
from jobs.execution import held_job
from jobs.execution.held_job import Retry, renewed_meanwhile
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


def test_who_uses_the_host_is_noted_while_the_job_waits_for_it(
    database: Engine, monkeypatch: pytest.MonkeyPatch
):
    store = JobStore(database)
    job_id = store.create_job({}, "d")
    lease = acquire(database, job_id, this_process_name())
    store.set_state(job_id, JobState.RUNNING)
    clock = [1000.0]
    monkeypatch.setattr(held_job.time, "monotonic", lambda: clock[0])

    def noted() -> object:
        return (store.recall(job_id, WAITS_FOR) or {}).get("holder")

    beat = held_job.Heartbeat(database, lease, NobodyWatches())
    beat.waits("process 7")
    first = store.job(job_id).updated_at
    clock[0] += 0.5
    beat.tick()
    beat.waits("process 7")
    assert noted() == "process 7"
    assert store.job(job_id).updated_at == first, "the same is not written again"
    beat.waits("process 8")
    assert noted() == "process 8"
    assert store.job(job_id).updated_at > first, "pages hear of it"
    clock[0] += held_job._WAITS_SECONDS + 0.1
    beat.tick()  # of the run: nobody has found the host in use any more
    assert noted() is None
    # Who runs the job after a controller that was killed while it waited.
    beat = held_job.Heartbeat(database, lease, NobodyWatches(), holder="process 8")
    clock[0] += held_job._WAITS_SECONDS + 0.1
    beat.tick()
    assert noted() is None


class NobodyWatches:
    """An observer of a run who looks away."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None


def failing(*reasons: str) -> Callable[[], str]:
    """An action that meets the reasons one after the other, and then ends well."""
    left = list(reasons)

    def action() -> str:
        if left:
            raise OperationalError("SELECT 1", None, Exception(left.pop(0)))
        return "done"

    return action


def told_of(action: Callable[[], str]) -> list[str]:
    """What is said until the action has ended; nothing connects, and nothing waits."""
    told: list[str] = []
    engine = create_engine("postgresql+psycopg://tuner:not-to-be-told@127.0.0.1/none")
    retry = Retry(engine, pause=lambda _: None, told=told.append)
    assert retry(action) == "done"
    return told


def test_each_reason_of_an_outage_is_told_once():
    assert told_of(failing("ended", "ended", "full", "ended", "full")) == [
        "the database does not answer; finished trials are kept in memory",
        "database error: ended",
        "database error: full",
        "the database answers again",
    ]


def test_nothing_is_told_of_a_database_that_answers():
    assert told_of(failing()) == []
