"""`confirm_scale` over HTTP: the same words as at the terminal."""

import pytest
from fastapi.testclient import TestClient

from tests.support.api.callers import errors_of

pytestmark = pytest.mark.one_database

BODY = {"workload": "load-quick", "trials": 40}


def test_it_arrives_and_a_clone_may_take_it_back(client: TestClient) -> None:
    job = client.post("/v1/jobs", json={**BODY, "confirm_scale": 8}).json()
    assert job["specification"]["confirm_scale"] == 8
    clone = f"/v1/jobs/{job['id']}/clone"
    kept = client.post(clone, json={"seed": 5}).json()
    assert kept["specification"]["confirm_scale"] == 8
    other = client.post(clone, json={"confirm_scale": None}).json()
    assert other["specification"]["confirm_scale"] is None


def test_what_is_no_larger_scale_is_refused_by_name(client: TestClient) -> None:
    errors = errors_of(client.post("/v1/jobs", json={**BODY, "confirm_scale": 64}))
    assert errors.keys() == {"confirm_scale"}
    assert "not a larger scale than the search's, 1/64" in errors["confirm_scale"]["problem"]
    own = {"workload": "external", "trials": 40, "confirm_scale": 8}
    assert errors_of(client.post("/v1/jobs", json=own)).keys() == {"confirm_scale"}
