import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError

from db.connection.engine import make_engine, writing
from db.jobs.job_store import JobStore
from db.leases import Lease, LeaseHeld, acquire, fence, release, renew, this_process_name
from db.schema.job_row import JobState
from db.schema.tables import metadata
from db.trials.trial_log import StoredTrialLog
from optimizer.run.ports import LeaseLost
from optimizer.trials.trial import Phase
from tests.support.db.writing_process import ended_trial, proposed_trial, started

ANOTHER = "elsewhere:another-boot:1:4711:99"


def everything(engine: Engine) -> dict[str, list[object]]:
    with engine.connect() as connection:
        return {
            name: sorted(map(repr, connection.execute(table.select())))
            for name, table in metadata.tables.items()
        }


class TestTaking:
    def test_a_free_job_is_taken(self, database: Engine, store: JobStore):
        job_id = store.create_job({}, "d")
        before = datetime.now(UTC)
        lease = acquire(database, job_id, this_process_name(), seconds=60)
        assert lease == Lease(job_id, 1, this_process_name())
        until = store.job(job_id).lease_expires_at
        assert until is not None
        assert until >= before + timedelta(seconds=60)

    def test_a_job_that_is_not_there(self, database: Engine):
        with pytest.raises(KeyError, match="there is no job 7"):
            acquire(database, 7, this_process_name())

    def test_a_held_job_is_refused_and_the_message_says_by_whom(
        self, database: Engine, store: JobStore
    ):
        job_id = store.create_job({}, "d")
        acquire(database, job_id, ANOTHER)
        until = store.job(job_id).lease_expires_at
        before = everything(database)
        with pytest.raises(LeaseHeld) as refused:
            acquire(database, job_id, this_process_name())
        assert "process 4711 on elsewhere" in str(refused.value)
        assert f"{until:%Y-%m-%d %H:%M:%S} UTC" in str(refused.value)
        assert (refused.value.owner, refused.value.until) == (ANOTHER, until)
        assert everything(database) == before

    def test_another_thread_of_this_process_is_refused_too(self, database: Engine, lease: Lease):
        with pytest.raises(LeaseHeld, match=f"process {os.getpid()} on"):
            acquire(database, lease.job_id, this_process_name())

    def test_a_late_holder_loses_the_job(self, database: Engine, store: JobStore):
        job_id = store.create_job({}, "d")
        acquire(database, job_id, ANOTHER, seconds=-1)
        assert acquire(database, job_id, this_process_name()).epoch == 2

    def test_a_released_job_is_free(self, database: Engine, lease: Lease):
        release(database, lease)
        assert acquire(database, lease.job_id, ANOTHER).epoch == lease.epoch + 1

    def test_renewing_moves_the_end(self, database: Engine, store: JobStore, lease: Lease):
        renew(database, lease, seconds=3600)
        until = store.job(lease.job_id).lease_expires_at
        assert until is not None
        assert until > datetime.now(UTC) + timedelta(seconds=3000)

    def test_one_that_ran_out_is_renewed_if_nobody_took_it(
        self, database: Engine, store: JobStore
    ):
        lease = acquire(database, store.create_job({}, "d"), this_process_name(), seconds=-1)
        renew(database, lease)
        with pytest.raises(LeaseHeld):
            acquire(database, lease.job_id, ANOTHER)


@pytest.mark.slow
class TestAHolderThatWasKilled:
    def test_is_followed_at_once(self, database: Engine, database_url: str, store: JobStore):
        job_id = store.create_job({}, "d")
        with started("hold", database_url, job_id) as holder:
            assert holder.stdout.readline() == "1\n"
            with pytest.raises(LeaseHeld, match=f"process {holder.pid} on"):
                acquire(database, job_id, this_process_name())

            holder.kill()
            # Dead but not yet buried: a container's first process may never bury it.
            os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)
            assert acquire(database, job_id, this_process_name()).epoch == 2


