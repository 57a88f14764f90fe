import pytest
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.leases import Lease, acquire, this_process_name
from db.trials.trial_log import StoredTrialLog


@pytest.fixture
def store(database: Engine) -> JobStore:
    return JobStore(database)


@pytest.fixture
def lease(database: Engine, store: JobStore) -> Lease:
    job_id = store.create_job({"workload": "load-quick", "trials": 12}, "digest-1")
    return acquire(database, job_id, this_process_name())


@pytest.fixture
def log(database: Engine, lease: Lease) -> StoredTrialLog:
    return StoredTrialLog(database, lease)
