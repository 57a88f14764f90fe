"""What the alerts of ``deploy/prometheus`` look at, as `/metrics` tells it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import Engine, insert, update

from db.connection.engine import writing
from db.jobs.job_store import JobStore
from db.leases import BENCH, LeaderLease, give_back_lead, see_host, take_lead, this_process_name
from db.nightly.batches import add_schedule
from db.schema.job_row import JobState
from db.schema.tables import batch, document, host

Figures = Callable[[str], dict[tuple[str, ...], float]]
AT = datetime(2026, 11, 1, 2, 30, tzinfo=UTC)


@pytest.fixture
def figures(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> Figures:
    """The values of a metric by those of its labels, as they are at that moment."""
    monkeypatch.setattr("api.routes.health._FRESH_SECONDS", -1.0)

    def read(name: str) -> dict[tuple[str, ...], float]:
        families = text_string_to_metric_families(client.get("/metrics").text)
        (found,) = (each for each in families if each.name == f"rocktune_{name}")
        return {tuple(each.labels.values()): each.value for each in found.samples}

    return read


def test_a_worker_leads_until_it_goes_or_its_lease_runs_out(
    figures: Figures, database: Engine
) -> None:
    assert figures("leading_workers") == {(): 0}
    taken = take_lead(database, BENCH, this_process_name())
    assert isinstance(taken, LeaderLease)
    assert figures("leading_workers") == {(): 1}
    give_back_lead(database, taken)
    assert figures("leading_workers") == {(): 0}
    take_lead(database, BENCH, this_process_name(), seconds=-1)
    take_lead(database, "batch nightly", this_process_name())  # another thing that is led
    assert figures("leading_workers") == {(): 0}


def test_a_host_is_busy_as_long_as_it_is_seen(figures: Figures, database: Engine) -> None:
    for name, job_id in (("gone", 7), ("idle", None), ("works", 7)):
        see_host(database, name, {}, job_id)
    with writing(database) as connection:
        long_ago = datetime.now(UTC) - timedelta(minutes=2)
        gone = update(host).where(host.c.name == "gone").values(seen_at=long_ago)
        connection.execute(gone)
    assert figures("host_busy") == {("gone",): 0, ("idle",): 0, ("works",): 1}
    assert figures("host_seen_timestamp_seconds")[("gone",)] == pytest.approx(long_ago.timestamp())


def test_a_host_is_excluded_as_long_as_that_job_runs(figures: Figures, database: Engine) -> None:
    see_host(database, "bench-1", {}, None)
    store = JobStore(database)
    job_id = store.create_job({"trials": 1}, "d")
    store.set_state(job_id, JobState.RUNNING)
    with writing(database) as connection:
        for name, body in (
            ("hosts_set_aside", {"hosts": {"bench-2": "it jumped"}}),
            ("declared_test", {"hosts": {"bench-1": "another document"}}),
        ):
            row = {"job_id": job_id, "name": name, "body": body, "updated_at": AT}
            connection.execute(insert(document).values(row))
    assert figures("host_excluded") == {("bench-1",): 0, ("bench-2",): 1}
    store.set_state(job_id, JobState.DONE)
    assert figures("host_excluded") == {("bench-1",): 0}


def test_a_schedule_tells_when_it_is_due(figures: Figures, database: Engine) -> None:
    about = {"cron": "30 2 * * *", "time_zone": "UTC", "missed": "skip", "document": {}}
    add_schedule(database, name="nightly", next_at=AT, **about)
    assert figures("schedule_next_timestamp_seconds") == {("nightly",): AT.timestamp()}


def kept(database: Engine, name: str, state: str, day: int, **result: Any) -> None:
    at = AT + timedelta(days=day)
    row = {"name": name, "state": state, "why": "", "document": {}, "digest": "d",
           "created_at": at, "ended_at": None if state == "running" else at}  # fmt: skip
    with writing(database) as connection:
        connection.execute(insert(batch).values({**row, "result": result or None}))


def test_the_newest_night_of_a_batch_decides(figures: Figures, database: Engine) -> None:
    kept(database, "nightly", "done", 0, watch={"worsened": False})
    kept(database, "nightly", "failed", 1, watch={"worsened": True})
    kept(database, "nightly", "skipped", 2)
    kept(database, "nightly", "running", 3)
    kept(database, "unjudged", "done", 4, watch=None)
    kept(database, "skipped", "skipped", 5)
    assert figures("batch_regressed") == {("nightly",): 1}
    kept(database, "nightly", "done", 6, watch={"worsened": False})
    assert figures("batch_regressed") == {("nightly",): 0}
    assert figures("batch_end_timestamp_seconds") == {
        each: (AT + timedelta(days=day)).timestamp()
        for each, day in {
            ("nightly", "done"): 6, ("nightly", "failed"): 1, ("nightly", "skipped"): 2,
            ("unjudged", "done"): 4, ("skipped", "skipped"): 5,
        }.items()
    }  # fmt: skip
