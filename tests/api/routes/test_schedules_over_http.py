"""Schedules and batches over HTTP: kept whole, refused whole, shown with what became of them."""

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, update

from db.access.tokens import Role, make_token, revoke_token
from db.connection.engine import writing
from db.jobs.job_store import JobStore
from db.nightly.batches import batch_jobs, find_schedule
from db.nightly.nights import nights_of_batch
from db.schema.job_row import JobState
from db.schema.tables import schedule
from jobs.queue.lifecycle import cancel_stored
from jobs.queue.service_settings import ServiceSettings
from jobs.regression.detection import detect_regressions
from jobs.regression.triage import triage_of
from jobs.schedule import keep_schedules
from tests.support.api.callers import (
    EXTERNAL,
    OBJECTIVE,
    QUEUED,
    SPACE,
    bearer,
    errors_of,
    require_problem,
)
from tests.support.api.watched_nights import kept_nights
from tests.support.jobs.recorded_nights import Planted, recorded_nights

NIGHTLY: dict[str, Any] = {
    "name": "nightly",
    "cron": "30  2 * * *",
    "time_zone": "Europe/Berlin",
    "batch": {
        "workloads": ["load-quick", "load"],
        "spaces": ["default", "paper"],
        "trials": 20,
        "job": [{"name": "own/waf", "objective": "waf", "minutes": 5, "priority": 3}],
    },
}
ITEMS = ["load-quick/default", "load-quick/paper", "load/default", "load/paper", "own/waf"]


def test_a_schedule_is_kept_shown_and_deleted(client: TestClient, database: Engine) -> None:
    made = client.post("/v1/schedules", json=NIGHTLY)
    assert made.status_code == 201, made.text
    assert made.headers["location"] == "/v1/schedules/nightly"
    shown = made.json()
    assert (shown["cron"], shown["missed"], shown["batch"]) == ("30 2 * * *", "late", "nightly")
    assert [each["item"] for each in shown["items"]] == ITEMS
    own = shown["items"][-1]
    assert (own["objective"], own["trials"], own["minutes"]) == ("waf", None, 5)
    assert client.get("/v1/schedules/nightly").json() == shown
    assert client.get("/v1/schedules").json() == [shown]
    again = client.post("/v1/schedules", json=NIGHTLY)
    assert again.status_code == 409
    assert "delete it first" in require_problem(again)["detail"]
    assert client.delete("/v1/schedules/nightly").status_code == 204
    assert find_schedule(database, "nightly") is None
    for answer in (client.get("/v1/schedules/nightly"), client.delete("/v1/schedules/nightly"),
                   client.post("/v1/schedules/nightly/run")):  # fmt: skip
        assert answer.status_code == 404
        assert require_problem(answer)["detail"] == "there is no schedule 'nightly'"


def test_a_batch_is_run_now_and_shown_to_its_end(client: TestClient, database: Engine) -> None:
    client.post("/v1/schedules", json=NIGHTLY)
    begun = client.post("/v1/schedules/nightly/run")
    assert begun.status_code == 201, begun.text
    assert begun.headers["location"] == "/v1/batches/1"
    assert client.post("/v1/schedules/nightly/run").status_code == 409
    batch = client.get("/v1/batches/1").json()
    assert (batch["state"], batch["why"], batch["result"]) == ("running", "run on request", None)
    assert [each["item"] for each in batch["items"]] == ITEMS
    assert {each["state"] for each in batch["items"]} == {"queued"}
    rows = list(batch_jobs(database, 1).values())
    assert [row.priority for row in rows] == [0, 0, 0, 0, 3]
    assert all(row.by_service for row in rows)
    for row in rows:
        cancel_stored(database, row.id)
    JobStore(database).delete_job(rows[0].id)
    assert keep_schedules(database) == ["nightly"]
    batch = client.get("/v1/batches/1").json()
    assert (batch["state"], batch["why"]) == (
        "failed", "0 of 5 jobs are done, 4 cancelled, 1 deleted",
    )  # fmt: skip
    assert batch["items"][0] == {"item": ITEMS[0], "job": None, "state": "deleted"}
    assert [each["item"] for each in batch["result"]["items"]] == ITEMS
    listed = client.get("/v1/batches?name=nightly").json()
    assert [each["id"] for each in listed["batches"]] == [1] and listed["next"] is None
    assert client.get("/v1/batches?name=other").json()["batches"] == []
    assert client.get("/v1/schedules/nightly").json()["last"] == listed["batches"]
    assert client.get("/v1/batches/2").status_code == 404
    assert client.post("/v1/schedules/nightly/run").status_code == 201
    first = client.get("/v1/batches?limit=1").json()
    assert (first["batches"][0]["id"], first["next"]) == (2, 2)
    assert client.get("/v1/batches?after=2").json()["batches"][0]["id"] == 1
    assert JobStore(database).job(rows[1].id).state is JobState.CANCELLED


