"""From the tables of the last release to today's, on a database that is in use."""

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Engine, MetaData, Table, select

from db.connection.engine import reading, writing
from db.connection.migrate import upgrade_tables
from db.jobs.job_store import JobStore
from db.leases import acquire, this_process_name
from db.schema.job_row import JobState
from db.trials.trial_log import StoredTrialLog
from tests.support.db.revisions import move
from tests.support.db.writing_process import ended_trial, proposed_trial


def fill(engine: Engine) -> dict[str, int]:
    """Rows as the last release's terminal wrote them; SQLAlchemy sees the tables as they are."""
    old = MetaData()
    with writing(engine) as connection:
        old.reflect(connection)
        moment = datetime(2026, 1, 1, tzinfo=UTC)
        shown = moment.replace(tzinfo=None) if engine.dialect.name == "sqlite" else moment
        job: dict[str, Any] = {
            "created_at": shown, "updated_at": shown, "state": "running", "why": "w",
            "specification": {"trials": 12}, "specification_digest": "d", "lease_epoch": 3,
        }  # fmt: skip
        ids = [
            connection.execute(old.tables["job"].insert().values(job)).inserted_primary_key[0]
            for _ in range(2)
        ]
        trial: dict[str, Any] = {
            "job_id": ids[0], "attempt": 1, "state": "done", "phase": "sample", "seed": 2**63 - 1,
            "purpose": "candidate", "digest": "d", "configuration": {"a": 1e23}, "why": "w",
            "based_on": 0, "waf": 1.5, "other_metrics": {}, "counters": {}, "warnings": [],
            "bench_seconds": 1.0, "lease_epoch": 3, "finished_at": shown,
        }  # fmt: skip
        for number in (1, 2, 3):
            connection.execute(old.tables["trial"].insert().values(trial | {"number": number}))
        connection.execute(
            old.tables["document"].insert().values(
                job_id=ids[0], name="ranking", body={"a": 1}, updated_at=shown)
        )  # fmt: skip
    return {"job": len(ids), "trial": 3, "document": 1}


def rows(engine: Engine, name: str) -> list[dict[str, Any]]:
    found = MetaData()
    with reading(engine) as connection:
        table = Table(name, found, autoload_with=connection)
        ordered = select(table).order_by(*table.primary_key)
        return [dict(row._mapping) for row in connection.execute(ordered)]


@pytest.fixture
def used(empty_database: Engine) -> Engine:
    move(empty_database, "0005")
    fill(empty_database)
    return empty_database


def test_the_jobs_of_before_are_the_terminals(used: Engine):
    before = {name: rows(used, name) for name in ("job", "trial", "document")}
    upgrade_tables(used)
    for name, kept in before.items():
        assert [{k: row[k] for k in kept[0]} for row in rows(used, name)] == kept
    store = JobStore(used)
    for job in store.jobs():
        assert (job.priority, job.run, job.by_service) == (0, 1, False)
        assert (job.submitter, job.standing) == (None, None)
    assert [trial.given for trial in store.trials(1)] == [False] * 3


def test_they_can_go_on(used: Engine):
    upgrade_tables(used)
    lease = acquire(used, 1, this_process_name())
    log = StoredTrialLog(used, lease)
    log.propose(proposed_trial(4))
    log.finish(ended_trial(4))
    store = JobStore(used)
    assert [trial.number for trial in store.trials(1)] == [1, 2, 3, 4]
    assert store.set_state(1, JobState.DONE, lease=lease)
    assert store.delete_job(1)
    assert store.create_job({}, "d") == 3  # numbers go on where they were
