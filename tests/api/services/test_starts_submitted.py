"""`start_from` and `warm_start` over HTTP: the same as at the terminal."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.support.api.callers import errors_of

pytestmark = pytest.mark.one_database

BODY = {"workload": "load-quick", "trials": 40, "strategy": "guided"}
FILE = {"name": "mine.ini", "options": '[DBOptions]\n[CFOptions "default"]\n  num_levels=5\n'}


def specification(answer: Any) -> Any:
    assert answer.status_code == 201, answer.text
    return answer.json()["specification"]


def test_they_are_kept_with_the_job_and_its_clone(client: TestClient) -> None:
    first = client.post("/v1/jobs", json={**BODY, "start_from": ["benchmark.sh", FILE]})
    kept = specification(first)
    assert kept["start_from"] == [{"name": "benchmark.sh"}, FILE]
    assert kept["warm_start"] is None
    number = first.json()["id"]
    assert specification(client.post("/v1/jobs", json={**BODY, "warm_start": number}))[
        "warm_start"
    ] == number  # fmt: skip
    clone = client.post(f"/v1/jobs/{number}/clone", json={"warm_start": "auto"})
    assert specification(clone)["warm_start"] == "auto"
    assert specification(clone)["start_from"] == kept["start_from"]
    again = client.post(f"/v1/jobs/{number}/clone", json={"start_from": None})
    assert specification(again)["start_from"] is None
    guided = client.post("/v1/jobs", json={**BODY, "start_from": ["guide", "guide:48"]})
    first_guide, second = specification(guided)["start_from"]
    assert first_guide["name"].startswith("guide:") and second == {"name": "guide:48"}


@pytest.mark.parametrize(
    ("given", "field", "mend"),
    [
        ({"start_from": ["fastest"]}, "start_from", "is not one of library"),
        ({"start_from": ["guide:x"]}, "start_from", "write it like guide:48"),
        ({"start_from": ["guide"], "workload": "external"}, "start_from", "needs keys and sizes"),
        ({"start_from": ["none", "library"]}, "start_from", "give either none or"),
        ({"start_from": [{**FILE, "options": "x"}]}, "start_from", "is not key=value"),
        ({"warm_start": 4711}, "warm_start", "there is no job 4711"),
        ({"warm_start": "best"}, "warm_start", "write auto, none, or the number of a job"),
        ({"warm_start": 0}, "warm_start", "write auto, none, or the number of a job"),
        ({"strategy": "genetic", "warm_start": "auto"}, "warm_start", "use guided"),
    ],
)
def test_what_is_wrong_is_refused_by_name_with_the_mend(
    client: TestClient, given: Any, field: str, mend: str
) -> None:
    errors = errors_of(client.post("/v1/jobs", json={**BODY, **given}))
    assert errors.keys() == {field}
    assert mend in errors[field]["problem"]