def test_a_batch_without_jobs_ends(client: TestClient, database: Engine) -> None:
    asked = {"workloads": ["load-quick", "load"], "trials": 20}
    assert client.post("/v1/batches", json=asked).status_code == 201
    for row in batch_jobs(database, 1).values():
        assert keep_schedules(database) == []
        cancel_stored(database, row.id)
        JobStore(database).delete_job(row.id)
    assert keep_schedules(database) == ["batch"]
    batch = client.get("/v1/batches/1").json()
    assert (batch["state"], batch["why"]) == ("failed", "0 of 2 jobs are done, 2 deleted")


@pytest.mark.one_database
def test_all_that_is_wrong_is_told_with_job_and_field(client: TestClient) -> None:
    batch = {
        "workloads": ["load-quick", "lod"],
        "trials": 3,
        "job": [{"name": "own", "trials": 12, "memory": "much"}, EXTERNAL | {"name": "ext"}],
    }
    found = errors_of(client.post("/v1/schedules", json={**NIGHTLY, "batch": batch}))
    assert "3 are too few" in found["load-quick/default: trials"]["problem"]
    assert "is not registered" in found["lod/default: workload"]["problem"]
    assert "is not a size" in found["own: memory"]["problem"]
    assert "external runner" in found["ext: workload"]["problem"]
    found = errors_of(
        client.post("/v1/schedules", json={**NIGHTLY, "cron": "never", "time_zone": "Nowhere"})
    )
    assert found.keys() == {"cron", "time_zone"}
    assert found["cron"]["value"] == "'never'"
    for wrong in ({"job": []}, {"workloads": []}, {"sed": 1}, {"job": [{"seed": "1"}]}, [], None):
        errors_of(client.post("/v1/schedules", json={**NIGHTLY, "batch": wrong}))
    errors_of(client.post("/v1/schedules", json={**NIGHTLY, "name": "../up"}))
    errors_of(client.post("/v1/schedules", json={**NIGHTLY, "missed": "never"}))
    twice = {"job": [{}, {}]}
    found = errors_of(client.post("/v1/schedules", json={**NIGHTLY, "batch": twice}))
    assert found.keys() == {"load-quick/default"}
    assert client.get("/v1/schedules").json() == []


@pytest.mark.one_database
def test_a_batch_too_large_for_a_row_is_refused(client: TestClient) -> None:
    batch = {
        "workloads": ["load"],
        "baseline_options": "# \n" * 100_000,
        "job": [{"name": f"j{number}"} for number in range(40)],
    }
    found = errors_of(client.post("/v1/schedules", json={**NIGHTLY, "batch": batch}))
    assert "needs more than" in found["batch"]["problem"]


@pytest.mark.one_database
def test_spaces_and_objectives_may_be_sent(client: TestClient) -> None:
    space = {**SPACE, "parameter": [{"name": "write_buffer_size"}]}
    batch = {"workloads": ["load"], "spaces": [space], "objective": OBJECTIVE}
    made = client.post("/v1/schedules", json={**NIGHTLY, "batch": batch})
    assert made.status_code == 201, made.text
    (item,) = made.json()["items"]
    assert (item["item"], item["space"], item["objective"]) == ("load/mine", "mine", "fast")


