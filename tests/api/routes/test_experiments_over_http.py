"""Experiments over HTTP: what is taken, and what is refused by the name of its field."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.app import make_app
from api.services.dependencies import KnownBuilds
from db.connection.engine import writing
from db.schema.job_row import JobKind
from db.schema.tables import job as job_table
from jobs.experiments.kinds import KINDS
from jobs.specification.experiments import REQUESTS
from tests.support.api.callers import DEEP, OPTIONS, admin, errors_of, submit
from tests.support.api.sent_workload import SENT
from tests.support.api.stored_job import keep, proved

pytestmark = pytest.mark.one_database

COMPARE: dict[str, Any] = {"kind": "compare", "b": "block_size=16KiB"}
UPGRADE: dict[str, Any] = {"kind": "upgrade-check", "old": "default", "new": "11.8"}


@pytest.fixture
def client(database: Engine) -> Any:
    """A service whose host has one build beside its own."""
    with admin(make_app(database, builds=KnownBuilds({"default": None, "11.8": None}))) as client:
        yield client


def refused(client: TestClient, body: Any) -> dict[str, str]:
    """What is wrong, by field."""
    answer = client.post("/v1/jobs", json=body)
    assert answer.status_code == 422, answer.text
    return {name: each["problem"] for name, each in errors_of(answer).items()}


@pytest.mark.parametrize(
    ("body", "title"),
    [
        (COMPARE, "default against block_size=16KiB"),
        ({"kind": "compare", "a": "guide:8", "around": "write_buffer_size"},
         "guide:8 around write_buffer_size"),
        ({**COMPARE, "a": {"name": "mine.ini", "options": OPTIONS}, "column_family": "default",
          "workload": ["load-quick", "read-quick"], "metrics": ["rate", "read_p99"]},
         "mine.ini against block_size=16KiB"),
        ({**COMPARE, "b": "11.8:default", "db_bench_a": "default"},
         "default against 11.8:default"),
        (UPGRADE, "11.8 against default"),
        ({**UPGRADE, "options": OPTIONS, "pairs": 0, "configurations": 2, "space": "paper"},
         "11.8 against default"),
    ],
)  # fmt: skip
def test_one_waits_for_its_turn(client: TestClient, body: dict[str, Any], title: str):
    job = client.post("/v1/jobs", json={**body, "priority": 3}).json()
    assert (job["kind"], job["title"], job["state"]) == (body["kind"], title, "queued")
    assert (job["priority"], job["space"], job["total"]) == (3, None, None)
    assert client.get(f"/v1/jobs/{job['id']}").json() == job
    (listed,) = client.get("/v1/jobs", params={"search": title}).json()["jobs"]
    assert listed["id"] == job["id"]


def test_without_a_kind_a_job_tunes_as_ever(client: TestClient):
    asked = {"workload": "load-quick", "trials": 20}
    plain = client.post("/v1/jobs", json=asked).json()
    told = client.post("/v1/jobs", json={**asked, "kind": "tune"}).json()
    assert (plain["kind"], plain["title"], plain["space"]) == ("tune", None, "default")
    assert told["specification"] == plain["specification"]
    assert "kind" not in plain["specification"]


def test_the_same_request_under_a_key_makes_one(client: TestClient):
    key = {"Idempotency-Key": "mine"}
    job = submit(client, COMPARE, **key)
    again = client.post("/v1/jobs", json=COMPARE, headers=key)
    assert (again.status_code, again.json()["id"]) == (200, job)
    other = client.post("/v1/jobs", json={**COMPARE, "rounds": 9}, headers=key)
    assert other.status_code == 409


def test_what_is_wrong_is_told_by_its_field(client: TestClient):
    for body, field, words in (
        ({"kind": "bench"}, "kind", "tune, compare, upgrade-check, explain, profile-check"),
        ({"kind": 3}, "kind", "write one of"),
        ({"kind": "compare"}, "b", "give either `b`, or a parameter in `around`"),
        ({**COMPARE, "around": "block_size"}, "b", "give either `b`, or a parameter in `around`"),
        ({**COMPARE, "b": None, "around": "compression_type"}, "around", "cannot be halved"),
        ({**COMPARE, "b": None, "around": "block_size", "db_bench_b": "11.8"}, "db_bench_b",
         "use `db_bench_a`"),
        ({**COMPARE, "b": "/etc/passwd"}, "b", "is neither default"),
        ({**COMPARE, "b": "no_such=1"}, "b", "there is no parameter 'no_such'"),
        ({**COMPARE, "b": "job:4711"}, "b", "there is no job 4711"),
        ({**COMPARE, "b": {"name": "x", "options": "rubbish"}}, "b", ""),
        ({**COMPARE, "db_bench_b": "/opt/db_bench"}, "db_bench_b", "paths are not accepted"),
        ({**COMPARE, "db_bench_a": "12.0"}, "db_bench_a", "no host has a build"),
        ({**COMPARE, "workload": "lod"}, "workload", "is not registered"),
        ({**COMPARE, "workload": []}, "workload", "is an empty list"),
        ({**COMPARE, "workload": ["load", "load"]}, "workload", "named twice"),
        ({**COMPARE, "workload": "external"}, "workload", "does not run db_bench"),
        ({**COMPARE, "rounds": 2}, "rounds", "3"),
        ({**COMPARE, "seed": -1}, "seed", "0"),
        ({**COMPARE, "metrics": ["wav"]}, "metrics", "there is no 'wav'"),
        ({**COMPARE, "column_family": "users"}, "column_family", "needs an OPTIONS file"),
        ({**COMPARE, "trials": 12}, "trials", ""),
        ({**COMPARE, "a": 5}, "a", "5 is not a string, and is not an object"),
        ({**COMPARE, "a": {"name": "x"}}, "a.options", "is missing; add it"),
        ({**COMPARE, "workload": 5}, "workload", "5 is not a string, and is not a list"),
        ({**COMPARE, "workload": ["load", 5]}, "workload[1]", "5 is not a string"),
        ({**COMPARE, "compare-it": 5}, "compare-it", "is not a known field"),
        ({"kind": "explain", "job": 1, "margin": []}, "margin",
         "[] is not a string, and is not a finite number"),
        ({"workload": "load-quick", "start_from": ["none", 5]}, "start_from[1]",
         "5 is not a string, and is not an object"),
        ({**UPGRADE, "new": "../db_bench"}, "new", "paths are not accepted"),
        ({"kind": "upgrade-check", "old": "default"}, "new", ""),
        ({**UPGRADE, "pairs": 2}, "pairs", "2 are less than 3"),
        ({**UPGRADE, "options": "rubbish"}, "options", ""),
        ({**UPGRADE, "options": DEEP}, "options", "nested more than 16"),
        ({**COMPARE, "a": {"name": "x", "options": DEEP}}, "a", "nested more than 16"),
        ({**UPGRADE, "space": "none"}, "space", "is not one of"),
        ({**UPGRADE, "workload": "external"}, "workload", ""),
        ({"kind": "explain", "job": 4711}, "job", "there is no job 4711"),
        ({"kind": "explain"}, "job", ""),
        ({"kind": "explain", "job": 1, "margin": "waf=5%"}, "margin", "is a share"),
        ({"kind": "explain", "job": 1, "runs": 2}, "runs", "3"),
        ({"kind": "profile-check", "workload": "load-quick"}, "workload",
         "has no profile; upload it"),
    ):  # fmt: skip
        found = refused(client, body)
        assert [*found] == [field]
        assert words in found[field]


def test_several_things_are_told_together(client: TestClient):
    body = {**COMPARE, "b": "no_such=1", "workload": "lod", "db_bench_a": "12.0"}
    assert {*refused(client, body)} == {"b", "workload", "db_bench_a"}


def test_a_job_is_explained_once_it_has_ended(client: TestClient, database: Engine):
    waiting = submit(client)
    found = refused(client, {"kind": "explain", "job": waiting})
    assert found == {"job": f"job {waiting} is queued; it has no result yet"}
    done = keep(database, proved())
    job = client.post("/v1/jobs", json={"kind": "explain", "job": done}).json()
    assert (job["title"], job["workload"]) == (
        f"why the winner of job {done} is better", "load-quick"
    )  # fmt: skip
    again = refused(client, {"kind": "explain", "job": job["id"]})
    assert "is of kind explain; name a tuning job" in again["job"]


def test_a_side_is_the_winner_of_a_job_that_tuned(client: TestClient, database: Engine):
    done = keep(database, proved())
    job = client.post("/v1/jobs", json={**COMPARE, "b": f"job:{done}"}).json()
    assert job["title"] == f"default against job:{done}"
    with writing(database) as connection:
        asked = {**proved().result["job"], "db_bench": "/opt/mine/db_bench"}
        connection.execute(job_table.update().values(specification=asked))
    found = refused(client, {**COMPARE, "b": f"job:{done}"})
    assert "paths are not accepted over HTTP" in found["db_bench_b"]


def test_an_uploaded_workload_is_checked_by_its_profile(client: TestClient):
    assert client.post("/v1/workloads", json=SENT).status_code == 201
    job = client.post("/v1/jobs", json={"kind": "profile-check", "workload": "my-db"}).json()
    assert (job["kind"], job["workload"], job["state"]) == ("profile-check", "my-db", "queued")


def test_a_batch_and_a_schedule_have_them(client: TestClient):
    batch = {
        "workloads": ["load-quick"], "trials": 20,
        "job": [{**COMPARE, "name": "zipped"}, UPGRADE],
    }  # fmt: skip
    begun = client.post("/v1/batches", json={**batch, "name": "tonight"})
    assert begun.status_code == 201, begun.text
    shown = client.get(begun.headers["location"]).json()
    assert [each["item"] for each in shown["items"]] == [
        "load-quick/default", "zipped", "upgrade-check",
    ]  # fmt: skip
    kinds = [client.get(f"/v1/jobs/{each['job']}").json()["kind"] for each in shown["items"]]
    assert kinds == ["tune", "compare", "upgrade-check"]
    asked = {"name": "nightly", "cron": "30 2 * * *", "batch": batch}
    made = client.post("/v1/schedules", json=asked)
    assert made.status_code == 201, made.text
    items = made.json()["items"]
    assert [(each["kind"], each["title"]) for each in items][1:] == [
        ("compare", "default against block_size=16KiB"),
        ("upgrade-check", "11.8 against default"),
    ]
    assert client.post("/v1/schedules/nightly/run").status_code == 201


def test_a_wrong_one_of_a_batch_is_named(client: TestClient):
    for job, field in (
        ({**COMPARE, "b": "no_such=1"}, "compare: b"),
        ({"kind": "bench"}, "job[0].kind"),
        ({**COMPARE, "rounds": 1, "name": "zipped"}, "zipped: rounds"),
        ({**COMPARE, "trials": 12}, "job[1].trials"),
    ):
        answer = client.post("/v1/batches", json={"job": [job]})
        assert answer.status_code == 422
        assert [*errors_of(answer)] == [field]


def test_all_that_is_wrong_in_one_of_a_batch_is_told(client: TestClient):
    wrong = {"kind": "compare", "rounds": 1, "seed": -1, "a": {"name": "x"}, "b": 5}
    answer = client.post("/v1/batches", json={"job": [wrong, {**UPGRADE, "new": 3}]})
    assert answer.status_code == 422
    found = {field: each["problem"] for field, each in errors_of(answer).items()}
    assert found == {
        "compare: rounds": "1 is below the minimum of 3",
        "compare: seed": "-1 is below the minimum of 0",
        "compare: a.options": "is missing; add it",
        "compare: b": "5 is not a string, and is not an object",
        "upgrade-check: new": "3 is not a string",
    }
    body = {"name": "nightly", "cron": "30 2 * * *", "batch": {"job": [{"kind": "bench"}]}}
    assert [*errors_of(client.post("/v1/schedules", json=body))] == ["batch.job[0].kind"]


def test_what_a_kind_has_not_is_not_found(client: TestClient):
    job = submit(client, COMPARE)
    for path in ("parameters", "charts", "dependence", "pareto", "pick", "options", "anova"):
        assert client.get(f"/v1/jobs/{job}/{path}").status_code == 404
    assert client.post(f"/v1/jobs/{job}/clone", json={}).status_code == 404
    assert client.get(f"/v1/jobs/{job}/trials").json() == {"trials": [], "next": None}
    for kind in ("text/csv", "application/x-ndjson"):
        answer = client.get(f"/v1/jobs/{job}/trials", headers={"Accept": kind})
        assert answer.status_code == 200
    told = client.post(f"/v1/jobs/{job}/suggestions", json={"count": 1})
    assert told.status_code == 409
    for path in ("result", "report", "files/runs.csv"):
        assert client.get(f"/v1/jobs/{job}/{path}").status_code == 409
    assert client.post(f"/v1/jobs/{job}/cancel").json()["state"] == "cancelled"
    assert client.post(f"/v1/jobs/{job}/resume").json()["state"] == "queued"


def test_every_kind_is_one_of_the_models():
    assert {*KINDS} == {*REQUESTS} == {*JobKind} - {JobKind.TUNE}
