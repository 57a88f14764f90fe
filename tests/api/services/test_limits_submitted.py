"""`limits` over HTTP: the same words as at the terminal, kept with the job's objective."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.support.api.callers import EXTERNAL, OBJECTIVE, errors_of, submit

pytestmark = pytest.mark.one_database

BODY = {"workload": "load-quick", "trials": 40, "objective": "waf"}
RATE = {"metric": "rate", "at_least_baseline": 0.95}
P99 = {"metric": "write_p99", "at_most": 200.0}
LIMITS = ["rate >= 95% baseline", "write_p99 <= 0.2 ms"]


def limits_of(answer: Any) -> Any:
    assert answer.status_code == 201, answer.text
    return answer.json()["specification"]["objective"].get("limit")


def test_are_added_to_the_objective(client: TestClient) -> None:
    answer = client.post("/v1/jobs", json={**BODY, "limits": LIMITS})
    assert limits_of(answer) == [RATE, P99]
    assert limits_of(client.post("/v1/jobs", json=BODY)) is None
    own = {**EXTERNAL, "objective": {**OBJECTIVE, "limit": [{"metric": "lag", "at_most": 3}]}}
    answer = client.post("/v1/jobs", json={**own, "limits": ["rate >= 0.95 baseline"]})
    assert limits_of(answer) == [{"metric": "lag", "at_most": 3.0}, RATE]


@pytest.mark.parametrize(
    ("given", "mend"),
    [
        (["fast"], "write it like"),
        (["write_p99 <= 5MiB"], "write us, ms, s"),
        (["memory <= 1GiB"], "give for example 512MiB as `memory`"),
        (["read_p99 <= 1ms"], "name one of waf"),
        (["rate >= 2 baseline", "rate <= 1 baseline"], "leave one out"),
        (["ra\x00te >= 2"], "characters that cannot be stored as text"),
        ("rate >= 2", "is not a list"),
        (["rate >= 1"] * 51, "has more than 50 items"),
    ],
)
def test_what_is_none_is_refused_by_name_with_the_mend(
    client: TestClient, given: Any, mend: str
) -> None:
    errors = errors_of(client.post("/v1/jobs", json={**BODY, "limits": given}))
    assert errors.keys() == {"limits"}
    assert mend in errors["limits"]["problem"]


def test_an_objective_of_ones_own_names_the_row(client: TestClient) -> None:
    limits = [{"metric": "sa", "at_most": 2}, {"metric": "memory", "at_most": 2}]
    objective = {**OBJECTIVE, "limit": limits}
    errors = errors_of(client.post("/v1/jobs", json={**BODY, "objective": objective}))
    assert errors.keys() == {"objective.limit[2].metric"}


def test_a_clone_keeps_them_and_may_have_others_or_none(client: TestClient) -> None:
    path = f"/v1/jobs/{submit(client, {**BODY, 'limits': LIMITS})}/clone"
    assert limits_of(client.post(path, json={"seed": 5})) == [RATE, P99]
    assert limits_of(client.post(path, json={"limits": ["sa <= 2"]})) == [
        {"metric": "sa", "at_most": 2.0}
    ]
    assert limits_of(client.post(path, json={"limits": None})) is None
    assert limits_of(client.post(path, json={"limits": []})) is None
    assert limits_of(client.post(path, json={"objective": "rate"})) is None


def test_a_schedule_takes_them(client: TestClient) -> None:
    job = {"workload": "load-quick", "trials": 12, "limits": LIMITS}
    body = {"name": "nightly", "cron": "30 2 * * *", "batch": {"job": [job]}}
    assert client.post("/v1/schedules", json=body).status_code == 201
    wrong = {**body, "name": "other", "batch": {"job": [{**job, "limits": ["memory <= 1GiB"]}]}}
    errors = errors_of(client.post("/v1/schedules", json=wrong))
    assert errors.keys() == {"load-quick/default: limits"}
