"""Reading workloads over HTTP: they are jobs as any other."""

import pytest
from fastapi.testclient import TestClient

from tests.support.api.callers import errors_of

pytestmark = pytest.mark.one_database

BODY = {"workload": "read-quick", "space": "reading", "objective": "reading", "trials": 40}


def test_a_reading_job_is_taken_with_its_preparation(client: TestClient) -> None:
    job = client.post("/v1/jobs", json=BODY).json()
    workload = job["specification"]["workload"]
    assert workload["prepare"]["benchmarks"] == ["fillrandom"]
    assert [row["name"] for row in job["specification"]["objective"]["metric"]] == [
        "rate", "read_p99", "whole_waf", "sa",
    ]  # fmt: skip
    limited = {**BODY, "workload": "readwhilewriting-quick", "limits": ["read_p99 <= 200us"]}
    assert client.post("/v1/jobs", json=limited).status_code == 201


def test_where_no_objective_is_named_it_is_one_that_the_load_serves(client: TestClient) -> None:
    usual = {"read-quick": "reading", "readwhilewriting-quick": "reading", "kioxia-t5": "reading",
             "mixed-quick": "paper"}  # fmt: skip
    for workload, objective in usual.items():
        job = client.post("/v1/jobs", json={"workload": workload, "trials": 40}).json()
        assert job["objective"] == objective


def test_what_a_reading_load_does_not_measure_is_refused_by_name(client: TestClient) -> None:
    errors = errors_of(client.post("/v1/jobs", json={**BODY, "objective": "paper"}))
    assert errors.keys() == {"objective"}
    assert "writes nothing while measured" in errors["objective"]["problem"]


def test_the_preparation_is_shown_in_the_list_of_workloads(client: TestClient) -> None:
    listed = {each["name"]: each for each in client.get("/v1/workloads").json()}
    assert "prepare" in str(listed["read-quick"])
