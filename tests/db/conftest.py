import sys
from pathlib import Path

import pytest
from sqlalchemy import Engine

# The fixtures that other rooms' tests use too are beside the rooms' folders.
sys.path.append(str(Path(__file__).parents[1]))

from databases import *  # noqa: F403
from databases import _server_url, _sqlite_template  # noqa: F401

from db.job_store import Store
from db.lease import Lease, acquire
from db.process import this_process
from db.trial_log import StoredTrialLog


@pytest.fixture
def store(database: Engine) -> Store:
    return Store(database)


@pytest.fixture
def lease(database: Engine, store: Store) -> Lease:
    job_id = store.create_job({"workload": "load-quick", "trials": 12}, "digest-1")
    return acquire(database, job_id, this_process())


@pytest.fixture
def log(database: Engine, lease: Lease) -> StoredTrialLog:
    return StoredTrialLog(database, lease)