WRITES: dict[str, Callable[[Engine, Lease], object]] = {
    "propose": lambda e, lease: StoredTrialLog(e, lease).propose(proposed_trial(2)),
    "propose again": lambda e, lease: StoredTrialLog(e, lease).propose(
        replace(proposed_trial(1), attempt=2)
    ),
    "finish": lambda e, lease: StoredTrialLog(e, lease).finish(ended_trial(1)),
    "enter": lambda e, lease: StoredTrialLog(e, lease).enter(Phase.SEARCH, "late"),
    "remember": lambda e, lease: StoredTrialLog(e, lease).remember("ranking", {"late": 1}),
    "set_state": lambda e, lease: JobStore(e).set_state(lease.job_id, JobState.DONE, lease=lease),
    "save_environment": lambda e, lease: JobStore(e).save_environment(
        lease.job_id, {}, lease=lease
    ),
    "save_result": lambda e, lease: JobStore(e).save_result(lease.job_id, {}, lease=lease),
    "renew": renew,
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
class TestFencing:
    def test_a_lease_that_was_taken_over_writes_nothing(
        self, database: Engine, log: StoredTrialLog, lease: Lease, write: Callable[..., object]
    ):
        log.propose(proposed_trial(1))
        log.remember("ranking", {"early": 1})
        renew(database, lease, seconds=-1)
        acquire(database, lease.job_id, ANOTHER)
        before = everything(database)
        with pytest.raises(LeaseLost, match="taken over by process 4711 on elsewhere"):
            write(database, lease)
        assert everything(database) == before

    def test_so_does_one_that_the_same_process_took_again(
        self, database: Engine, log: StoredTrialLog, lease: Lease, write: Callable[..., object]
    ):
        log.propose(proposed_trial(1))
        release(database, lease)
        acquire(database, lease.job_id, lease.owner)
        before = everything(database)
        with pytest.raises(LeaseLost, match=f"taken over by process {os.getpid()}"):
            write(database, lease)
        assert everything(database) == before

    def test_so_does_one_that_was_given_back(
        self, database: Engine, log: StoredTrialLog, lease: Lease, write: Callable[..., object]
    ):
        log.propose(proposed_trial(1))
        release(database, lease)
        before = everything(database)
        with pytest.raises(LeaseLost, match="was released"):
            write(database, lease)
        assert everything(database) == before

    def test_one_that_only_ran_out_still_writes(
        self, database: Engine, log: StoredTrialLog, lease: Lease, write: Callable[..., object]
    ):
        log.propose(proposed_trial(1))
        renew(database, lease, seconds=-1)
        before = everything(database)
        write(database, lease)
        assert everything(database) != before


def test_releasing_a_lost_lease_leaves_the_new_one(database: Engine, lease: Lease):
    renew(database, lease, seconds=-1)
    acquire(database, lease.job_id, ANOTHER)
    before = everything(database)
    release(database, lease)
    assert everything(database) == before


def test_nobody_takes_over_between_the_proof_and_the_commit(
    database: Engine, database_url: str, lease: Lease
):
    """The takeover waits for the write; here it is told not to wait, so that it fails."""
    renew(database, lease, seconds=-1)
    url = make_url(database_url)
    if url.get_backend_name() == "postgresql":
        url = url.update_query_dict({"options": "-c lock_timeout=1"})
    impatient = make_engine(url.render_as_string(hide_password=False))
    if url.get_backend_name() == "sqlite":
        impatient.dispose()
        event.listen(
            impatient, "connect", lambda driver, _: driver.execute("PRAGMA busy_timeout = 0")
        )
    with writing(database) as connection:
        fence(connection, lease)
        with pytest.raises(OperationalError, match="lock"):
            acquire(impatient, lease.job_id, ANOTHER)
    assert acquire(impatient, lease.job_id, ANOTHER).epoch == lease.epoch + 1
    impatient.dispose()
