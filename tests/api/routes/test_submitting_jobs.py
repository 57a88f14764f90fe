"""Submitting jobs: made once, whatever the network does to the request."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.app import make_app
from db.access.tokens import Role, make_token, revoke_token
from db.connection.engine import make_engine
from db.jobs.job_store import read_jobs
from jobs.queue.service_settings import ServiceSettings
from tests.support.api.callers import (
    EXTERNAL,
    QUEUED,
    SPACE,
    admin,
    bearer,
    errors_of,
    require_problem,
    submit,
)

KEY = "Idempotency-Key"


def test_a_submitted_job_waits_for_its_turn_at_the_place_that_is_named(client: TestClient) -> None:
    answer = client.post("/v1/jobs", json={**QUEUED, "priority": 7, "seed": 3})
    job = answer.json()
    assert answer.status_code == 201
    assert answer.headers["location"] == f"/v1/jobs/{job['id']}"
    assert (job["state"], job["phase"], job["run"], job["priority"]) == ("queued", None, 1, 7)
    assert job["why"] == "waits for the bench host"
    assert (job["done"], job["failed"], job["total"], job["best"]) == (0, 0, 20, None)
    assert (job["workload"], job["space"], job["strategy"]) == ("load-quick", "default", "guided")
    assert job["specification"]["seed"] == 3
    assert client.get(answer.headers["location"]).json() == job


@pytest.mark.one_database
def test_what_is_left_out_has_a_default_and_minutes_replace_trials(client: TestClient) -> None:
    plain = client.post("/v1/jobs", json={"workload": "load-quick"}).json()
    assert (plain["total"], plain["specification"]["minutes"]) == (96, None)
    timed = client.post("/v1/jobs", json={"workload": "load-quick", "minutes": 30}).json()
    assert (timed["total"], timed["specification"]["minutes"]) == (None, 30)


@pytest.mark.one_database
def test_the_compaction_tuner_is_submitted_as_any_command(client: TestClient) -> None:
    """Its database binding is asked for where it runs: a service may be without it."""
    asked = {"workload": "warlo-command", "space": "warlo", "trials": 20}
    job = client.post("/v1/jobs", json=asked).json()
    assert (job["state"], job["workload"], job["space"]) == ("queued", "warlo-command", "warlo")
    marks = [row["name"] for row in job["specification"]["space"]["parameter"]]
    assert marks == ["policy", "low_mark", "high_mark", "full_mark", "step_seconds"]
    assert job["objective"] == "paper"  # of which its last line has every metric
    errors = errors_of(client.post("/v1/jobs", json={**asked, "start_from": ["guide"]}))
    assert "needs keys and sizes" in errors["start_from"]["problem"]


@pytest.mark.one_database
def test_a_space_and_an_objective_may_come_with_the_job(client: TestClient) -> None:
    job = client.post("/v1/jobs", json=EXTERNAL).json()
    assert (job["space"], job["objective"], job["state"]) == ("mine", "fast", "running")
    assert job["specification"]["space"] == SPACE
    assert not job["specification"]["shipped_space"]
    assert "suggestions" in job["why"]


def test_the_same_request_under_a_key_makes_the_job_once(
    client: TestClient, database: Engine
) -> None:
    first = client.post("/v1/jobs", json=EXTERNAL, headers={KEY: "one"})
    turned = dict(reversed(EXTERNAL.items()))  # the same, its fields in another order
    again = client.post("/v1/jobs", json=turned, headers={KEY: "one"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
    assert again.headers["location"] == first.headers["location"]
    other = client.post("/v1/jobs", json=EXTERNAL, headers={KEY: "two"})
    assert other.status_code == 201
    assert len(read_jobs(database, limit=10)) == 2


def test_a_key_does_not_come_again_with_another_request(
    client: TestClient, database: Engine
) -> None:
    job = submit(client, **{KEY: "one"})
    answer = client.post("/v1/jobs", json={**QUEUED, "seed": 2}, headers={KEY: "one"})
    assert answer.status_code == 409
    assert f"job {job}" in require_problem(answer)["detail"]
    assert len(read_jobs(database, limit=10)) == 1


def test_requests_of_one_key_at_the_same_moment_make_one_job(
    database_url: str, database: Engine
) -> None:
    together, workers = 8, 4
    engines = [make_engine(database_url) for _ in range(workers)]
    ready = Barrier(together)

    def ask(index: int) -> tuple[int, int]:
        client = clients[index % workers]
        ready.wait()
        answer = client.post("/v1/jobs", json=QUEUED, headers={KEY: "one"})
        return answer.status_code, answer.json()["id"]

    clients = [admin(make_app(engine)) for engine in engines]
    for client in clients:  # a key is its sender's own: all are the same person
        client.headers.update(clients[0].headers)
    for client in clients:  # an application makes its routes ready at its first request
        errors_of(client.post("/v1/jobs", json={}))
    with ThreadPoolExecutor(together) as pool:
        answers = list(pool.map(ask, range(together)))
    for engine in engines:
        engine.dispose()
    assert sorted(status for status, _ in answers) == [200] * (together - 1) + [201]
    assert len({job for _, job in answers}) == 1
    assert len(read_jobs(database, limit=10)) == 1


@pytest.mark.one_database
def test_a_key_is_that_of_its_caller(client: TestClient, database: Engine) -> None:
    mine = make_token(database, "me", Role.SUBMIT)
    yours = make_token(database, "you", Role.SUBMIT)
    first = submit(client, **{KEY: "one"}, **bearer(mine))
    second = submit(client, **{KEY: "one"}, **bearer(yours))
    assert first != second
    assert [job.submitter for job in read_jobs(database, limit=2)] == ["you", "me"]
    revoke_token(database, "me")
    anew = make_token(database, "me", Role.SUBMIT)  # the same person with a new token
    again = client.post("/v1/jobs", json=QUEUED, headers={KEY: "one", **bearer(anew)})
    assert (again.status_code, again.json()["id"]) == (200, first)


@pytest.mark.parametrize("key", ["", "a b", "é", "x" * 201])
def test_a_key_is_plain_and_short(anyone: TestClient, key: str) -> None:
    answer = anyone.post("/v1/jobs", json=QUEUED, headers={KEY: key.encode()})
    assert list(errors_of(answer)) == [KEY]


def test_a_full_queue_takes_no_more_but_jobs_of_own_runners(
    served: Callable[..., TestClient], database: Engine
) -> None:
    client = served(ServiceSettings(most_queued=2))
    first = submit(client, **{KEY: "one"})
    submit(client)
    answer = client.post("/v1/jobs", json=QUEUED)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "60")
    assert "the queue is full (2 jobs)" in require_problem(answer)["detail"]
    again = client.post("/v1/jobs", json=QUEUED, headers={KEY: "one"})
    assert again.status_code == 200  # it is in the queue already
    submit(client, EXTERNAL)
    clone = client.post(f"/v1/jobs/{first}/clone", json={})
    assert clone.status_code == 429
    assert client.post(f"/v1/jobs/{first}/cancel").status_code == 200
    submit(client)
    assert len(read_jobs(database, limit=10)) == 4


@pytest.mark.one_database
@pytest.mark.parametrize("given", [{"space": {**SPACE, "name": "<b>"}}, {"seed": 0}])
def test_what_was_asked_for_comes_back_to_the_letter(
    client: TestClient, given: dict[str, Any]
) -> None:
    job = submit(client, {**EXTERNAL, **given})
    kept = client.get(f"/v1/jobs/{job}").json()["specification"]
    assert {name: kept[name] for name in given} == given