@pytest.mark.one_database
def test_the_triage_of_a_batch_s_nights(client: TestClient, database: Engine) -> None:
    assert client.get("/v1/nights/nightly/triage").status_code == 404
    kept_nights(database, *recorded_nights(Planted(metrics={"waf": 1.4})))
    found = client.get("/v1/nights/nightly/triage").json()
    report = detect_regressions(nights_of_batch(database, "nightly"))
    assert found == triage_of(database, report, "nightly") and found["night"]["batch"] == 17
    assert client.get("/v1/nights/nightly/triage?night=17").json() == found
    refused = client.get("/v1/nights/nightly/triage?night=3")
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "night"


def fall_due(database: Engine, monkeypatch: pytest.MonkeyPatch, *, day: int) -> None:
    """It is 02:30 in Berlin on a day of January 2030, and all schedules wait for that."""
    moment = datetime(2030, 1, day, 1, 30, tzinfo=UTC)
    monkeypatch.setattr("jobs.schedule.present", lambda _: moment)
    with writing(database) as connection:
        connection.execute(update(schedule).values(next_at=moment))


@pytest.mark.one_database
def test_a_full_queue_takes_no_batch_no_run_and_no_resumed_job(
    served: Callable[..., TestClient], database: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = served(ServiceSettings(most_queued=6))
    client.post("/v1/schedules", json=NIGHTLY)  # of five jobs
    batch = {"workloads": ["load-quick"], "spaces": ["default", "paper"], "trials": 20}
    assert client.post("/v1/batches", json=batch).status_code == 201
    for path, body in (("/v1/schedules/nightly/run", None), ("/v1/batches", NIGHTLY["batch"])):
        answer = client.post(path, json=body)
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "60")
        assert "(6 jobs) has room for 4 more, not for 5" in require_problem(answer)["detail"]
    assert len(client.get("/v1/jobs").json()["jobs"]) == 2, "all of a batch or nothing"
    for _ in range(2):
        assert client.post("/v1/batches", json=batch).status_code == 201
    assert client.post("/v1/jobs/1/cancel").status_code == 200
    assert client.post("/v1/jobs", json=QUEUED).status_code == 201
    answer = client.post("/v1/jobs/1/resume")
    assert answer.status_code == 429 and "the queue is full (6 jobs)" in answer.json()["detail"]
    fall_due(database, monkeypatch, day=1)
    assert keep_schedules(database, most_queued=6) == []
    (last,) = client.get("/v1/schedules/nightly").json()["last"]
    assert (last["state"], last["why"]) == ("skipped", "the queue is full (6 jobs); try again")
    larger = {"name": "large", "cron": "0 2 * * *", "batch": {**batch, "job": [
        {"name": f"j{n}"} for n in range(5)]}}  # fmt: skip
    for path, body in (("/v1/schedules", larger), ("/v1/batches", larger["batch"])):
        found = errors_of(client.post(path, json=body))
        assert found["batch"]["problem"] == (
            "has 7 jobs, and the queue takes 6 (ROCKTUNE_MOST_QUEUED); split it"
        )


def test_the_schedule_of_a_revoked_token_starts_nothing_and_says_so(
    client: TestClient, database: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = make_token(database, "ci", Role.SUBMIT)
    client.post("/v1/schedules", json=NIGHTLY, headers=bearer(token))
    days = count(1)

    def due() -> dict[str, Any]:
        fall_due(database, monkeypatch, day=next(days))
        keep_schedules(database)
        shown: dict[str, Any] = client.get("/v1/schedules/nightly").json()
        return shown

    revoke_token(database, "ci")
    why = (
        "token 'ci', which added the schedule, is revoked; make a token of this name, or delete "
        "the schedule and add it again"
    )
    shown = due()
    assert (shown["stopped"], shown["last"][0]["state"], shown["last"][0]["why"]) == (
        why, "skipped", why,
    )  # fmt: skip
    assert client.get("/v1/jobs").json()["jobs"] == []
    make_token(database, "ci", Role.READ)
    assert due()["stopped"] == why, "one that may not submit jobs is none"
    revoke_token(database, "ci")
    make_token(database, "ci", Role.SUBMIT)
    shown = due()
    assert (shown["stopped"], shown["last"][0]["state"]) == (None, "running")
    assert {each["submitter"] for each in client.get("/v1/jobs").json()["jobs"]} == {"ci"}
