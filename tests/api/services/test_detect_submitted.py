"""`detect` over HTTP: the same words as at the terminal."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.support.api.callers import errors_of

pytestmark = pytest.mark.one_database

BODY = {"workload": "load-quick", "trials": 40}


@pytest.mark.parametrize(
    ("given", "change", "metric"),
    [("5%", 0.05, None), (5, 0.05, None), ("rate=2.5%", 0.025, "rate")],
)
def test_a_change_arrives_as_it_was_meant(
    client: TestClient, given: Any, change: float, metric: str | None
) -> None:
    search = client.post("/v1/jobs", json={**BODY, "detect": given}).json()["specification"][
        "search"
    ]
    assert (search["detect"], search["detect_metric"]) == (pytest.approx(change), metric)


@pytest.mark.parametrize(
    ("given", "mend"),
    [
        ("0.05", "or 5%; write it with the %"),
        (0.05, "or 5%; write it with the %"),
        ("much", "write a change such as 5%"),
        ("p99=5%", "name one of waf, sa, time, rate"),
    ],
)
def test_what_is_none_is_refused_by_name_with_the_mend(
    client: TestClient, given: Any, mend: str
) -> None:
    errors = errors_of(client.post("/v1/jobs", json={**BODY, "detect": given}))
    assert errors.keys() == {"detect"}
    assert mend in errors["detect"]["problem"]


def test_too_few_trials_to_plan_are_refused(client: TestClient) -> None:
    errors = errors_of(client.post("/v1/jobs", json={**BODY, "trials": 12, "detect": "5%"}))
    assert "give 24 `trials` or more" in errors["detect"]["problem"]


def test_a_clone_keeps_it_and_may_ask_for_another(client: TestClient) -> None:
    job = client.post("/v1/jobs", json={**BODY, "detect": "rate=2%"}).json()
    same = client.post(f"/v1/jobs/{job['id']}/clone", json={"seed": 5}).json()
    assert same["specification"]["search"]["detect_metric"] == "rate"
    other = client.post(f"/v1/jobs/{job['id']}/clone", json={"detect": "3%"}).json()
    search = other["specification"]["search"]
    assert (search["detect"], search["detect_metric"]) == (0.03, None)
